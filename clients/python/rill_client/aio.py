# SPDX-License-Identifier: MIT
"""The client for asyncio: the same calls as in rill_client, awaited. Use one from one event loop.

    from rill_client.aio import AsyncClient

    async with await AsyncClient.connect() as client:
        async with await client.open("rill-denoise", rate=16000, encoding="s16") as stream:
            async for event in stream.process(pieces_of_pcm):
                ...
"""
from __future__ import annotations

import asyncio
import socket
import time
from typing import Any, AsyncIterable, AsyncIterator, Dict, Iterable, List, Mapping, Optional, Set, Tuple, Type, TypeVar, Union

from . import events as ev
from ._core import (CONTROL, FULL_WAIT, SOCKET, Core, EncodingLike, StreamState, frames_bytes, hello_take, info_page, info_whole,
                    input_of, model_of, open_message, pcm_bytes, pcm_message, port_of, ports_message, publish_message, result,
                    socket_path, stats_page, stats_whole, status_page, status_whole, subscribe_message, whole_hello)
from ._wire import Message
from .errors import RillError, StreamEnded, Timeout

C = TypeVar("C", bound="AsyncClient")


class _Reader(asyncio.StreamReader):
    """A write that fails does not end what there is to read: an Error that explains it may lie in the socket still."""

    socket: Any = None
    ended = False               #: then nothing waits for room any more

    def set_exception(self, exc: BaseException) -> None:
        try:
            with self.socket.dup() as rest:
                rest.setblocking(False)
                while True:
                    data = rest.recv(1 << 16)
                    if not data:
                        break
                    self.feed_data(data)
        except OSError:
            pass
        self.ended = True
        self.feed_eof()


