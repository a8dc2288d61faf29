# SPDX-License-Identifier: MIT
"""Models in archives are those of their folders, to the digest; archives with mistakes are refused
by name. tarballs.py RILL FOLDER, a model's"""
import bz2, gzip, io, os, random, subprocess, sys, tarfile, tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from counted import check, finish

RILL, FOLDER = sys.argv[1:3]
HEAD = b"version 1.0;\ngraph g(x) -> (y) {\n    x = external<scalar>(shape = [S]);\n    y = %s;\n}\n"
GRAPH = HEAD % b"rill_frame(x, 4, 4)"
PATCH = HEAD % b"rill_frame(x, 4, 4) * variable<scalar>(shape = [4], label = 'w')"


def inspect(path):
    r = subprocess.run([RILL, "inspect", "--json", path], capture_output=True, text=True)
    return r.returncode, r.stdout.replace(path, "MODEL").replace(os.path.basename(path), "MODEL"), r.stderr


def plain(*files):
    return [({"name": n}, data) for n, data in files]


def tar(members, format=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as t:
        for fields, data in members:
            info = tarfile.TarInfo()
            info.size = len(data)
            for k, v in fields.items():
                setattr(info, k, v)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def sparse():
    """A file of 8 GiB of which nothing is there, as GNU tar writes it."""
    info = tarfile.TarInfo("graph.nnef")
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    head[156:157] = b"S"
    head[386:398] = b"00000000000\0"
    head[398:410] = b"00000000000\0"
    head[483:495] = b"77777777777\0"
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + bytes(1024)


def big():
    """A file that says 7 GiB and holds nothing."""
    info = tarfile.TarInfo("graph.nnef")
    info.size = 7 << 30
    return info.tobuf(tarfile.USTAR_FORMAT)


def links(kind, name="w.dat"):
    return [({"name": name, "type": kind, "linkname": "/etc/passwd"}, b""), *plain(("graph.nnef", GRAPH))]


def flipped(data, at):
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1]) + data[at:][1:]


WHOLE = tar(plain(("graph.nnef", GRAPH)))
ZIPPED, STORED = gzip.compress(WHOLE), gzip.compress(WHOLE, 0)
RANDOM = tar(plain(("graph.nnef", GRAPH), ("w.dat", random.Random(1).randbytes(20000))))
FOLDERS = [({"name": f"d{i}/", "type": tarfile.DIRTYPE}, b"") for i in range(4096)]
EVIL = [({"name": "../evil", "type": tarfile.DIRTYPE}, b"")]
RUBBISH = "something follows the end of the compressed data"
SUM = "the checksum or the length at the end of the gzip file is not that of its data"
BOMB = tar(plain(*((f"{i}.dat", b"") for i in range(5000))))
BAD = {  # and the words that say why
    "up.tar": (tar(plain(("../graph.nnef", GRAPH))), "'../graph.nnef': not a file beneath"),
    "inner_up.tar": (tar(plain(("a/../../graph.nnef", GRAPH))), "not a file beneath"),
    "absolute.tar": (tar(plain(("/etc/graph.nnef", GRAPH))), "'/etc/graph.nnef': not a file beneath"),
    "twice.tgz": (gzip.compress(tar(plain(("graph.nnef", GRAPH), ("./graph.nnef", PATCH)))), "'graph.nnef' comes twice"),
    "big.tar": (big(), "has 7516192768 bytes, and the archive may hold"),
    "big.tgz": (gzip.compress(big()), "has 7516192768 bytes, and the archive may hold"),
    "symbolic.tar": (tar(links(tarfile.SYMTYPE)), "'w.dat' is no plain file"),
    "hard.tar": (tar(links(tarfile.LNKTYPE)), "'w.dat' is no plain file"),
    "device.tar": (tar(links(tarfile.CHRTYPE)), "'w.dat' is no plain file"),
    "pipe.tar": (tar(links(tarfile.FIFOTYPE, "graph.nnef")), "'graph.nnef' is no plain file"),
    "sparse.tar": (sparse(), "graph.nnef"),
    "cut.tar": (WHOLE[:600], "archive"),
    "cut.tgz": (gzip.compress(WHOLE)[:60], "archive"),
    "sum.tgz": (flipped(ZIPPED, len(ZIPPED) - 8), SUM),
    "length.tgz": (flipped(ZIPPED, len(ZIPPED) - 1), SUM),
    "data.tgz": (flipped(STORED, STORED.index(b"rill_frame")), SUM),
    "padding.tgz": (flipped(STORED, len(STORED) - 100), SUM),
    "rest.tgz": (gzip.compress(WHOLE + bytes(20 << 20)), "more than 16 MiB follow the end of the archive"),
    "many.tgz": (gzip.compress(BOMB), "more than 4096 files and folders"),
    "folders.tgz": (gzip.compress(tar(FOLDERS + plain(("graph.nnef", GRAPH)))), "more than 4096 files and folders"),
    "folder_up.tar": (tar(EVIL + plain(("graph.nnef", GRAPH))), "'../evil/': not a folder beneath"),
    "folder_absolute.tar": (tar([({"name": "/etc", "type": tarfile.DIRTYPE}, b""), *plain(("graph.nnef", GRAPH))]),
                            "'/etc/': not a folder beneath"),
    "rubbish.tgz": (ZIPPED + b"garbage!" * 100, RUBBISH),
    "zeros.tgz": (ZIPPED + bytes(512), RUBBISH),
    "rubbish.tar.bz2": (bz2.compress(WHOLE) + b"garbage!" * 100, RUBBISH),
    "begun.tar.bz2": (bz2.compress(WHOLE) + b"BZh9", RUBBISH),
    "zeros.tar.bz2": (bz2.compress(WHOLE) + bytes(512), RUBBISH),
    "joined.tgz": (gzip.compress(WHOLE[:700]) + gzip.compress(WHOLE[700:]), "several were joined"),
    "cut.tar.bz2": (bz2.compress(RANDOM)[:-40], "archive"),
    "tail.tar.bz2": (bz2.compress(RANDOM)[:-4], "archive"),
    "sum.tar.bz2": (flipped(bz2.compress(RANDOM), -2), "archive"),
    "data.tbz2": (flipped(bz2.compress(RANDOM), 3000), "archive"),
    "big.tar.bz2": (bz2.compress(big()), "has 7516192768 bytes, and the archive may hold"),
    "bomb.tar.bz2": (bz2.compress(tar(plain(("graph.nnef", bytes(32 << 20))))), "has 33554432 bytes, and the archive may hold"),
    "rest.tar.bz2": (bz2.compress(WHOLE + bytes(20 << 20)), "more than 16 MiB follow the end of the archive"),
    "up.tar.bz2": (bz2.compress(tar(plain(("../graph.nnef", GRAPH)))), "'../graph.nnef': not a file beneath"),
    "symbolic.tar.bz2": (bz2.compress(tar(links(tarfile.SYMTYPE))), "'w.dat' is no plain file"),
    "beside.tar": (tar(plain(("a/net/graph.nnef", GRAPH), ("README.md", b"x"))),
                   "'a/net/graph.nnef' is there, but other files lie beside its folder"),
    "two.tar": (tar(plain(("a/b/graph.nnef", GRAPH), ("a/c/graph.nnef", GRAPH))), "'a/b/graph.nnef' is there, but other files"),
    "empty.tar": (b"", ""),
    "zeros.tar": (bytes(10240), "graph.nnef"),
    "text.tar": (GRAPH, "archive cannot be read"),
    "zip.tgz": (b"PK\3\4" + bytes(600), "archive cannot be read"),
    "other.tar.xz": (WHOLE, "archives of this kind are not read; .tar, .tar.gz, .tgz and .tar.bz2 are, and the folder that it unpacks to"),
    "none.tar": (tar(plain(("other.txt", b"x"))), "graph.nnef: the archive holds no such file"),
    "weights.tar": (tar(plain(("graph.nnef", PATCH))), "w.dat"),
}

