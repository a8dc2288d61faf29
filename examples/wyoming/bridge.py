#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A bridge from the Wyoming protocol of voice assistants to rilld: recognisers, keyword spotters and voice activity.

    bridge.py [--uri tcp://127.0.0.1:10300 | --uri unix:///PATH] [--socket RILLD_SOCKET] [--transcribe MODEL] [--detect MODEL] [--vad MODEL]

A connection asks `describe`, or says `transcribe` (or `detect`) and sends audio-start, audio-chunk ..., audio-stop; `transcript`
(or `detection` for each word, `not-detected` where there was none) comes back, and voice-started and voice-stopped while it
speaks, if --vad names a model. Listens to this machine only unless told otherwise; Wyoming knows no passwords.
"""
import argparse
import asyncio
import json
import os
import sys
import urllib.parse

try:
    from rill_client import Edge, Keyword, RillError, Transcript, Vad
except ImportError:     # beside the source tree
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../clients/python"))
    from rill_client import Edge, Keyword, RillError, Transcript, Vad
from rill_client.aio import AsyncClient

LINE_BYTES, BODY_BYTES = 1 << 16, 1 << 20
ENCODINGS = {2: "s16", 3: "s24", 4: "s32"}
TASKS = {"transcribe": ("transcribe", "asr"), "detect": ("keyword",)}     # of the daemon's models
WANT = {"transcribe": ["transcript"], "detect": ["keyword"]}


class BadEvent(Exception):
    """What came is no event that can be used."""


async def event_read(reader):
    """(type, data, payload), or None at the end."""
    try:
        line = await reader.readline()
    except ValueError:
        raise BadEvent("a header of more than %d bytes" % LINE_BYTES) from None
    if not line:
        return None
    try:
        head = json.loads(line)
        kind, data = head["type"], dict(head.get("data") or {})
        sizes = [int(head.get(k) or 0) for k in ("data_length", "payload_length")]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadEvent("a header that is no JSON object with a type") from None
    if not isinstance(kind, str) or min(sizes) < 0 or max(sizes) > BODY_BYTES:
        raise BadEvent("a body of more than %d bytes" % BODY_BYTES)
    if sizes[0]:
        try:
            data.update(json.loads(await reader.readexactly(sizes[0])))
        except (ValueError, TypeError, RecursionError):
            raise BadEvent("data that is no JSON object") from None
    return kind, data, await reader.readexactly(sizes[1])


def event_write(writer, kind, **data):
    writer.write(json.dumps({"type": kind, "version": "1.5.0", "data": data}, ensure_ascii=False).encode() + b"\n")


def models_of(info, task, own):
    """The daemon's models for a task, our own choice first. What others are for is known once they have been used."""
    fitting = [m for m in info.models if m.task in TASKS[task] or m.name == own]
    return sorted(fitting, key=lambda m: (m.name != own, m.state != "ready", m.name))


def artifact(name, description, **more):
    return dict({"name": name, "description": description, "installed": True, "version": None,
                 "attribution": {"name": "rill", "url": ""}}, **more)


def description(info, server, args):
    """What `describe` is answered with."""
    asr = [artifact(m.name, m.summary or m.name, languages=["en"]) for m in models_of(info, "transcribe", args.transcribe)]
    wake = [artifact(m.name, m.summary or m.name, languages=["en"], phrase=None) for m in models_of(info, "detect", args.detect)]
    return {
        "asr": [artifact("rill", server, models=asr, supports_transcript_streaming=False)] if asr else [],
        "wake": [artifact("rill", server, models=wake)] if wake else [],
        "tts": [], "handle": [], "intent": [], "mic": [], "snd": [],
    }


class Conversation:
    """One Wyoming connection, with a connection to the daemon of its own."""

    def __init__(self, client, writer, args):
        self.client, self.writer, self.args = client, writer, args
        self.task, self.model = "transcribe", args.transcribe
        self.streams, self.readers, self.texts, self.detected, self.rate = [], [], [], 0, 0

    async def handle(self, kind, data, payload):
        if kind == "describe":
            event_write(self.writer, "info", **description(await self.client.info(), self.client.server, self.args))
        elif kind == "ping":
            event_write(self.writer, "pong", **data)
        elif kind in TASKS:
            names = data.get("names") or []
            self.task, self.model = kind, str(data.get("name") or (names[0] if names else getattr(self.args, kind)))
        elif kind == "audio-start":
            await self.start(data)
        elif kind == "audio-chunk":
            if not self.streams:
                await self.start(data)
            for stream in self.streams:
                await stream.send(payload)
        elif kind == "audio-stop":
            await self.stop()

    async def start(self, data):
        await self.drop()
        rate, width, channels = (int(data.get(k, d)) for k, d in (("rate", 16000), ("width", 2), ("channels", 1)))
        if width not in ENCODINGS:
            raise BadEvent("samples of %d bytes; 2, 3 and 4 work" % width)
        self.rate = rate
        model = self.model
        if not model:
            fitting = models_of(await self.client.info(), self.task, "")
            if not fitting:
                raise BadEvent("the daemon has no model to %s with" % self.task)
            model = fitting[0].name
        for name in [model] + ([self.args.vad] if self.args.vad else []):
            stream = await self.client.open(name, rate=rate, channels=channels, encoding=ENCODINGS[width],
                                            want=["vad"] if self.streams else WANT[self.task])
            self.streams.append(stream)
            self.readers.append(asyncio.ensure_future(self.listen(stream)))

    async def listen(self, stream):
        async for event in stream:
            ms = event.pos * 1000 // self.rate
            if isinstance(event, Transcript) and event.final and event.text:
                self.texts.append(event.text)
            elif isinstance(event, Keyword):
                self.detected += 1
                event_write(self.writer, "detection", name=event.word, timestamp=ms)
            elif isinstance(event, Vad) and event.edge != Edge.NONE:
                event_write(self.writer, "voice-started" if event.edge == Edge.START else "voice-stopped", timestamp=ms)

    async def stop(self):
        for stream in self.streams:
            await stream.end()
        await asyncio.gather(*self.readers)
        if self.task == "transcribe":
            event_write(self.writer, "transcript", text=" ".join(self.texts))
        elif not self.detected:
            event_write(self.writer, "not-detected")
        await self.drop()

    async def drop(self):
        """What is left of the audio before."""
        for reader in self.readers:
            reader.cancel()
        await asyncio.gather(*self.readers, return_exceptions=True)
        for stream in self.streams:
            await stream.__aexit__()
        self.streams, self.readers, self.texts, self.detected = [], [], [], 0


async def converse(args, reader, writer):
    try:
        async with await AsyncClient.connect(args.socket, name="wyoming-bridge") as client:
            conversation = Conversation(client, writer, args)
            while True:
                event = await event_read(reader)
                if event is None:
                    break
                await conversation.handle(*event)
                await writer.drain()
            await conversation.drop()
    except (BadEvent, RillError, ValueError) as e:
        event_write(writer, "error", text=str(e), code=getattr(e, "name", type(e).__name__))
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def serve(args):
    uri = urllib.parse.urlparse(args.uri)

    async def accepted(reader, writer):
        await converse(args, reader, writer)
    if uri.scheme == "unix":
        server = await asyncio.start_unix_server(accepted, uri.path, limit=LINE_BYTES)
    else:
        server = await asyncio.start_server(accepted, uri.hostname, uri.port or 10300, limit=LINE_BYTES)
    print("listening on %s" % args.uri, flush=True)
    async with server:
        await server.serve_forever()


def main():
    parser = argparse.ArgumentParser(description="Wyoming to rilld")
    parser.add_argument("--uri", default="tcp://127.0.0.1:10300", help="tcp://HOST:PORT or unix:///PATH")
    parser.add_argument("--socket", help="rilld's (default: $RILL_SOCKET or the system's)")
    parser.add_argument("--transcribe", default="rill-digits", metavar="MODEL", help="where a client names none (default: rill-digits)")
    parser.add_argument("--detect", default="", metavar="MODEL", help="where a client names none")
    parser.add_argument("--vad", default="", metavar="MODEL", help="tells voice-started and voice-stopped")
    try:
        asyncio.run(serve(parser.parse_args()))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