async def _reach(path: str) -> socket.socket:
    """asyncio takes a socket for connected where the daemon's queue is full: it is asked again here."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        while True:
            try:
                sock.connect(path)
                return sock
            except BlockingIOError:
                await asyncio.sleep(FULL_WAIT)
    except BaseException:
        sock.close()
        raise


async def _connect(path: str) -> Tuple[_Reader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = _Reader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.create_unix_connection(lambda: protocol, sock=await _reach(path))
    reader.socket = transport.get_extra_info("socket")
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


class AsyncClient:
    """A connection to rilld's audio socket; made by connect(). The parameters and errors are those of Client.

    max_events  when so many events wait unread in all streams together, the socket is left alone until some are taken;
                then the daemon holds back or, for live streams, gives up (SlowConsumer)
    """

    _variable, _default = "RILL_SOCKET", SOCKET

    def __init__(self, reader: _Reader, writer: asyncio.StreamWriter, timeout: float, max_events: int):
        self._core = Core()
        self._reader, self._writer = reader, writer
        self._timeout, self._max_events = timeout, max_events
        self._waiters: Set["asyncio.Future[None]"] = set()
        self._room = asyncio.Event()
        self._writing = asyncio.Lock()
        self._task = asyncio.ensure_future(self._read_all())

    @classmethod
    async def connect(cls: Type[C], path: Optional[str] = None, *, name: str = "rill-client-asyncio",
                      timeout: float = 10.0, max_events: int = 10000) -> C:
        """Connects; raises ConnectionLost where nobody listens."""
        path = socket_path(path, cls._variable, cls._default)
        try:
            reader, writer = await asyncio.wait_for(_connect(path), timeout)
        except asyncio.TimeoutError:
            raise Core().lost("%s: nobody answers" % path) from None
        except OSError as e:
            raise Core().lost("%s: %s" % (path, e.strerror or e)) from None
        self = cls(reader, writer, timeout, max_events)
        try:
            req, data = whole_hello(self._core, name)
            await self._send(data)
            hello_take(self._core, await self._answer(req, "hello"))
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Closes the connection. Calling it again does nothing."""
        self._core.lost("the client is closed")
        self._task.cancel()
        self._writer.close()
        self._wake()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass

    async def __aenter__(self: C) -> C:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    @property
    def server(self) -> str:
        """Name and version of the daemon."""
        return str(self._core.hello["server"])

    @property
    def instance_id(self) -> str:
        """Changes when the daemon starts again."""
        return str(self._core.hello["instance_id"])

    @property
    def goaway(self) -> Optional[ev.GoAway]:
        """Set once the daemon said that it stops."""
        return self._core.goaway

    # ---- bytes

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def _read_all(self) -> None:
        try:
            while True:
                data = await self._reader.read(1 << 16)
                if not data:
                    self._core.lost("the daemon closed the connection")
                    break
                self._core.feed(data)
                self._wake()
                while not self._reader.ended and \
                        sum(len(s.queue) for s in self._core.streams.values()) >= self._max_events:
                    self._room.clear()
                    await self._room.wait()
        except OSError as e:
            self._core.lost(e.strerror or str(e))
        except RillError as e:
            self._core.failure = self._core.failure or e
            self._core.lost(str(e))
            self._writer.close()
        self._wake()

    async def _wait(self, seconds: Optional[float]) -> bool:
        """Waits until something came; False when the time is over."""
        if self._core.failure is not None:
            raise self._core.failure
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await asyncio.wait_for(waiter, seconds)
        except asyncio.TimeoutError:
            return False
        finally:
            self._waiters.discard(waiter)
        return True

    async def _progress(self, what: str) -> None:
        """As Client._progress."""
        if await self._wait(self._timeout / 2):
            return
        self._writer.write(self._core.message("ping", {}))     # and not awaited: the answer finds a waiter
        if not await self._wait(self._timeout / 2):
            raise Timeout("the daemon was silent for %g s while waiting for %s" % (self._timeout, what))

    async def _send(self, data: bytes) -> None:
        if self._core.failure is not None:
            raise self._core.failure
        try:
            self._writer.write(data)        # at once: what is sent keeps its order
            async with self._writing:
                await asyncio.wait_for(self._writer.drain(), self._timeout)
        except asyncio.TimeoutError:
            raise self._core.lost("the daemon takes no data") from None
        except OSError as e:
            self._room.set()
            await asyncio.wait({self._task}, timeout=1.0)   # an Error may have come that explains it
            raise self._core.lost(e.strerror or str(e)) from None

    # ---- questions

    async def _answer(self, req: int, want: str) -> Message:
        try:
            return await self._next(req, want)
        finally:
            self._core.forget(req)

    async def _next(self, req: int, want: str) -> Message:
        while True:
            got = self._core.answer(req)
            if got is not None:
                return result(got, want)
            await self._progress(want)

    async def _request(self, member: str, message: Message, want: str) -> Message:
        req, data = self._core.request(member, message)
        await self._send(data)
        return await self._answer(req, want)

    async def ping(self) -> float:
        """Round trip in seconds."""
        start = time.monotonic()
        await self._request("ping", {}, "pong")
        return time.monotonic() - start

    async def info(self) -> ev.Info:
        answers: List[Message] = []
        page = info_page(answers)
        while page is not None:
            answers.append(await self._request("info", page, "info"))
            page = info_page(answers)
        return ev.make(ev.Info, info_whole(answers))

    async def stats(self) -> ev.Stats:
        answers: List[Message] = []
        page = stats_page(answers)
        while page is not None:
            answers.append(await self._request("stats", page, "stats"))
            page = stats_page(answers)
        return ev.make(ev.Stats, stats_whole(answers))

    async def model(self, name: str) -> ev.ModelInfo:
        """As Client.model."""
        said = await self._request("info", {"model": name}, "info")
        return ev.make(ev.ModelInfo, model_of(said, name))

    async def health(self) -> ev.Health:
        return ev.make(ev.Health, await self._request("health", {}, "health"))

    # ---- streams

    async def open(self, model: str = "", *, rate: int = 16000, channels: int = 1, encoding: EncodingLike = "f32",
                   out_rate: Optional[int] = None, out_channels: Optional[int] = None,
                   out_encoding: Optional[EncodingLike] = None, pace: str = "file", align: bool = True, want: Iterable[str] = (),
                   max_latency_ms: int = 0, options: Optional[Mapping[str, Any]] = None) -> "AsyncStream":
        """Opens a stream; parameters and errors as in Client.open."""
        frame_bytes = ev.make(ev.Pcm, pcm_message(rate, channels, encoding)).frame_bytes
        state = self._core.stream_add(frame_bytes)
        try:
            opened = await self._request("open", open_message(state.id, model, rate, channels, encoding, out_rate, out_channels,
                                                              out_encoding, pace, align, want, max_latency_ms, options), "opened")
        except BaseException:
            self._core.streams.pop(state.id, None)
            raise
        return AsyncStream(self, state, ev.make(ev.Opened, opened))

    async def open_ports(self, model: str = "", *, pace: str = "file", want: Iterable[str] = ()) -> "AsyncPortStream":
        """Opens a stream of a model's ports; parameters and errors as in Client.open_ports."""
        state = self._core.stream_add(0)
        try:
            opened = await self._request("open_ports", ports_message(state.id, model, pace, want), "opened")
        except BaseException:
            self._core.streams.pop(state.id, None)
            raise
        return AsyncPortStream(self, state, ev.make(ev.Opened, opened))

    async def subscribe(self, topic: str, *, start: Union[str, int] = "now", want: Iterable[str] = (), channels: int = 1,
                        encoding: Optional[EncodingLike] = None) -> "AsyncStream":
        """Listens to a stream that another connection published.

        start               "now", "oldest" (what is still kept), or a position in the publisher's input rate
        want                as in open(); empty: all that the publisher's stream gives
        channels, encoding  of the audio that comes; as the publisher gets it where encoding is None

        The stream takes no audio and ends with cancel(), or when the publisher's does. Raises NoTopic, Denied, Overloaded.
        """
        state = self._core.stream_add(0)
        try:
            said = await self._request("subscribe", subscribe_message(state.id, topic, start, want, channels, encoding), "subscribed")
        except BaseException:
            self._core.streams.pop(state.id, None)
            raise
        subscribed = ev.make(ev.Subscribed, said)
        opened = ev.Opened(stream=state.id, model=subscribed.model, outputs=subscribed.outputs)
        return AsyncStream(self, state, opened, subscribed)


