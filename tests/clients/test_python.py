# SPDX-License-Identifier: MIT
"""The Python client, blocking and asyncio, against the real daemon and against bad ones."""
import array
import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import unittest.mock
import wave

import rig
import rill_client.aio
import rill_client.client
import rill_client as rc
from rill_client._wire import encode
from rill_client.aio import AsyncClient, AsyncControl

NOISY, RATE = rig.wav("noisy.wav")
DIGITS, _ = rig.wav("digits.wav")
WORDS = "three one four one five nine two six"


def audio_of(events):
    return b"".join(e.pcm for e in events if isinstance(e, rc.Audio))


def as_s16(pcm):
    """Floats as the protocol rounds them, halves to even."""
    return array.array("h", [max(-32768, min(32767, round(x * 32768))) for x in array.array("f", pcm)]).tobytes()


def tool_wav(*command):
    with tempfile.TemporaryDirectory() as d:
        out = d + "/out.wav"
        subprocess.run([rig.RILL, *command, os.path.join(rig.AUDIO, "noisy.wav"), out], check=True, stdout=subprocess.DEVNULL)
        with wave.open(out) as w:
            return w.readframes(w.getnframes())


def whole(client, data=None, **more):
    with client.open(rate=RATE, **more) as stream:
        return audio_of(stream.process([rig.floats(NOISY) if data is None else data]))


class WithDaemon(unittest.TestCase):
    more, models = "", ()

    @classmethod
    def setUpClass(cls):
        if cls.models and not rig.has_weights():
            raise unittest.SkipTest("no weights in RILL_SHARED")
        cls.daemon = rig.Daemon(cls.more, cls.models)

    @classmethod
    def tearDownClass(cls):
        assert cls.daemon.stop() in (0, -9)


