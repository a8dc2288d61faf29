# SPDX-License-Identifier: MIT
"""rill wer: counts beside a count of changes written here on random texts; normalisation, lines, folders.
wer.py RILL"""
import json, os, random, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from counted import check, finish

RILL = sys.argv[1]


def wer(tmp, ref, hyp, *opts):
    for name, text in (("ref", ref), ("hyp", hyp)):
        with open(os.path.join(tmp, name), "w", encoding="utf-8") as f:
            f.write(text)
    r = subprocess.run([RILL, "wer", "--json", *opts, tmp + "/ref", tmp + "/hyp"], capture_output=True, text=True)
    return json.loads(r.stdout) if r.returncode == 0 else r.stderr


def errors_of(c):
    return c["insertions"] + c["deletions"] + c["substitutions"]


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        new = [i + 1]
        for j, y in enumerate(b):
            new.append(min(row[j] + (x != y), row[j + 1] + 1, new[j] + 1))
        row = new
    return row[-1]


NORMAL = [
    ("Hello, World!", "hello world", 0), ("it's", "it’s", 0), ("it's", "its", 1), ("'quoted'", "quoted", 0), ("a-b", "a b", 0),
    ("ÄPFEL ÉTÉ", "äpfel été", 0), ("ПРИВЕТ ЁЖ", "привет ёж", 0), ("ΑΒΓ", "αβγ", 0), ("«oui»  non…", "oui non", 0),
    ("ŁÓDŹ", "łódź", 0), ("你好。", "你好", 0), ("", "one two", 2), ("one two", "", 2), ("", "", 0), ("20 %", "20", 0),
]

with tempfile.TemporaryDirectory() as tmp:
    rng = random.Random(5)
    for _ in range(40):
        a, b = ([rng.choice("abcd") for _ in range(rng.randrange(12))] for _ in range(2))
        c = wer(tmp, " ".join(a), " ".join(b))
        check(errors_of(c) == distance(a, b) and c["words"] == len(a), "%s %s %s" % (a, b, c))
        check(c["deletions"] - c["insertions"] == len(a) - len(b), "%s %s: lengths %s" % (a, b, c))
    for ref, hyp, errors in NORMAL:
        c = wer(tmp, ref, hyp)
        check(errors_of(c) == errors, "%r %r: %s" % (ref, hyp, c))
    check(errors_of(wer(tmp, "The cat.", "the cat", "--raw")) == 2, "--raw")
    check(wer(tmp, "你好吗", "你号吗", "--chars") | {"files": 0, "name": 0} ==
          {"wer": 1 / 3, "words": 3, "insertions": 0, "deletions": 0, "substitutions": 1, "files": 0, "name": 0} or
          abs(wer(tmp, "你好吗", "你号吗", "--chars")["wer"] - 1 / 3) < 1e-6, "--chars")
    c = wer(tmp, "u1 the cat\nu2 a dog\n", "u2 a dog\nu1 the bat\n", "--lines")
    check(errors_of(c) == 1 and [f["name"] for f in c["files"]] == ["u1", "u2"], "--lines: %s" % c)
    os.mkdir(tmp + "/r")
    os.mkdir(tmp + "/h")
    for path, text in (("r/a.txt", "one two"), ("r/b.txt", "three"), ("r/c.txt", "four"), ("h/a.txt", "one to"), ("h/b.json", '{"text": "three"}')):
        with open(os.path.join(tmp, path), "w") as f:
            f.write(text)
    r = subprocess.run([RILL, "wer", tmp + "/r", tmp + "/h"], capture_output=True, text=True)
    check(r.returncode == 0 and " 50.00 %       4 words      0 ins      1 del      1 sub  total" in r.stdout, "folders: " + r.stdout)
    check(not r.stderr, "folders: " + r.stderr)
    for name in ("h/d.txt", "h/e.json", "h/notes.md", "h/.hidden.txt"):
        with open(os.path.join(tmp, name), "w") as f:
            f.write("five")
    more = subprocess.run([RILL, "wer", tmp + "/r", tmp + "/h"], capture_output=True, text=True)
    check(more.returncode == 0 and more.stdout == r.stdout and more.stderr == "".join("rill wer: '%s' is not in REF and left out\n" % n for n in
                                                                                     ("d.txt", "e.json")), "without REF: " + more.stderr)
    for text in ("caf\xe9".encode("latin-1"), "cat".encode("utf-16"), b"\xed\xa0\x80", b"a\0b"):
        with open(tmp + "/r/b.txt", "wb") as f:
            f.write(b"one\n" + text)
        r = subprocess.run([RILL, "wer", tmp + "/r", tmp + "/h"], capture_output=True, text=True)
        check(r.returncode == 3 and "/r/b.txt: line 2 is not text in UTF-8" in r.stderr, "%s: %d %s" % (text, r.returncode, r.stderr))
    r = subprocess.run([RILL, "wer", tmp + "/r", tmp + "/ref"], capture_output=True, text=True)
    check(r.returncode == 3 and "two files or two folders" in r.stderr, "a file and a folder: " + r.stderr)
    r = subprocess.run([RILL, "wer", tmp + "/absent", tmp + "/ref"], capture_output=True, text=True)
    check(r.returncode == 4 and "absent: No such file" in r.stderr, "absent: " + r.stderr)
finish()
