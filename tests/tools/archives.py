# SPDX-License-Identifier: MIT
"""Weights that are members of an archive: kept when archive and members are what model.conf says, else refused by name
with nothing left behind. archives.py RILL"""
import hashlib, io, os, random, subprocess, sys, tarfile, tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from counted import check, finish

RILL = sys.argv[1]
NET, MORE = b"the first net", b"the second net, a little longer"


def member(name, data=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def archive(*members, mode="w:gz"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as t:
        for info, data in members:
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def conf(packed, **other):
    value = {"sha": sha(packed), "bytes": len(packed), "net": sha(NET),
             "net_bytes": len(NET), "member": "export/net.onnx", **other}
    return f"""[model]
task = denoise
licence = MIT
summary = a test
[archive.nets.tar.gz]
url = https://example.org/nets.tar.gz
sha256 = {value["sha"]}
bytes = {value["bytes"]}
[weights.net.onnx]
archive = nets.tar.gz
member = {value["member"]}
sha256 = {value["net"]}
bytes = {value["net_bytes"]}
[weights.more.onnx]
archive = nets.tar.gz
member = export/more.onnx
sha256 = {sha(MORE)}
bytes = {len(MORE)}
"""


def get(root, packed, text, to="got"):
    library = os.path.join(root, "library", "net")
    os.makedirs(library, exist_ok=True)
    os.makedirs(os.path.join(root, "from", "net"), exist_ok=True)
    with open(os.path.join(library, "graph.nnef"), "w") as f:
        f.write("version 1.0;\ngraph net(x) -> (y) { x = external<scalar>(shape = [S]); y = x; }\n")
    with open(os.path.join(library, "model.conf"), "w") as f:
        f.write(text)
    with open(os.path.join(root, "from", "net", "nets.tar.gz"), "wb") as f:
        f.write(packed)
    r = subprocess.run([RILL, "models", "get", "net", "--from", os.path.join(root, "from"), "--to", os.path.join(root, to)],
                       capture_output=True, text=True, env={**os.environ, "RILL_LIBRARY": os.path.join(root, "library")})
    return r.returncode, r.stdout + r.stderr


def files(root):
    return {os.path.relpath(os.path.join(d, f), root) for d, _, names in os.walk(root) for f in names}


GOOD = archive(member("export/net.onnx", NET), member("export/more.onnx", MORE), member("export/config.ini", b"x = 1"))
BOMB = archive(member("export/net.onnx", NET), member("export/more.onnx", MORE), member("zeros", bytes(64 << 20)))
LINK = archive(member("export/net.onnx", type=tarfile.SYMTYPE, linkname="/etc/hostname"), member("export/more.onnx", MORE))
HARD = archive(member("export/more.onnx", MORE), member("export/net.onnx", type=tarfile.LNKTYPE, linkname="export/more.onnx"))
CASES = [
    ("up", archive(member("../net.onnx", NET), member("export/more.onnx", MORE)), {}, "'../net.onnx': not a file beneath"),
    ("inside up", archive(member("export/../../net.onnx", NET)), {}, "not a file beneath"),
    ("absolute", archive(member("/net.onnx", NET)), {}, "not a file beneath"),
    ("escape bytes", archive(member("../\x1b[2J\x07\x7f\x9b31mnet", NET)), {}, "'../?[2J????31mnet': not a file beneath"),
    ("folder up", archive(member("../evil", type=tarfile.DIRTYPE), member("export/net.onnx", NET)), {},
     "'../evil/': not a folder beneath"),
    ("rubbish", GOOD + b"garbage!", {}, "something follows the end of the compressed data"),
    ("link", LINK, {}, "'export/net.onnx' is no plain file"),
    ("hard link", HARD, {}, "'export/net.onnx' is no plain file"),
    ("bomb", BOMB, {}, "zeros has 67108864 bytes, and the archive may hold"),
    ("wanted is a bomb", archive(member("export/net.onnx", bytes(64 << 20)), member("export/more.onnx", MORE)), {},
     "export/net.onnx has 67108864 bytes, and the archive may hold"),
    ("twice", archive(member("export/net.onnx", NET), member("export/net.onnx", NET)), {}, "comes twice"),
    ("no member", archive(member("export/more.onnx", MORE)), {}, "has no member 'export/net.onnx'"),
    ("other size", GOOD, {"net_bytes": 12}, "'export/net.onnx' has 13 bytes, expected 12"),
    ("other sum", GOOD, {"net": "0" * 63 + "1"},
     f"member 'export/net.onnx': its SHA-256 is {sha(NET)}, not the one model.conf names, {'0' * 63}1; not kept"),
    ("member's sum of zeros", GOOD, {"net": "0" * 64}, "64 hexadecimal digits, not all of them 0"),
    ("second is missing", archive(member("export/net.onnx", NET)), {}, "has no member 'export/more.onnx'"),
    ("archive's sum", GOOD, {"sha": "0" * 63 + "1"},
     f"from/net/nets.tar.gz: its SHA-256 is {sha(GOOD)}, not the one model.conf names, {'0' * 63}1; not kept"),
    ("sum of zeros", GOOD, {"sha": "0" * 64}, "[archive.nets.tar.gz] sha256: "),
    ("too large", GOOD, {"bytes": len(GOOD) - 1}, f"nets.tar.gz: has {len(GOOD)} bytes, expected {len(GOOD) - 1}"),
    ("too small", GOOD, {"bytes": len(GOOD) + 1},
     f"from/net/nets.tar.gz: has {len(GOOD)} bytes, expected {len(GOOD) + 1}; not kept"),
    ("cut off", GOOD[:-40], {}, "the archive cannot be read"),
    ("no archive", NET, {}, "the archive cannot be read"),
]


def too_long(root):
    """A folder of models that can be made, and the one beside it in which all is put together cannot."""
    while len(root) < 4085:
        root = os.path.join(root, "d" * min(200, 4085 - len(root) - 1))
    return root


def main():
    for name, packed, other, words in CASES:
        with tempfile.TemporaryDirectory() as root:
            code, said = get(root, packed, conf(packed, **other))
            check(code == 3 and words in said, f"{name}: exit {code}: {said}")
            left = files(os.path.join(root, "got"))
            check(not left, f"{name}: left {left}")
    with tempfile.TemporaryDirectory() as root:
        code, said = get(root, GOOD, conf(GOOD), too_long(os.path.join(root, "got")))
        check(code == 4 and "File name too long" in said, f"long: exit {code}: {said[-80:]}")
        check(not os.path.exists(os.path.join(root, "got")), "long: the folder stays")
    with tempfile.TemporaryDirectory() as root:
        code, said = get(root, GOOD, conf(GOOD))
        whole = {"net/net.onnx", "net/more.onnx", "net/graph.nnef", "net/model.conf"}
        check(code == 0 and files(os.path.join(root, "got")) == whole, f"good: {code}: {said}")
        got = open(os.path.join(root, "got", "net", "net.onnx"), "rb").read()
        check(got == NET, f"good: {got!r}")
        for mode, more in ("w:bz2", member("export/tokens.txt", b"a 0")), ("w:gz", member("export/tokens.txt", b"a 0")):
            packed = archive(member("export/net.onnx", NET), member("export/more.onnx", MORE), more, mode=mode)
            code, said = get(root, packed, conf(packed), "got" + mode[2:])
            check(code == 0 and files(os.path.join(root, "got" + mode[2:])) == whole, f"{mode}: {code}: {said}")
        for size in 3 << 20, 40 << 20:
            packed = archive(member("export/net.onnx", NET), member("test.wav", random.Random(1).randbytes(size)),
                             member("export/more.onnx", MORE))
            code, said = get(root, packed, conf(packed), f"got{size}")
            check(code == 0 and files(os.path.join(root, f"got{size}")) == whole, f"beside: {code}: {said}")
        code, said = get(root, BOMB, conf(BOMB))
        got = open(os.path.join(root, "got", "net", "net.onnx"), "rb").read()
        check(code == 3 and got == NET and files(os.path.join(root, "got")) == whole, f"what was there stays: {said}")
    finish()


main()
