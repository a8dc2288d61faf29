# SPDX-License-Identifier: MIT
"""Streams of ports of every type through the daemon: what comes is what `rill run` gives, to the bit, in any cuts, in company,
through both Python clients and the tool; and what is wrong is told. Models: tests/api/types and tests/clients/ports."""
import array
import asyncio
import os
import random
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import zipfile

import rig
import rill_client as rc
from rill_client.aio import AsyncClient

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES, OWN = os.path.join(HERE, "../api/types"), os.path.join(HERE, "ports")
CODES = {"f32": "f", "f64": "d", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
         "bool": "?"}
NUMPY = {"f32": "<f4", "f64": "<f8", "i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "u8": "|u1", "u16": "<u2",
         "u32": "<u4", "u64": "<u8", "bool": "|b1"}


def npy(kind, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (NUMPY[kind], ",".join(map(str, shape)))
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def npz_read(path):
    out = {}
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            data = z.read(name)
            (n,) = struct.unpack_from("<H", data, 8)
            out[name[:-4]] = data[10 + n:]
    return out


def numbers(kind, n, seed, most=11):
    """Values that a model of tokens takes, too."""
    r = random.Random(seed)
    if kind in ("f32", "f64"):
        return struct.pack("<%d%s" % (n, CODES[kind]), *(r.uniform(-4, 4) for _ in range(n)))
    return struct.pack("<%d%s" % (n, CODES[kind]), *(r.randrange(2 if kind == "bool" else most) for _ in range(n)))


def frames_of(port, whole, n):
    """Bytes of a whole tensor as frames, or back: time stands before the last axes of a frame."""
    outer = 1
    for d in port.shape[:port.time_axis]:
        outer *= d
    inner = port.frame_bytes // outer
    return b"".join(whole[(o * n + t) * inner:(o * n + t + 1) * inner] for t in range(n) for o in range(outer))


def cuts(data, frame_bytes, r, most=9):
    at = 0
    while at < len(data):
        n = r.randint(1, most) * frame_bytes
        yield data[at:at + n]
        at += n


class Ports(unittest.TestCase):
    #: model -> (folder, inputs: name -> (type, shape with None for time))
    MODELS = {
        "words": (TYPES, {"x": ("i64", (1, None))}),
        "best": (TYPES, {"x": ("f32", (1, None, 6))}),
        "bytes": (TYPES, {"x": ("u8", (1, 1, None))}),
        "half": (OWN, {"x": ("f32", (1, 1, None))}),
        "thirds": (OWN, {"x": ("f32", (1, 1, None))}),
        "mixed": (OWN, {"a": ("f32", (1, 2, None)), "b": ("i64", (1, 1, None)), "c": ("bool", (1, 1, None)), "who": ("i64", (1,))}),
        "beside": (TYPES, {"x": ("f32", (None,)), "who": ("i64", (1,))}),
        "still": (OWN, {"x": ("f32", (1, 3)), "more": ("f32", (1, 2))}),
        "wide": (OWN, {"x": ("f32", (None, 30000))}),
    }
    MODELS.update({"step_" + t: (TYPES, {"x": (t, (2, None, 3))}) for t in CODES})
    LENGTH = {"wide": 3, "thirds": 42}

    @classmethod
    def setUpClass(cls):
        cls.daemon = rig.Daemon()
        cls.addClassCleanup(cls.end)
        os.makedirs(cls.daemon.models, exist_ok=True)
        cls.cases = {}
        for name, (folder, inputs) in cls.MODELS.items():
            cls.compile(name, folder)
            cls.cases[name] = cls.case(name, folder, inputs, cls.LENGTH.get(name, 41))
        for pulse in (4, 7):
            cls.compile("beside", TYPES, "-p", str(pulse), to="beside%d" % pulse)
        cls.compile("step_i64", TYPES, "-p", "5", to="step5")
        cls.compile("burst", OWN, "-p", "1")
        cls.compile("sum", OWN, "-p", "4", to="sum4")
        for pulse in (1, 4):
            cls.compile("longer", OWN, "-p", str(pulse), to="longer%d" % pulse)

    @classmethod
    def end(cls):
        assert cls.daemon.stop() == 0

    @classmethod
    def compile(cls, name, folder, *more, to=None):
        subprocess.run([rig.RILL, "compile", os.path.join(folder, name + ".onnx"), "-o",
                        os.path.join(cls.daemon.models, (to or name) + ".rill"), *more], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def case(cls, name, folder, inputs, length):
        """Whole tensors in, and what `rill run` makes of them."""
        given = {}
        command = [rig.RILL, "run", os.path.join(folder, name + ".onnx"), "-o", cls.daemon.dir + "/out.npz"]
        for seed, (port, (kind, shape)) in enumerate(inputs.items()):
            dims = [length if d is None else d for d in shape]
            n = 1
            for d in dims:
                n *= d
            given[port] = (numbers(kind, n, seed, 4 if port == "who" else 11), length if None in shape else 1)
            path = "%s/%s-%s.npy" % (cls.daemon.dir, name, port)
            with open(path, "wb") as f:
                f.write(npy(kind, dims, given[port][0]))
            command += ["-i", "%s=%s" % (port, path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return given, npz_read(cls.daemon.dir + "/out.npz"), command[5:]

    def setUp(self):
        self.client = rc.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def inputs_of(self, stream, name):
        given = self.cases[name][0]
        return {p.name: frames_of(p, *given[p.name]) if p.hop_num else given[p.name][0] for p in stream.ports if p.is_input}

    def compare(self, stream, name, out, only=None):
        want = self.cases[name][1]
        self.assertEqual(set(out), set(only or want))
        for port in stream.ports:
            if port.name not in out or port.is_input:
                continue
            n = len(want[port.name]) // port.frame_bytes
            self.assertEqual(out[port.name], frames_of(port, want[port.name], n) if port.hop_num else want[port.name],
                             "%s, %s" % (name, port.name))

    # ---- what comes

    def test_whole_sequences(self):
        for name in self.MODELS:
            stream = self.client.open_ports(name + ".rill")
            out = stream.run(self.inputs_of(stream, name))
            self.compare(stream, name, out)
            counts = {p.port: p.frames for p in stream.finished.ports}
            for port in stream.ports:
                if port.is_wanted:
                    self.assertEqual(counts[port.name], len(out[port.name]) // port.frame_bytes)

    def test_random_cuts(self):
        for seed, name in enumerate(self.MODELS):
            r = random.Random(seed)
            stream = self.client.open_ports(name + ".rill")
            data = self.inputs_of(stream, name)
            left = {p.name: cuts(data[p.name], p.frame_bytes, r) for p in stream.ports if p.is_input and not p.is_set}
            for port in stream.ports:
                if port.is_set:
                    stream.push(data[port.name], port.name)
            while left:
                name_ = r.choice(sorted(left))
                piece = next(left[name_], None)
                if piece is None:
                    del left[name_]
                else:
                    stream.push(piece, name_)
            stream.finish()
            out, next_ = {p.name: b"" for p in stream.ports if p.is_wanted}, {}
            for event in stream.events():
                size = stream.port(event.port).frame_bytes
                self.assertEqual(event.pos * size + event.at_bytes, next_.get(event.port, 0))
                next_[event.port] = event.pos * size + event.at_bytes + len(event.data)
                out[event.port] += event.data
            self.compare(stream, name, out)

    def test_the_tool(self):
        for name, (_, _, inputs) in self.cases.items():
            reference = "%s/%s-ref.npz" % (self.daemon.dir, name)
            source = os.path.join(self.MODELS[name][0], name + ".onnx")
            subprocess.run([rig.RILL, "run", source, "-o", reference] + inputs, check=True, stdout=subprocess.DEVNULL)
            out = "%s/%s-out.npz" % (self.daemon.dir, name)
            said = subprocess.run([rig.RILL, "run", "--socket", self.daemon.socket, name + ".rill", "--compare", reference, "--atol",
                                   "0", "--rtol", "0", "-o", out] + inputs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(said.returncode, 0, said.stdout)
            self.assertEqual(npz_read(out), npz_read(reference))

    def test_what_ports_say(self):
        stream = self.client.open_ports("thirds.rill")
        x, low = stream.port("x", True), stream.port("low")
        self.assertEqual((x.hop_num, x.hop_den, low.hop_num, low.hop_den), (1, 1, 3, 2))
        self.assertEqual((low.shape, low.time_axis, low.type, low.rate_num), ((1, 2), 2, rc.ElementType.F32, 0))
        half = self.client.open_ports("half.rill").port("up")
        self.assertEqual((half.hop_num, half.hop_den), (1, 2))
        mixed = self.client.open_ports("mixed.rill", want=["z", "v"])
        self.assertEqual([(p.name, p.is_input, p.is_set, p.is_wanted) for p in mixed.ports],
                         [("a", True, False, False), ("b", True, False, False), ("c", True, False, False), ("who", True, True, False),
                          ("y", False, False, False), ("z", False, False, True), ("w", False, False, False), ("v", False, False, True)])
        self.compare(mixed, "mixed", mixed.run(self.inputs_of(mixed, "mixed")), ["z", "v"])
        info = self.client.model("mixed.rill")
        self.assertEqual([(p.name, p.type) for p in info.ports], [(p.name, p.type) for p in mixed.ports])
        self.assertIn("OpenPorts", info.audio_error)
        self.assertEqual(self.client.model("rill-denoise").audio_error, "")

    def test_a_model_of_audio(self):
        """The same model by both kinds of streams; what a port gives is not aligned."""
        audio = self.client.open("rill-denoise", rate=16000, align=False)
        data = rig.floats(rig.wav("noisy.wav")[0])[:16000].tobytes()
        want = b"".join(e.pcm for e in audio.process([data]) if isinstance(e, rc.Audio))
        ports = self.client.open_ports("rill-denoise", pace="live")
        out = ports.run({"": data})
        (name, got), = out.items()
        lie = len(want) - len(got)
        self.assertGreaterEqual(len(got), 4 * 16000)
        self.assertIn(got[1024:60000], want)
        self.assertGreaterEqual(ports.finished.audio_us, 999000, name)
        self.assertLess(abs(lie), 4096)

    # ---- beside the stream

    def set_script(self, pulse, seed):
        """Pushes and sets in some order, and what must come: a run takes what was set before a frame that it waits for."""
        r = random.Random(seed)
        values = [1.0, 10.0, 100.0, 1000.0]
        steps, sets, sent = [("set", r.randrange(4))], [], 0
        sets.append((0, steps[0][1]))
        for _ in range(r.randint(3, 40)):
            if r.random() < 0.4:
                who = r.randrange(4)
                steps.append(("set", who))
                sets.append((sent, who))
            else:
                n = r.randint(1, 2 * pulse)
                steps.append(("push", n))
                sent += n
        want = []
        for t in range(sent):
            run = t // pulse
            who = [w for at, w in sets if at < (run + 1) * pulse][-1]
            want.append((t + 1) * values[who])
        return steps, struct.pack("<%df" % sent, *want)

    def test_sets_count_in_order(self):
        for pulse, model in ((1, "beside.rill"), (4, "beside4.rill"), (7, "beside7.rill")):
            for seed in range(12):
                steps, want = self.set_script(pulse, seed)
                stream = self.client.open_ports(model)
                sent = 0
                for what, n in steps:
                    if what == "set":
                        stream.push(array.array("q", [n]), "who")
                    else:
                        stream.push(array.array("f", range(sent + 1, sent + n + 1)), "x")
                        sent += n
                    if seed % 3 == 0:
                        time.sleep(0.001)
                stream.finish()
                self.assertEqual(b"".join(e.data for e in stream.events()), want, (model, seed, steps))

    def test_not_set(self):
        stream = self.client.open_ports("beside.rill")
        with self.assertRaisesRegex(rc.BadRequest, "'who' does not run along time and was not set"):
            stream.push(array.array("f", [1]), "x")
            stream.finish()
        stream = self.client.open_ports("beside.rill")
        stream.push(array.array("q", [1]), "who")
        self.assertEqual(stream.finish().samples_in, 0)

    # ---- reset

    def test_reset(self):
        for model in ("step_i64.rill", "step5.rill"):
            stream = self.client.open_ports(model)
            data = self.inputs_of(stream, "step_i64")["x"]
            want = frames_of(stream.port("y"), self.cases["step_i64"][1]["y"], 41)
            for round_ in range(3):
                for piece in cuts(data, 48, random.Random(round_)):
                    stream.push(piece)
                stream.reset()
                stream.reset()
            account = stream.finish()
            got = {}
            for e in stream.events():
                self.assertEqual(e.pos * 48, sum(map(len, got.values())))
                got[e.resets] = got.get(e.resets, b"") + e.data
            self.assertEqual(got, {0: want, 1: want, 2: want}, model)
            self.assertEqual(account.samples_in, 3 * 41)

    def test_many_resets(self):
        """As fast as they can be sent: each begins a sequence of its own, or the stream ends and says so."""
        stream = self.client.open_ports("step_i64.rill")
        for k in range(200):
            stream.push(array.array("q", [k] * 6))
            stream.reset()
        stream.finish()
        got = {}
        for e in stream.events():
            got[e.resets] = got.get(e.resets, b"") + e.data
        self.assertEqual(got, {k: struct.pack("<6q", *[k] * 6) for k in range(200)})
        stream = self.client.open_ports("step_i64.rill")
        try:
            for k in range(1000):
                stream.push(array.array("q", [k] * 6))
                stream.reset()
            stream.finish()
        except rc.Overloaded as e:
            self.assertIn("too many resets", str(e))
        self.client.ping()

    def test_reset_wants_it_set_anew(self):
        stream = self.client.open_ports("beside.rill")
        stream.push(array.array("q", [1]), "who")
        stream.push(array.array("f", [1, 2]), "x")
        stream.reset()
        stream.push(array.array("q", [2]), "who")
        stream.push(array.array("f", [3]), "x")
        got = ()
        while len(got) < 3:
            event = stream.read(10)
            got += struct.unpack("<%df" % (len(event.data) // 4), event.data)
        self.assertEqual(got, (10.0, 20.0, 300.0))
        stream.reset()
        with self.assertRaisesRegex(rc.BadRequest, "was not set since"):
            stream.push(array.array("f", [4]), "x")
            stream.finish()

    # ---- company

    def test_company(self):
        """Clients of the same plan, each with its own data, pace and cuts."""
        problems = []

        def one(seed):
            try:
                r = random.Random(seed)
                with rc.Client(self.daemon.socket) as client:
                    for _ in range(4):
                        name = r.choice(["step_i64", "mixed", "words"])
                        stream = client.open_ports(name + ".rill")
                        out = stream.run(self.inputs_of(stream, name))
                        self.compare(stream, name, out)
            except BaseException as e:      # told by the thread that waits
                problems.append(e)

        threads = [threading.Thread(target=one, args=(seed,)) for seed in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(problems, [])

    def test_interleaved(self):
        """Two streams of a connection, frame by frame."""
        a, b = self.client.open_ports("step_i64.rill"), self.client.open_ports("step_i64.rill")
        data = self.inputs_of(a, "step_i64")["x"]
        for at in range(0, len(data), 48):
            a.push(data[at:at + 48])
            b.push(data[at:at + 48])
        for stream in (a, b):
            stream.finish()
            self.compare(stream, "step_i64", {"y": b"".join(e.data for e in stream.events())})

    def test_long(self):
        """Many windows of credit."""
        stream = self.client.open_ports("step_i64.rill")
        n = 40000
        x = array.array("q", (k % 97 for k in range(6 * n)))
        out = stream.run({"x": x})["y"]
        y = array.array("q")
        y.frombytes(out)
        self.assertEqual(len(y), 6 * n)
        self.assertEqual(y, array.array("q", (x[k] - (x[k - 6] if k >= 6 else 0) for k in range(6 * n))))

    def test_all_comes_without_finish(self):
        """What a run gave beyond the room of a ring comes as soon as there is room, not with the next run."""
        for n in (5, 27, 47):
            stream = self.client.open_ports("burst.rill")
            stream.push(array.array("f", range(n)))
            got, end = b"", time.monotonic() + 10
            while len(got) < n * 64000 and time.monotonic() < end:
                event = stream.read(1)
                got += event.data if event else b""
            self.assertEqual(len(got), n * 64000, n)
            self.assertEqual(got, b"".join(struct.pack("<f", k) * 16000 for k in range(n)))
            self.assertEqual(stream.finish().samples_out, 16 * n)

    # ---- asyncio

    def test_asyncio(self):
        async def go():
            async with await AsyncClient.connect(self.daemon.socket) as client:
                for name in ("mixed", "wide", "thirds", "beside"):
                    stream = await client.open_ports(name + ".rill")
                    self.compare(stream, name, await stream.run(self.inputs_of(stream, name)))
                self.assertEqual((await client.model("mixed.rill")).ports[0].name, "a")
                stream = await client.open_ports("beside.rill")
                with self.assertRaises(ValueError):
                    await stream.push(b"", "nothing")
                with self.assertRaisesRegex(rc.BadRequest, "was not set"):
                    await stream.push(array.array("f", [1]), "x")
                    await stream.finish()
        asyncio.run(go())

    # ---- what is wrong

    def refused(self, model, words, *messages, error=rc.DaemonError, want=(), first=()):
        """Messages that the client would not send."""
        stream = self.client.open_ports(model, want=want)
        for data, port in first:
            stream.push(data, port)
        with self.assertRaisesRegex(error, words):
            for member, message in messages:
                self.client._send(self.client._core.message(member, dict({"stream": stream.id}, **message)))
            stream.finish()
        self.client.ping()

    def test_bad_frames(self):
        one = struct.pack("<q", 1)
        f = lambda **m: ("frames", m)
        bad = self.refused
        bad("words.rill", "no input 'z'; its inputs are 'x'", f(port="z", data=one))
        bad("words.rill", "'y' is an output; the inputs are 'x'", f(port="y", data=one))
        bad("words.rill", "7 bytes are no whole number of frames of input 'x', which are 1 i64 each: 8", f(port="x", data=one[:7]))
        bad("words.rill", "takes i64, not TYPE_F32", f(port="x", data=one, type=1))
        bad("words.rill", "takes i64, not a type of that number", f(port="x", data=one, type=99))
        bad("words.rill", "pos 5 and at_bytes 0 of input 'x' are not the next ones, which are 0 and 0", f(port="x", data=one, pos=5))
        bad("words.rill", "at_bytes 4", f(port="x", data=one, at_bytes=4))
        bad("words.rill", "not the next ones, which are 1 and 0", f(port="x", data=one), f(port="x", data=one))
        bad("mixed.rill", "no input ''; its inputs are 'a', 'b', 'c', 'who'", f(data=one))
        bad("beside.rill", "more frames of input 'who' than the credit allows", f(port="who", data=one * 5))
        bad("wide.rill", "reach past the end|into an element", f(port="x", data=b"\0" * 6))
        bad("wide.rill", "'x' ends within frame 0: 60000 of its 120000 bytes came", f(port="x", data=b"\0" * 60000))
        bad("wide.rill", "reach past the end", f(port="x", data=b"\0" * 60000), f(port="x", at_bytes=60000, data=b"\0" * 60004))
        bad("mixed.rill", "does not run along time and was not set", f(port="b", data=one))

    def test_index_out_of_range(self):
        """The model asks for what is not there: that stream ends and says so."""
        self.refused("words.rill", "MODEL_FAILED.*11", ("frames", {"port": "x", "data": struct.pack("<3q", 1, 11, 1)}),
                     error=rc.ModelFailed)

    def test_kinds_of_streams(self):
        """What is for one kind does nothing to the other."""
        ports, audio = self.client.open_ports("words.rill"), self.client.open(rate=16000)
        said = []
        for stream, member, message in ((ports, "audio", {"pcm": b"\0" * 8}), (audio, "frames", {"port": "x", "data": b"\0" * 8}),
                                        (ports, "publish", {"topic": "t"})):
            self.client._send(self.client._core.message(member, dict(message, stream=stream.id)))
        self.client.ping()
        ports.push(struct.pack("<q", 3))
        self.assertEqual((ports.finish().samples_in, audio.finish().samples_in, said), (1, 0, []))
        with self.assertRaisesRegex(rc.ModelFailed, "is not audio of one channel"):
            self.client.open("words.rill")

    def test_bad_opening(self):
        cases = [(dict(model="nowhere.rill"), "NO_MODEL"), (dict(model="words.rill", want=["z"]), "no output 'z'; its outputs are 'y'"),
                 (dict(model="words.rill", want=["x"]), "no output 'x'"), (dict(model="words.rill", pace="live"), "states no rate"),
                 (dict(model="words.rill", pace=7), "pace must be"), (dict(model="words.rill", want=["\ufffd" * 200]), "not UTF-8")]
        for how, words in cases:
            with self.assertRaisesRegex(rc.DaemonError, words):
                self.client.open_ports(**how)
        taken = self.client.open_ports("words.rill")
        with self.assertRaisesRegex(rc.DaemonError, "is open already"):
            self.client._request("open_ports", {"stream": taken.id, "model": "words.rill"}, "opened")
        with self.assertRaisesRegex(rc.DaemonError, "a stream's number is not 0"):
            self.client._request("open_ports", {"stream": 0, "model": "words.rill"}, "opened")
        with self.assertRaisesRegex(rc.DaemonError, "NO_MODEL"):
            self.client.model("nowhere")

    def test_uneven(self):
        stream = self.client.open_ports("mixed.rill")
        stream.push(array.array("q", [0]), "who")
        stream.push(array.array("f", [0] * 20), "a")
        stream.push(array.array("q", [0] * 4), "b")
        stream.push(bytes(4), "c")
        with self.assertRaisesRegex(rc.BadRequest, "'a' goes on where 'b' ends: of its 10 frames the model takes 4 with the 4 of 'b'"):
            stream.finish()
        stream = self.client.open_ports("still.rill")
        stream.push(array.array("f", [1, 2, 3]), "x")
        with self.assertRaisesRegex(rc.BadRequest, "1 of 'x' came and 0 of 'more'"):
            stream.finish()

    def test_uneven_by_less_than_a_pulse(self):
        for a, b, fits in ((10, 12, False), (12, 10, False), (10, 13, False), (10, 20, False), (0, 1, False), (10, 10, True)):
            for ends in ("finish", "reset"):
                with self.subTest(a=a, b=b, ends=ends):
                    stream = self.client.open_ports("sum4.rill")
                    stream.push(array.array("f", range(a)), "a")
                    stream.push(array.array("f", [100 * k for k in range(b)]), "b")
                    if ends == "reset":
                        stream.reset()
                    if not fits:
                        with self.assertRaisesRegex(rc.BadRequest, "goes on where '[ab]' ends: of its"):
                            stream.finish()
                        continue
                    self.assertEqual(stream.finish().samples_out, a)
                    got = array.array("f", b"".join(e.data for e in stream.events()))
                    self.assertEqual(list(got), [101 * k for k in range(a)])

    def test_one_goes_on(self):
        """An input of S + 2 frames beside one of S, whatever a pulse is."""
        for pulse in (1, 4):
            for a, b in ((8, 10), (9, 11), (11, 13), (11, 12), (11, 14), (12, 12)):
                for ends in ("finish", "reset"):
                    with self.subTest(pulse=pulse, a=a, b=b, ends=ends):
                        stream = self.client.open_ports("longer%d.rill" % pulse)
                        stream.push(array.array("f", range(a)), "a")
                        stream.push(array.array("f", [100 * k for k in range(b)]), "b")
                        if ends == "reset":
                            stream.reset()
                        if b != a + 2:
                            with self.assertRaisesRegex(rc.BadRequest, "goes on where '[ab]' ends: of its"):
                                stream.finish()
                            continue
                        self.assertEqual(stream.finish().samples_out, a)
                        got = array.array("f", b"".join(e.data for e in stream.events()))
                        self.assertEqual(list(got), [k + 100 * (k + 2) for k in range(a)])

    def test_after_finish_and_cancel(self):
        stream = self.client.open_ports("words.rill")
        stream.push(struct.pack("<q", 3))
        stream.cancel()
        self.assertRaises(rc.StreamEnded, stream.push, struct.pack("<q", 3))
        with self.client.open_ports("words.rill") as stream:
            stream.end()
            self.client._send(self.client._core.message("frames", {"stream": stream.id, "port": "x", "data": bytes(8)}))
            while stream.finished is None:
                self.client.poll(10)
            self.assertEqual(stream.finished.samples_in, 0)

    def test_what_the_client_refuses(self):
        stream = self.client.open_ports("words.rill")
        for data, port, words in ((b"1234567", "x", "no whole number"), (array.array("f", [1]), "x", "takes i64"),
                                  (b"", "y", "no input 'y'")):
            with self.assertRaisesRegex(ValueError, words):
                stream.push(data, port)
        self.assertRaises(TypeError, stream.send, b"")

    def test_not_finite_goes_through(self):
        """Numbers of a tensor are taken as they are."""
        stream = self.client.open_ports("wide.rill")
        x = array.array("f", [float("nan"), float("inf"), -float("inf"), 1e-3] + [0.0] * 29996)
        out = array.array("f")
        out.frombytes(stream.run({"x": x})["y"])
        self.assertTrue(out[0] != out[0])
        self.assertEqual(list(out[1:3]), [float("inf"), -float("inf")])
        self.assertEqual(stream.finished.not_finite, 0)

    def test_small_messages(self):
        """A client that takes 4096 bytes gets frames in parts, and a list of ports that is too long is refused."""
        from rill_client._core import Core
        real = Core.request

        def small(core, member, message):
            return real(core, member, dict(message, max_frame=4096) if member == "hello" else message)

        Core.request = small
        try:
            client = rc.Client(self.daemon.socket)
        finally:
            Core.request = real
        self.addCleanup(client.close)
        for name in ("wide", "mixed", "step_f64"):
            stream = client.open_ports(name + ".rill")
            self.compare(stream, name, stream.run(self.inputs_of(stream, name)))

    # ---- abuse

    def memory(self):
        """KiB; 0 where a sanitizer keeps what was freed."""
        proc = "/proc/%d/" % self.daemon.process.pid
        with open(proc + "maps", encoding="ascii", errors="replace") as f:
            if "libasan" in f.read():
                return 0
        with open(proc + "status", encoding="ascii") as f:
            return int([line for line in f if line.startswith("VmRSS")][0].split()[1])

    def test_who_never_reads(self):
        """Its outputs hold it up alone: nothing grows, and others go on."""
        lazy = rc.Client(self.daemon.socket)
        self.addCleanup(lazy.close)
        streams = [lazy.open_ports("wide.rill") for _ in range(4)]
        frame = bytes(120000)
        core = lazy._core

        def flood():
            """As far as the credit of Opened goes, and beyond what it can get without reading."""
            for stream in streams:
                state = stream._state.inputs["x"]
                rest = memoryview(frame)
                while len(rest):
                    data, n = core.frames(stream._state, state, rest)
                    if not n:
                        break
                    try:
                        lazy._socket.settimeout(0.2)
                        lazy._socket.sendall(data)
                    except OSError:
                        return
                    rest = rest[n:]

        for _ in range(20):
            flood()
        before = self.memory()
        for _ in range(20):
            flood()
            with self.subTest("others"):
                self.compare(*self.whole("step_i64"))
        self.assertLess(self.memory() - before, 4096)
        self.compare(*self.whole("mixed"))
        lazy._socket.setblocking(False)

    def whole(self, name):
        stream = self.client.open_ports(name + ".rill")
        return stream, name, stream.run(self.inputs_of(stream, name))


class Limits(unittest.TestCase):
    def test_memory_of_a_user(self):
        """A stream whose rings are over the quota is refused by that name, and what was open goes on."""
        daemon = rig.Daemon("[limits]\nmax_bytes_per_uid = 3000000\n")
        try:
            os.makedirs(daemon.models, exist_ok=True)
            subprocess.run([rig.RILL, "compile", os.path.join(OWN, "wide.onnx"), "-o", daemon.models + "/wide.rill"], check=True,
                           stdout=subprocess.DEVNULL)
            with rc.Client(daemon.socket) as client:
                first = client.open_ports("wide.rill")
                with self.assertRaisesRegex(rc.DaemonError, "QUOTA"):
                    for _ in range(8):
                        client.open_ports("wide.rill")
                x = array.array("f", [1.0] * 30000)
                self.assertEqual(first.run({"x": x})["y"], array.array("f", [2.0] * 30000).tobytes())
        finally:
            assert daemon.stop() == 0

    def test_drain_and_sessions(self):
        daemon = rig.Daemon()
        try:
            os.makedirs(daemon.models, exist_ok=True)
            subprocess.run([rig.RILL, "compile", os.path.join(TYPES, "words.onnx"), "-o", daemon.models + "/words.rill"], check=True,
                           stdout=subprocess.DEVNULL)
            with rc.Client(daemon.socket) as client, rc.Control(daemon.control) as control:
                stream = client.open_ports("words.rill")
                stream.push(struct.pack("<3q", 1, 2, 3))
                session = control.sessions()[0]
                self.assertEqual((session.model, session.in_samples), ("words.rill", 3))
                self.assertGreater(session.memory_bytes, 0)
                self.assertIn("loaded", control.load("words.rill") + " loaded")
                metrics = control.metrics()
                self.assertIn("words.rill", metrics)
                control.drain(5000)
                self.assertEqual(stream.finish().samples_out, 3)
        finally:
            assert daemon.stop() in (0, -9)


if __name__ == "__main__":
    rig.main()