with tempfile.TemporaryDirectory() as root:
    want = inspect(FOLDER)
    check(want[0] == 0, want)
    files = [(n, open(os.path.join(FOLDER, n), "rb").read()) for n in sorted(os.listdir(FOLDER))]
    folder = [({"name": "./", "type": tarfile.DIRTYPE}, b"")]
    for name, data in {
        "pax.nnef.tar": tar(plain(*files)),
        "gnu.tar": tar(folder + plain(*(("./" + n, d) for n, d in files)), tarfile.GNU_FORMAT),
        "old.tar.gz": gzip.compress(tar(plain(*files), tarfile.USTAR_FORMAT)),
        "folder.tgz": gzip.compress(tar(plain(*(("net/" + n, d) for n, d in files)))),
        "deeper.tgz": gzip.compress(tar(plain(*(("a/b/net/" + n, d) for n, d in files)))),
        "plain.tar.bz2": bz2.compress(tar(plain(*files))),
        "folder.tbz2": bz2.compress(tar(plain(*(("net/" + n, d) for n, d in files)))),
        "joined.tar.bz2": bz2.compress(tar(plain(*files))[:4096]) + bz2.compress(tar(plain(*files))[4096:]),
        "named.tar.gz": bz2.compress(tar(plain(*files))),
        "owner.TAR": tar([({"name": n, "uname": "müller"}, d) for n, d in files]),
        "padded.tgz": gzip.compress(tar(plain(*files)) + bytes(1 << 20)),
        "folders.tar": tar([({"name": ".", "type": tarfile.DIRTYPE}, b""), ({"name": "./a/b/", "type": tarfile.DIRTYPE}, b""),
                            *FOLDERS[:4096 - 2 - len(files)]] + plain(*files)),
        "x.nnef.tgz": gzip.compress(tar(folder + plain(*files))),
    }.items():
        path = os.path.join(root, name)
        open(path, "wb").write(data)
        got = inspect(path)
        check(got[:2] == want[:2], f"{name}: {got}; the folder: {want}")
    for name, (data, words) in BAD.items():
        path = os.path.join(root, name)
        open(path, "wb").write(data)
        status, _, said = inspect(path)
        check(status in (3, 4) and path in said and words in said, f"{name}: {status}, {said!r}; expected {words!r}")
finish()
