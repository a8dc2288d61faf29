# SPDX-License-Identifier: MIT
"""The Wyoming bridge of examples/, by a client that speaks Wyoming."""
import json
import os
import socket
import subprocess
import sys
import time
import unittest

import rig

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
DIGITS, RATE = rig.wav("digits.wav")
WORDS = "three one four one five nine two six"


class Wyoming:
    """Events over a socket, as a voice assistant would."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.voices = []
        self.file = self.socket.makefile("rb")

    def send(self, kind, payload=b"", split=False, **data):
        head = {"type": kind}
        body = json.dumps(data).encode() if split and data else b""
        if body:
            head["data_length"] = len(body)
        elif data:
            head["data"] = data
        if payload:
            head["payload_length"] = len(payload)
        self.socket.sendall(json.dumps(head).encode() + b"\n" + body + payload)

    def read(self):
        """The next event; what is told of voices meanwhile goes to the side."""
        while True:
            kind, data = self.read_any()
            if not str(kind).startswith("voice-"):
                return kind, data
            self.voices.append((kind[6:], data["timestamp"]))

    def read_any(self):
        line = self.file.readline()
        if not line:
            return None, None
        head = json.loads(line)
        data = head.get("data") or {}
        if head.get("data_length"):
            data.update(json.loads(self.file.read(head["data_length"])))
        return head["type"], data

    def speak(self, pcm, **how):
        form = {"rate": RATE, "width": 2, "channels": 1}
        self.send("audio-start", **form, **how)
        for piece in rig.pieces(pcm, 2048):
            self.send("audio-chunk", piece, True, **form)
        self.send("audio-stop")

    def close(self):
        self.file.close()
        self.socket.close()


class Bridge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.whole = rig.has_weights()
        cls.daemon = rig.Daemon(models=("silero_v6", "ml_kws_gru_s") if cls.whole else ())
        cls.addClassCleanup(cls.end)
        cls.path = cls.daemon.dir + "/wyoming"
        cls.bridge = subprocess.Popen([sys.executable, os.path.join(ROOT, "examples/wyoming/bridge.py"), "--uri", "unix://" + cls.path,
                                       "--socket", cls.daemon.socket] + (["--vad", "silero_v6"] if cls.whole else []), stdout=subprocess.PIPE)
        cls.addClassCleanup(cls.bridge_end)
        cls.bridge.stdout.readline()
        first = Wyoming(cls.path)       # of a daemon that has used none of its models
        first.send("describe")
        cls.described = first.read()
        first.close()

    @classmethod
    def bridge_end(cls):
        cls.bridge.terminate()
        cls.bridge.wait()
        cls.bridge.stdout.close()

    @classmethod
    def end(cls):
        assert cls.daemon.stop() == 0

    def meet(self):
        client = Wyoming(self.path)
        self.addCleanup(client.close)
        return client

    def test_describe(self):
        client = self.meet()
        kind, info = self.described
        self.assertEqual(kind, "info")
        (program,) = info["asr"]
        self.assertIn("rill-digits", [m["name"] for m in program["models"]])
        for thing in [program] + program["models"]:
            self.assertTrue(thing["installed"])
            self.assertEqual(sorted(thing["attribution"]), ["name", "url"])
        self.assertTrue(all(m["languages"] for m in program["models"]))
        client.send("ping", text="hello")
        self.assertEqual(client.read(), ("pong", {"text": "hello"}))

    def test_transcribe(self):
        client = self.meet()
        for _ in range(2):      # a connection may ask again
            client.send("transcribe", name="rill-digits", language="en")
            client.speak(DIGITS, timestamp=0)
            self.assertEqual(client.read(), ("transcript", {"text": WORDS}))

    def test_voices_and_words_to_wake(self):
        if not self.whole:
            self.skipTest("no weights in RILL_SHARED")
        client = self.meet()
        client.send("detect", names=["ml_kws_gru_s"])
        client.speak(DIGITS)
        self.assertEqual([client.read() for _ in range(2)], [("detection", {"name": "on", "timestamp": t}) for t in (720, 1840)])
        client.speak(bytes(2 * RATE))
        self.assertEqual(client.read(), ("not-detected", {}))
        self.assertEqual([v for v, _ in client.voices[:3]], ["started", "stopped", "started"])
        self.assertEqual(client.voices[0][1], 96)

    def test_a_model_of_its_own_choice(self):
        client = self.meet()
        client.send("transcribe")
        client.speak(DIGITS)
        self.assertEqual(client.read(), ("transcript", {"text": WORDS}))

    def test_silence(self):
        client = self.meet()
        client.send("transcribe", name="rill-digits")
        client.speak(bytes(2 * RATE))
        self.assertEqual(client.read(), ("transcript", {"text": ""}))
        client.speak(b"")
        self.assertEqual(client.read(), ("transcript", {"text": ""}))

    def test_two_at_a_time(self):
        a, b = self.meet(), self.meet()
        for client in (a, b):
            client.send("transcribe", name="rill-digits")
            client.speak(DIGITS)
        self.assertEqual(a.read(), b.read())

    def test_refusals(self):
        for send, words in (
                (lambda c: (c.send("transcribe", name="no-such-model"), c.speak(DIGITS[:4096])), "NO_MODEL"),
                (lambda c: c.send("audio-start", rate=16000, width=1, channels=1), "1 bytes"),
                (lambda c: c.send("audio-start", rate=16, width=2, channels=1), "BAD_"),
                (lambda c: c.socket.sendall(b"no json\n"), "JSON"),
                (lambda c: c.socket.sendall(b"[" * 60000 + b"\n"), "JSON"),
                (lambda c: c.socket.sendall(b'{"type": "ping", "data_length": 9999999999}\n'), "more than"),
                (lambda c: c.socket.sendall(b"x" * (1 << 18)), "more than")):
            client = self.meet()
            try:
                send(client)
            except OSError:     # closed while it was still sent
                pass
            kind, data = client.read()
            self.assertEqual(kind, "error", data)
            self.assertIn(words, data["code"] + " " + data["text"])
        client = self.meet()
        client.send("ping")
        self.assertEqual(client.read()[0], "pong")

    def test_a_client_that_leaves(self):
        for _ in range(5):
            client = self.meet()
            client.send("transcribe", name="rill-digits")
            client.send("audio-chunk", DIGITS[:3200], True, rate=RATE, width=2, channels=1)
            client.close()
        import rill_client
        end = time.monotonic() + 20
        with rill_client.Client(self.daemon.socket) as own:
            while own.stats().streams and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(own.stats().streams, 0)


if __name__ == "__main__":
    rig.main()