class Blocking(WithDaemon):
    def setUp(self):
        self.client = rc.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def test_bits_of_the_tool_and_of_the_c_client(self):
        out = whole(self.client)
        self.assertEqual(as_s16(out), tool_wav("denoise"))
        self.assertEqual(as_s16(out), tool_wav("stream", "--socket", self.daemon.socket))
        self.assertEqual(as_s16(out), whole(self.client, encoding="f32", out_encoding="s16"))

    def test_bits_of_the_c_example(self):
        example = os.environ.get("RILL_C_CLIENT")
        if not example:
            self.skipTest("RILL_C_CLIENT names no example")
        got = subprocess.run([example, self.daemon.socket], input=rig.floats(NOISY).tobytes(), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, check=True)
        self.assertEqual(got.stdout, whole(self.client))
        self.assertIn(b"144000 samples", got.stderr)

    def test_any_pieces(self):
        want = whole(self.client)
        for size in (4, 1000, 65536):
            with self.client.open(rate=RATE) as stream:
                data = rig.pieces(memoryview(rig.floats(NOISY)).cast("B")[:40000], size)
                self.assertEqual(audio_of(stream.process(data))[:30000], want[:30000])

    def test_send_read_finish(self):
        with self.client.open(rate=RATE, encoding="s16", pace="live") as stream:
            self.assertEqual(stream.opened.model, "rill-denoise")
            self.assertGreaterEqual(stream.credit, 4 * stream.opened.hop_samples)
            stream.send(NOISY[:6400])
            first = stream.read(30)
            self.assertIsInstance(first, rc.Audio)
            self.assertEqual((first.pos, stream.pos), (0, 3200))
            account = stream.finish()
            rest = list(stream.events())
            self.assertEqual(len(first.pcm) + len(audio_of(rest)), 6400)
            self.assertEqual((account.samples_in, account.samples_out, account.dropped), (3200, 3200, 0))
            self.assertRaises(rc.StreamEnded, stream.send, b"\0\0")

    def test_formats(self):
        with self.client.open(rate=48000, channels=2, encoding="s16", out_rate=16000, out_channels=1, out_encoding="f32") as stream:
            out = audio_of(stream.process([b"\1\0" * 2 * 48000]))
            self.assertEqual((len(out), stream.finished.samples_in), (16000 * 4, 48000))

    def test_skip_is_a_gap(self):
        with self.client.open(rate=RATE, encoding="s16") as stream:
            stream.send(NOISY[:3200])
            stream.skip(500)
            stream.send(NOISY[:3200])
            account = stream.finish()
            gaps = [e for e in stream.events() if isinstance(e, rc.Gap)]
            self.assertEqual([(g.pos, g.samples, g.reason) for g in gaps], [(1600, 500, 1)])
            self.assertEqual(account.dropped, 500)

    def test_reset_and_cancel(self):
        with self.client.open(rate=RATE, encoding="s16") as stream:
            stream.send(NOISY[:3200])
            stream.reset()
            stream.send(NOISY[:3200])
            stream.cancel()
            self.assertRaises(rc.StreamEnded, stream.send, b"\0\0")
        self.assertGreater(self.client.ping(), 0)

    def test_words(self):
        with self.client.open("rill-digits", rate=RATE, encoding="s16") as stream:
            events = list(stream.process(rig.pieces(DIGITS, 3200)))
        finals = [e for e in events if isinstance(e, rc.Transcript) and e.final]
        self.assertEqual(" ".join(f.text for f in finals), WORDS)
        words = [w for f in finals for w in f.words]
        self.assertEqual(" ".join(w.text for w in words), WORDS)
        self.assertTrue(all(0 <= a.pos < a.end_pos <= b.pos for a, b in zip(words, words[1:])))
        self.assertTrue(any(isinstance(e, rc.Transcript) and not e.final for e in events))

    def test_several_streams(self):
        streams = [self.client.open(rate=RATE, encoding="s16") for _ in range(4)]
        for i in range(0, 32000, 3200):
            for stream in streams:
                stream.send(NOISY[i:i + 3200])
        for stream in streams:
            stream.finish()
        outs = [audio_of(stream.events()) for stream in streams]
        self.assertEqual(len(outs[0]), 32000)
        self.assertTrue(all(out == outs[0] for out in outs))

    def test_questions(self):
        info, stats = self.client.info(), self.client.stats()
        self.assertEqual(info.default_model, "rill-denoise")
        self.assertIn("rill-digits", [m.name for m in info.models])
        self.assertGreaterEqual(stats.connections, 1)
        self.assertTrue(self.client.health().ok)
        self.assertTrue(self.client.server.startswith("rilld "))
        self.assertTrue(self.client.instance_id)

    def test_refusals(self):
        self.assertRaises(rc.NoModel, self.client.open, "no-such-model")
        self.assertRaises(rc.BadRequest, self.client.open, rate=100)
        self.assertRaises(rc.NoModel, self.client.open, "../etc")
        self.assertRaises(ValueError, self.client.open, encoding="mp3")
        self.assertRaises(ValueError, self.client.open, want=["colour"])
        with self.assertRaises(rc.BadRequest) as caught, self.client.open(rate=RATE, encoding="s16") as stream:
            stream.send(b"RIFF" + bytes(60))
            stream.finish()
        self.assertEqual((caught.exception.name, caught.exception.fatal), ("BAD_FORMAT", True))
        with self.client.open(rate=RATE) as stream:
            self.assertRaises(ValueError, stream.send, b"\0\0\0")
        self.assertGreater(self.client.ping(), 0)

    def test_control(self):
        with rc.Control(self.daemon.socket) as wrong:
            self.assertRaises(rc.Denied, wrong.status)
        with rc.Control(self.daemon.control) as control, self.client.open(rate=RATE):
            status = control.status()
            self.assertEqual((status.state, status.pid), ("running", self.daemon.process.pid))
            self.assertIn((1, "rill-denoise", RATE), [(s.stream, s.model, s.input.rate) for s in control.sessions()])
            control.load("wiener")
            self.assertIn("wiener", [m.name for m in control.stats().models] + [m.name for m in control.info().models])
            control.unload("wiener")
            control.log_level("info")
            control.reload()
            self.assertRaises(rc.DaemonError, control.load, "no-such-model")
            self.assertRaises(rc.DaemonError, control.log_level, "loud")

    def test_metrics(self):
        with rc.Control(self.daemon.control) as control:
            text = control.metrics()
        self.assertTrue(text.endswith("# EOF\n"))

    def test_kick(self):
        with rc.Control(self.daemon.control) as control, rc.Client(self.daemon.socket, name="to-be-kicked") as other:
            stream = other.open(rate=RATE)
            conn = [s.conn for s in control.sessions() if s.client == "to-be-kicked"][0]
            control.kick(conn)
            with self.assertRaises((rc.Denied, rc.ConnectionLost)):
                for _ in range(1000):
                    stream.send(bytes(4096))
            self.assertRaises((rc.Denied, rc.ConnectionLost), other.ping)

    def test_threads_with_a_client_each(self):
        want, outs = whole(self.client), []
        def one():
            with rc.Client(self.daemon.socket) as client:
                outs.append(whole(client))
        threads = [threading.Thread(target=one) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(outs, [want] * 3)


def table(daemon, *command):
    """Rows that the tool prints of digits.wav, without the head."""
    said = subprocess.run([rig.RILL, *command, os.path.join(rig.AUDIO, "digits.wav")] + ["-"] * (command[0] == "vad"), check=True,
                          stdout=subprocess.PIPE, universal_newlines=True, env=dict(os.environ, RILL_MODEL_PATH=daemon.models))
    return said.stdout.splitlines()[1:]


class Heard(WithDaemon):
    models = ("silero_v6", "ml_kws_gru_s")

    def test_probabilities_and_edges_are_the_tools(self):
        with rc.Client(self.daemon.socket) as client, client.open("silero_v6", rate=RATE, encoding="s16", want=["vad"]) as stream:
            events = list(stream.process(rig.pieces(DIGITS, 1000)))
        edges = {rc.Edge.NONE: "", rc.Edge.START: "start", rc.Edge.END: "end"}
        rows = ["%.3f,%.6f,%s" % (e.pos / RATE, e.prob, edges[e.edge]) for e in events]
        self.assertEqual(rows, table(self.daemon, "vad", "-m", "silero_v6"))
        self.assertEqual(stream.finished.vad_frames, len(rows))

    def test_a_threshold_of_the_streams_own(self):
        starts = []
        for threshold in (0.5, 0.9999):
            with rc.Client(self.daemon.socket) as client:
                with client.open("silero_v6", rate=RATE, encoding="s16", options={"vad_threshold": threshold}) as stream:
                    events = list(stream.process([DIGITS]))
            starts.append(min(e.prob for e in events if isinstance(e, rc.Vad) and e.edge == rc.Edge.START))
        self.assertTrue(0.5 <= starts[0] < 0.9999 <= starts[1], starts)

    def test_endpoints(self):
        with rc.Client(self.daemon.socket) as client:
            with client.open("silero_v6", rate=RATE, encoding="s16", want=["vad", "endpoint"]) as stream:
                events = list(stream.process([DIGITS, bytes(6 * RATE)]))
        ends = [e for e in events if isinstance(e, rc.Endpoint)]
        self.assertTrue(ends and all(e.rule in (1, 2, 3) and 0 < e.pos <= stream.pos for e in ends), ends)

    def test_keywords_are_the_tools(self):
        with rc.Client(self.daemon.socket) as client, client.open("ml_kws_gru_s", rate=RATE, encoding="s16") as stream:
            words = [e for e in stream.process([DIGITS]) if isinstance(e, rc.Keyword)]
        rows = ["%.3f,%.3f,%s,%.6f" % (w.pos / RATE, w.end_pos / RATE, w.word, w.score) for w in words]
        self.assertEqual(rows, table(self.daemon, "keyword", "-m", "ml_kws_gru_s"))
        self.assertTrue(rows)


class Pages(WithDaemon):
    def test_more_models_than_fit(self):
        names = ["page-%03d" % i for i in range(150)]
        for name in names:
            os.makedirs(os.path.join(self.daemon.models, name))

        async def ask():
            async with await AsyncClient.connect(self.daemon.socket) as client:
                return await client.info()
        try:
            with rc.Client(self.daemon.socket) as client:
                for info in (client.info(), asyncio.run(ask())):
                    got = [m.name for m in info.models]
                    self.assertEqual([n for n in got if n.startswith("page-")], names)
                    self.assertEqual(got, sorted(set(got)))
        finally:
            for name in names:
                os.rmdir(os.path.join(self.daemon.models, name))

    def test_more_models_in_use_than_fit(self):
        """In frames of 4096 bytes, so that fewer models are enough."""
        names = ["used-%02d-%s" % (i, "n" * 50) for i in range(60)]
        for name in names:
            shutil.copytree(os.path.join(rig.LIBRARY, "wiener"), os.path.join(self.daemon.models, name))

        async def ask():
            async with await AsyncClient.connect(self.daemon.socket) as client, await AsyncControl.connect(self.daemon.control) as control:
                return await client.stats(), (await control.status()).stats
        with unittest.mock.patch("rill_client._core.MAX_MESSAGE_BYTES", 4096), rc.Client(self.daemon.socket) as client, \
                rc.Control(self.daemon.control) as control:
            for name in names:
                with client.open(name, rate=RATE) as stream:
                    stream.finish()
            for stats in (client.stats(), control.status().stats, *asyncio.run(ask())):
                self.assertEqual([m.name for m in stats.models if m.name.startswith("used-")], names)
                self.assertGreaterEqual(stats.streams_opened, len(names))


class Topics(WithDaemon):
    def test_publish_and_subscribe(self):
        with rc.Client(self.daemon.socket) as source, rc.Client(self.daemon.socket) as listener:
            stream = source.open(rate=RATE, encoding="s16")
            self.assertLessEqual(stream.publish("desk", keep_ms=1000), 1000)
            self.assertEqual([(t.name, t.in_rate) for t in listener.info().topics], [("desk", RATE)])
            with listener.subscribe("desk", start="oldest") as ears, rc.Control(self.daemon.control) as control:
                self.assertEqual([(s.topic, s.subscription) for s in control.sessions()], [("desk", False), ("desk", True)])
                self.assertEqual((ears.subscribed.in_rate, ears.subscribed.out.enc), (RATE, rc.Encoding.S16))
                got = b""
                for piece in rig.pieces(NOISY[:32000], 3200):
                    stream.send(piece)
                    while isinstance(event := ears.read(0), rc.Audio):
                        got += event.pcm
                account = stream.finish()
                got += audio_of(ears)
                self.assertEqual(len(got), 2 * account.samples_out)
                self.assertEqual(got, audio_of(stream.events()))
            self.assertRaises(rc.NoTopic, listener.subscribe, "desk")
            self.assertRaises(ValueError, listener.subscribe, "desk", start="yesterday")

    def test_unsubscribe(self):
        with rc.Client(self.daemon.socket) as source, rc.Client(self.daemon.socket) as listener:
            stream = source.open(rate=RATE, encoding="s16", pace="live")
            stream.publish("hall", mute=True)
            ears = listener.subscribe("hall", encoding="f32")
            self.assertRaises(rc.StreamEnded, ears.send, b"")
            stream.send(NOISY[:3200])
            self.assertIsInstance(ears.read(30), rc.Audio)
            ears.cancel()
            self.assertGreater(listener.ping(), 0)
            stream.finish()
            self.assertEqual(list(stream.events()), [])

    def test_under_asyncio(self):
        async def run():
            async with await AsyncClient.connect(self.daemon.socket) as client:
                stream = await client.open("rill-digits", rate=RATE, encoding="s16")
                await stream.publish("words")
                ears = await client.subscribe("words", want=["transcript"])

                async def speak():
                    for piece in rig.pieces(DIGITS, 6400):
                        await stream.send(piece)
                    await stream.finish()
                speaker = asyncio.ensure_future(speak())
                heard = [e.text async for e in ears if e.final]
                await speaker
                return " ".join(heard)
        self.assertEqual(asyncio.run(run()), WORDS)


class Asyncio(WithDaemon):
    def test_bits(self):
        async def run():
            async with await AsyncClient.connect(self.daemon.socket) as client:
                async def one():
                    async with await client.open(rate=RATE) as stream:
                        out = [e async for e in stream.process([rig.floats(NOISY)])]
                        return audio_of(out), stream.finished
                return await asyncio.gather(*[one() for _ in range(3)])
        with rc.Client(self.daemon.socket) as client:
            want = whole(client)
        for out, account in asyncio.run(run()):
            self.assertEqual(out, want)
            self.assertEqual(account.samples_in, len(NOISY) // 2)

    def test_two_tasks_and_an_async_source(self):
        async def source():
            for piece in rig.pieces(DIGITS, 6400):
                await asyncio.sleep(0)
                yield piece

        async def run():
            async with await AsyncClient.connect(self.daemon.socket) as client:
                async with await client.open("rill-digits", rate=RATE, encoding="s16") as stream:
                    texts = [e.text async for e in stream.process(source()) if isinstance(e, rc.Transcript) and e.final]
                async with await client.open(rate=RATE, encoding="s16") as stream:
                    async def send():
                        for piece in rig.pieces(NOISY[:64000], 3200):
                            await stream.send(piece)
                        await stream.end()
                    sender, out = asyncio.ensure_future(send()), b""
                    async for event in stream:
                        out += event.pcm
                    await sender
                return " ".join(texts), len(out)
        self.assertEqual(asyncio.run(run()), (WORDS, 64000))

    def test_few_events_in_memory(self):
        async def run():
            async with await AsyncClient.connect(self.daemon.socket, max_events=3) as client:
                async with await client.open(rate=RATE, encoding="s16") as stream:
                    most, n = 0, 0
                    async for event in stream.process([NOISY]):
                        most, n = max(most, len(stream._state.queue)), n + len(event.pcm)
                    return most, n
        most, n = asyncio.run(run())
        self.assertEqual(n, len(NOISY))
        self.assertLess(most, 300)      # what one read of the socket may hold

    def test_questions_and_control(self):
        async def run():
            async with await AsyncControl.connect(self.daemon.control) as control:
                health, info, status = await asyncio.gather(control.health(), control.info(), control.status())
                self.assertTrue(health.ok)
                self.assertEqual(info.default_model, "rill-denoise")
                self.assertEqual(status.state, "running")
                self.assertGreater(await control.ping(), 0)
                self.assertEqual(await control.sessions(), [])
                await control.reload()
            with self.assertRaises(rc.NoModel):
                async with await AsyncClient.connect(self.daemon.socket) as client:
                    await client.open("no-such-model")
            with self.assertRaises(rc.ConnectionLost):
                await AsyncClient.connect("/nonexistent/socket")
        asyncio.run(run())


class Refused(WithDaemon):
    more = "[limits]\nrtf_budget = 0.01\nmax_streams_per_connection = 64\nmax_connections = 3\n"

    def test_overloaded(self):
        with rc.Client(self.daemon.socket) as client:
            with self.assertRaises(rc.Overloaded) as caught:
                for _ in range(65):
                    client.open(rate=RATE, pace="live")
            self.assertIn(caught.exception.name, ("OVERLOADED", "QUOTA"))
            self.assertEqual(caught.exception.name == "OVERLOADED", caught.exception.retry_ms > 0)

    def test_too_many_connections(self):
        clients = []
        try:
            with self.assertRaises((rc.Overloaded, rc.ConnectionLost)):
                for _ in range(5):
                    clients.append(rc.Client(self.daemon.socket))
            self.assertEqual(len(clients), 3)
        finally:
            for client in clients:
                client.close()


class Gone(unittest.TestCase):
    def test_nobody_listens(self):
        self.assertRaises(rc.ConnectionLost, rc.Client, "/nonexistent/socket")
        self.assertRaises(rc.ConnectionLost, rc.Client, "/tmp/" + "x" * 200)

    def test_killed_in_a_stream(self):
        daemon = rig.Daemon()
        try:
            client = rc.Client(daemon.socket)
            self.addCleanup(client.close)
            stream = client.open(rate=RATE, encoding="s16")
            stream.send(NOISY[:32000])
            daemon.kill()
            with self.assertRaises(rc.ConnectionLost):
                stream.send(bytes(1 << 20))
            for call in (stream.finish, client.ping, client.info):
                self.assertRaises(rc.ConnectionLost, call)
        finally:
            daemon.stop()

    def test_killed_under_asyncio(self):
        daemon = rig.Daemon()

        async def run():
            async with await AsyncClient.connect(daemon.socket) as client:
                stream = await client.open(rate=RATE, encoding="s16")
                await stream.send(NOISY[:3200])
                daemon.kill()
                with self.assertRaises(rc.ConnectionLost):
                    await stream.send(bytes(1 << 20))
                with self.assertRaises(rc.ConnectionLost):
                    while await stream.read():
                        pass
        try:
            asyncio.run(run())
        finally:
            daemon.stop()

    def test_drain_lets_a_stream_finish(self):
        daemon = rig.Daemon()
        try:
            with rc.Client(daemon.socket) as client:
                stream = client.open(rate=RATE, encoding="s16")
                stream.send(NOISY[:6400])
                daemon.process.terminate()
                while client.goaway is None:
                    client.poll(10)
                self.assertRaises(rc.Draining, client.open)
                stream.send(NOISY[6400:12800])
                self.assertEqual(stream.finish().samples_out, 6400)
        finally:
            self.assertEqual(daemon.stop(), 0)


PREFACE = b"RILL\1\0\0\0"
HELLO = bytes.fromhex("0b 00 00 00 08 01 12 07 12 01 78 28 80 80 04")      # HelloAck, server "x", max_frame 65536


class Impostors(unittest.TestCase):
    def meets(self, error, answers, stay=False, timeout=5.0, then=lambda client: client.ping()):
        for way in ("blocking", "asyncio"):
            other = rig.Impostor(answers, stay)

            async def run():
                async with await AsyncClient.connect(other.path, timeout=timeout) as client:
                    await client.ping()
            try:
                with self.assertRaises(error, msg=way):
                    if way == "asyncio":
                        asyncio.run(run())
                    else:
                        with rc.Client(other.path, timeout=timeout) as client:
                            then(client)
            finally:
                other.close()

    def test_other_protocols(self):
        self.meets(rc.ProtocolError, [b"HTTP/1.1 400 Bad Request\r\n\r\n"])
        self.meets(rc.ProtocolError, [b"RILL\2\0\0\0"])

    def test_bad_frames(self):
        for bad in (b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\2\0\0\0\xff\xff", b"\3\0\0\0\x12\x09\0"):
            self.meets(rc.ProtocolError, [PREFACE + HELLO, bad])

    def test_an_answer_to_something_else(self):
        self.meets(rc.ProtocolError, [PREFACE + HELLO, bytes.fromhex("04 00 00 00 08 02 62 00")])

    def test_closing_early(self):
        self.meets(rc.ConnectionLost, [])
        self.meets(rc.ConnectionLost, [PREFACE])
        self.meets(rc.ConnectionLost, [PREFACE + HELLO])
        self.meets(rc.ConnectionLost, [PREFACE + HELLO, b"\x09\0\0\0\x08"])

    def test_queue_full(self):
        """Others who connect faster than the daemon accepts: it is asked again, until the timeout."""
        for way in ("blocking", "asyncio"):
            with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
                listener.bind(folder + "/s")
                listener.listen(0)
                others = [socket.socket(socket.AF_UNIX) for _ in range(2)]
                for other in others:
                    other.setblocking(False)
                    other.connect_ex(folder + "/s")

                async def run(timeout):
                    async with await AsyncClient.connect(folder + "/s", timeout=timeout):
                        pass

                def connect(timeout):
                    if way == "asyncio":
                        asyncio.run(run(timeout))
                    else:
                        rc.Client(folder + "/s", timeout=timeout).close()

                def accept():
                    time.sleep(0.3)
                    for n in range(2):
                        peer = listener.accept()[0]
                        if n == 1:
                            peer.recv(8)
                            peer.sendall(PREFACE + HELLO)
                        peer.close()
                self.assertRaises(rc.ConnectionLost, connect, 0.1)
                thread = threading.Thread(target=accept, daemon=True)
                thread.start()
                connect(10)
                thread.join()
                for other in others:
                    other.close()

    def test_silence(self):
        start = time.monotonic()
        self.meets(rc.Timeout, [PREFACE + HELLO], stay=True, timeout=0.2)
        self.meets(rc.Timeout, [PREFACE], stay=True, timeout=0.2)
        self.assertLess(time.monotonic() - start, 60)

    def test_what_takes_longer_than_the_timeout(self):
        """A daemon that says when asked that it lives is waited for."""
        for way in ("blocking", "asyncio"):
            lives, answer = bytes.fromhex("02 00 00 00 5a 00"), bytes.fromhex("04 00 00 00 08 02 5a 00")
            other = rig.Impostor([PREFACE + HELLO, b"", lives, lives, lives, lives, answer], True)

            async def run():
                async with await AsyncClient.connect(other.path, timeout=1) as client:
                    return await client.ping()
            try:
                if way == "asyncio":
                    took = asyncio.run(run())
                else:
                    with rc.Client(other.path, timeout=1) as client:
                        took = client.ping()
                self.assertGreater(took, 2, msg=way)
            finally:
                other.close()

    def test_closed_before_the_client_writes(self):
        """What is written meets a broken pipe; the reason that the daemon gave is told."""
        error = bytes.fromhex("0b 00 00 00 52 09 10 0c 1a 03 61 62 63 20 01")
        pongs = bytes.fromhex("08 00 00 00 5a 06 0a 04 00 01 02 03") * 8000

        def late(hello):
            def wait(*args):
                time.sleep(0.3)
                return hello(*args)
            return wait
        for last in (error, pongs + error):
            for way, module in (("blocking", rill_client.client), ("asyncio", rill_client.aio)):
                other = rig.Impostor([], last=last)

                async def run():
                    async with await AsyncClient.connect(other.path):
                        pass
                try:
                    with unittest.mock.patch.object(module, "whole_hello", late(module.whole_hello)):
                        with self.assertRaisesRegex(rc.Overloaded, "QUOTA: abc", msg=way):
                            if way == "asyncio":
                                asyncio.run(run())
                            else:
                                rc.Client(other.path)
                finally:
                    other.close()

    def test_closed_between_requests(self):
        error = bytes.fromhex("0b 00 00 00 52 09 10 0c 1a 03 61 62 63 20 01")

        def again(client):
            other.thread.join()
            client.ping()

        async def run():
            async with await AsyncClient.connect(other.path) as client:
                other.thread.join()
                await client.ping()
        for way in ("blocking", "asyncio"):
            other = rig.Impostor([PREFACE + HELLO], last=error)
            try:
                with self.assertRaisesRegex(rc.Overloaded, "QUOTA: abc", msg=way):
                    if way == "asyncio":
                        asyncio.run(run())
                    else:
                        with rc.Client(other.path) as client:
                            again(client)
            finally:
                other.close()

    def test_closed_while_reading_waits_for_room(self):
        """The reason lies behind more events than the client takes."""
        def frame(member, message, req=0):
            data = encode("ServerFrame", {"req": req, member: message})
            return len(data).to_bytes(4, "little") + data
        vads = [frame("vad", {"stream": 1, "pos": i, "prob": 0.5}) for i in range(8000)]
        error = bytes.fromhex("0b 00 00 00 52 09 10 0c 1a 03 61 62 63 20 01")

        async def run():
            async with await AsyncClient.connect(other.path, max_events=3) as client:
                await client.open(rate=RATE)
                while other.thread.is_alive():
                    await asyncio.sleep(0.05)
                await asyncio.sleep(0.1)
                await client.ping()
        for many in (vads[:20], vads):
            other = rig.Impostor([PREFACE + HELLO, frame("opened", {"stream": 1, "credit_samples": 1600}, 2)], last=b"".join(many) + error)
            try:
                with self.assertRaisesRegex(rc.Overloaded, "QUOTA: abc"):
                    asyncio.run(run())
            finally:
                other.close()

    def test_an_error_in_place_of_the_preface(self):
        self.meets(rc.Overloaded, [bytes.fromhex("0b 00 00 00 52 09 10 0c 1a 03 61 62 63 20 01")])


if __name__ == "__main__":
    rig.main()