class AsyncStream:
    """One stream. Sending and reading may go on in two tasks at a time."""

    def __init__(self, client: AsyncClient, state: StreamState, opened: ev.Opened, subscribed: Optional[ev.Subscribed] = None):
        self._client, self._state = client, state
        self.opened = opened
        self.subscribed = subscribed

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(self, *_: Any) -> None:
        if not self._state.ended and self._client._core.failure is None:
            await self.cancel()

    @property
    def id(self) -> int:
        return self._state.id

    @property
    def credit(self) -> int:
        """Samples of each channel that send() takes without waiting."""
        return self._state.credit

    @property
    def pos(self) -> int:
        """Position of the next sample that is sent."""
        return self._state.pos

    @property
    def finished(self) -> Optional[ev.Finished]:
        """The account, once the stream ended."""
        return self._state.finished

    async def send(self, pcm: Any) -> None:
        """Sends interleaved samples and waits for credit; events must be read meanwhile if there are many."""
        rest = pcm_bytes(pcm, self._state.frame_bytes)
        self._state.check()
        while rest:
            data, size = self._client._core.audio(self._state, rest)
            if size:
                await self._client._send(data)
                rest = rest[size:]
            else:
                await self._client._progress("credit")
            self._state.check()

    def skip(self, samples: int) -> None:
        """The next send() starts samples later; the daemon tells the jump in a Gap."""
        self._state.check()
        self._state.pos += samples
        self._state.limit_pos += samples
        self._state.discont = True

    async def reset(self) -> None:
        """The model starts afresh; positions go on."""
        self._state.check()
        await self._client._send(self._client._core.message("reset", {"stream": self.id}))

    async def publish(self, topic: str, *, access: str = "same-uid", keep_ms: int = 0, mute: bool = False) -> int:
        """Offers what the stream gives to other connections.

        access   "same-uid" or "all": whose connections may subscribe
        keep_ms  how much of the past who comes later may have; gives what the daemon grants of it
        mute     no outputs come to this stream itself
        """
        said = await self._client._request("publish", publish_message(self.id, topic, access, keep_ms, mute), "published")
        return int(said["keep_ms"])

    def _take(self) -> ev.Event:
        self._client._room.set()
        return self._state.queue.popleft()

    async def read(self, timeout: Optional[float] = None) -> Optional[ev.Event]:
        """The next event; None when timeout seconds are over or the stream has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self._state.queue:
            if self._state.failure is not None:
                raise self._state.failure
            if self._state.finished is not None:
                return None
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            await self._client._wait(left)
        return self._take()

    async def __aiter__(self) -> AsyncIterator[ev.Event]:
        while True:
            event = await self.read()
            if event is None:
                return
            yield event

    async def process(self, pcm: Union[Iterable[Any], AsyncIterable[Any]]) -> AsyncIterator[ev.Event]:
        """Sends each piece of pcm (an async iterable works too), then finishes; gives the events as they come."""
        async for event in self._while(self._send_all(pcm)):
            yield event

    async def _while(self, sending: Any) -> AsyncIterator[ev.Event]:
        """Events while something is sent and until the stream has ended."""
        sender = asyncio.ensure_future(sending)
        sender.add_done_callback(lambda _: self._client._wake())
        try:
            while True:
                while self._state.queue:
                    yield self._take()
                if sender.done():
                    sender.result()
                if self._state.failure is not None:
                    raise self._state.failure
                if self._state.finished is not None:
                    break
                if sender.done():
                    await self._client._progress("Finished")
                else:
                    await self._client._wait(None)
        finally:
            sender.cancel()
        self._forget()

    async def _send_all(self, pcm: Any) -> None:
        if hasattr(pcm, "__aiter__"):
            async for piece in pcm:
                await self.send(piece)
        else:
            for piece in pcm:
                await self.send(piece)
        await self.end()

    async def end(self) -> None:
        """Says that no more audio comes and does not wait; read on until finished is set."""
        self._state.check()
        if self._state.frame_bytes == 0:
            raise StreamEnded("a subscription is ended by cancel()")
        await self._client._send(self._client._core.message("finish", {"stream": self.id}))

    async def finish(self) -> ev.Finished:
        """Ends the stream, waits until everything came back and gives the account."""
        await self.end()
        while self._state.finished is None:
            if self._state.failure is not None:
                raise self._state.failure
            await self._client._progress("Finished")
        self._forget()
        return self._state.finished

    async def cancel(self) -> None:
        """Drops the stream at once; nothing more comes."""
        if not self._state.ended:
            member = "unsubscribe" if self.subscribed else "cancel"
            await self._client._send(self._client._core.message(member, {"stream": self.id}))
            self._state.failure = StreamEnded("stream %d was cancelled" % self.id)
        self._forget()

    def _forget(self) -> None:
        self._client._core.streams.pop(self.id, None)
        self._client._room.set()


class AsyncPortStream(AsyncStream):
    """A stream of ports, as PortStream. Frames of its outputs come as Frames events."""

    @property
    def ports(self) -> Tuple[ev.Port, ...]:
        return self.opened.ports

    def port(self, name: str, is_input: bool = False) -> ev.Port:
        """The output of that name, or the input."""
        return port_of(self.ports, name, is_input)

    def credit_of(self, port: str = "") -> int:
        """Frames of an input that push() takes without waiting."""
        self._state.check()
        return input_of(self._state, port).credit

    async def push(self, data: Any, port: str = "") -> None:
        """Sends frames of an input, as PortStream.push, and waits for credit; events must be read meanwhile if there are
        many."""
        into = input_of(self._state, port)
        rest = frames_bytes(into.port, data)
        self._state.check()
        while rest:
            data, size = self._client._core.frames(self._state, into, rest)
            if size:
                await self._client._send(data)
                rest = rest[size:]
            else:
                await self._client._progress("credit")
            self._state.check()

    async def run(self, inputs: Mapping[str, Any]) -> Dict[str, bytes]:
        """Whole sequences through the stream, which ends: the frames of every wanted output, one behind the other."""
        into = [(input_of(self._state, name).port, data) for name, data in inputs.items()]
        out: Dict[str, List[bytes]] = {p.name: [] for p in self.ports if p.is_wanted}

        async def send() -> None:
            for port, data in into:
                if port.is_set:
                    await self.push(data, port.name)
            await asyncio.gather(*(self.push(data, port.name) for port, data in into if not port.is_set))
            await self.end()

        async for event in self._while(send()):
            if isinstance(event, ev.Frames):
                out[event.port].append(event.data)
        return {name: b"".join(parts) for name, parts in out.items()}

    async def end(self) -> None:
        """Says that no more frames come and does not wait; read on until finished is set."""
        self._state.check()
        await self._client._send(self._client._core.message("finish", {"stream": self.id}))

    async def send(self, pcm: Any) -> None:
        raise TypeError("a stream of ports takes push()")

    def process(self, pcm: Union[Iterable[Any], AsyncIterable[Any]]) -> AsyncIterator[ev.Event]:
        raise TypeError("a stream of ports takes run()")

    def skip(self, samples: int) -> None:
        raise TypeError("a stream of ports has no gaps; reset() begins afresh")


class AsyncControl(AsyncClient):
    """The control socket; as Control."""

    _variable, _default = "RILL_CONTROL", CONTROL

    async def _done(self, member: str, message: Message) -> str:
        return str((await self._request(member, message, "ctl_done"))["text"])

    async def status(self) -> ev.Status:
        answers: List[Message] = []
        page = status_page(answers)
        while page is not None:
            answers.append(await self._request("ctl_status", page, "ctl_status"))
            page = status_page(answers)
        return ev.make(ev.Status, status_whole(answers))

    async def sessions(self) -> List[ev.Session]:
        out: List[ev.Session] = []
        page: Dict[str, int] = {}
        while True:
            got = await self._request("ctl_sessions", page, "ctl_sessions")
            out += [ev.make(ev.Session, s) for s in got["sessions"]]
            if not got["more"] or not got["sessions"]:
                return out
            page = {"after_conn": out[-1].conn, "after_stream": out[-1].stream}

    async def reload(self, model: str = "") -> str:
        """Reads the settings and all loaded models again, or one model; the reason of a refusal names file and line."""
        return await self._done("ctl_reload", {"model": model})

    async def drain(self, grace_ms: int = 0) -> str:
        return await self._done("ctl_drain", {"grace_ms": grace_ms})

    async def load(self, model: str) -> str:
        return await self._done("ctl_load", {"model": model})

    async def unload(self, model: str, wait: bool = False) -> str:
        """Gives a model's memory back; wait: answers when its last stream has ended."""
        return await self._done("ctl_unload", {"model": model, "wait": wait})

    async def swap(self, model: str) -> str:
        return await self._done("ctl_swap", {"model": model})

    async def kick(self, conn: int) -> str:
        return await self._done("ctl_kick", {"conn": conn})

    async def log_level(self, level: str) -> str:
        return await self._done("ctl_log_level", {"level": level})

    async def metrics(self) -> str:
        """The figures as OpenMetrics text."""
        req, data = self._core.request("ctl_metrics", {})
        await self._send(data)
        parts: List[str] = []
        try:
            while True:
                got = await self._next(req, "ctl_metrics")
                parts.append(got["text"])
                if not got.get("more"):
                    return "".join(parts)
        finally:
            self._core.forget(req)


__all__ = ["AsyncClient", "AsyncControl", "AsyncStream"]
