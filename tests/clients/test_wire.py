# SPDX-License-Identifier: MIT
"""The Python client's bytes: against the protocol's page, the .proto, and bytes that are no messages."""
import os
import random
import re
import subprocess
import sys
import unittest
from collections import deque

import rig
import rill_client
from rill_client import ProtocolError
from rill_client import _wire as wire
from rill_client._core import Core

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


class Wire(unittest.TestCase):
    def test_bytes_of_the_page(self):
        core = Core()
        self.assertEqual(core.message("hello", {"client": "doc"}, 1).hex(" "), "09 00 00 00 08 01 12 05 12 03 64 6f 63")
        self.assertEqual(core.message("ping", {"payload": b"hi"}, 2).hex(" "), "08 00 00 00 08 02 42 04 0a 02 68 69")
        opened = core.message("open", {"stream": 1, "in": {"rate": 16000, "channels": 1, "enc": 1}, "pace": 1, "align": True}, 2)
        self.assertEqual(opened.hex(" "), "13 00 00 00 08 02 1a 0f 08 01 1a 07 08 80 7d 10 01 18 01 28 01 30 01")

    def test_round_trip(self):
        for name, message in (
                ("Transcript", {"stream": 3, "seg": 2, "final": True, "stability": 0.5, "text": "grün", "pos": 1 << 40,
                                "words": [{"text": "grün", "pos": 1, "end_pos": 2, "confidence": 0.25}]}),
                ("Opened", {"stream": 1, "model": "m", "model_sha256": "", "model_pcm": None, "hop_samples": 0,
                            "latency_samples": 0, "lookahead_samples": 0, "credit_samples": 2 ** 64 - 1, "outputs": [1, 5],
                            "offset_samples": -3}),
                ("HealthReply", {"state": 1, "beats": [0, 1, 2 ** 63]})):
            back = wire.decode(name, wire.encode(name, message))
            self.assertEqual({k: back[k] for k in message}, message)

    def test_packed_and_not(self):
        packed, single = bytes.fromhex("12 03 01 80 01"), bytes.fromhex("10 01 10 80 01")
        self.assertEqual(wire.decode("HealthReply", packed)["beats"], [1, 128])
        self.assertEqual(wire.decode("HealthReply", single)["beats"], [1, 128])

    def test_unknown_fields_are_passed_over(self):
        more = bytes.fromhex("08 01 a0 3f 05 aa 3f 02 68 69 ad 3f 00 00 00 00 a9 3f 00 00 00 00 00 00 00 00")
        self.assertEqual(wire.decode("HealthReply", more)["state"], 1)

    def test_hostile_bytes(self):
        for text in ("0a", "0a 05 00", "08", "08 ff ff ff ff ff ff ff ff ff ff ff", "0b", "00 00", "12 02 ff fe",
                     "1a ff ff ff ff ff ff ff ff ff 01", "0d 00 00", "09 00", "3d 00 00 00 00"):
            with self.assertRaises(ProtocolError, msg=text):
                wire.decode("ModelInfo", bytes.fromhex(text))

    def test_random_bytes(self):
        dice, refused = random.Random(7), 0
        good = wire.encode("ServerFrame", {"req": 5, "text": {"stream": 1, "text": "abc", "words": [{"text": "abc"}] * 3}})
        for _ in range(20000):
            data = bytearray(good)
            for _ in range(dice.randint(1, 4)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            del data[dice.randint(1, len(data)):]
            try:
                wire.decode("ServerFrame", bytes(data))
            except ProtocolError:
                refused += 1
        self.assertGreater(refused, 5000)

    def test_any_split(self):
        frame = wire.encode("ServerFrame", {"req": 9, "pong": {"payload": b"x" * 300}})
        data = b"RILL\1\0\0\0" + len(frame).to_bytes(4, "little") + frame
        for cut in range(1, len(data)):
            core = Core()
            core._answers[9] = deque()
            self.assertEqual(core.feed(data[:cut]) + core.feed(data[cut:]), 1)
            self.assertEqual(core.answer(9)[1]["payload"], b"x" * 300)

    def test_values_that_do_not_fit(self):
        for value in (-1, 1 << 32):
            with self.assertRaises(ValueError):
                wire.encode("Finish", {"stream": value})

    def test_one_version(self):
        said = [rill_client.__version__]
        for name, pattern in (("meson.build", r"version: '([0-9.]+)'"), ("debian/changelog", r"^rill \(([0-9.]+)\)")):
            with open(os.path.join(ROOT, name), encoding="utf-8") as f:
                said.append(re.search(pattern, f.read(), re.M).group(1))
        self.assertEqual(len(set(said)), 1, said)

    def test_tables_are_those_of_the_proto(self):
        tool = os.path.join(ROOT, "clients/python/make_messages.py")
        got = subprocess.run([sys.executable, tool, "--check", os.path.join(ROOT, "daemon/rilld.proto")], stdout=subprocess.PIPE,
                             universal_newlines=True, env=dict(os.environ, PYTHONPATH=sys.path[0]))
        self.assertEqual((got.returncode, got.stdout), (0, "the tables agree\n"))


if __name__ == "__main__":
    rig.main()
