# SPDX-License-Identifier: MIT
"""rill models get of a recogniser: networks by their checksums, sizes that are only about known, a tokens.txt without a checksum that
has to fit and is pinned; what is not right is refused by name, and what was there stays. get.py RILL SOURCE"""
import hashlib, http.server, os, shutil, subprocess, sys, tarfile, tempfile, threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))
from counted import check, finish

RILL, SOURCE = sys.argv[1:3]
WAV = SOURCE + "/tests/models/transducer/audio.wav"
NETS = {r: r + ".onnx" for r in ("encoder", "decoder", "joiner")}
GRAPH = SOURCE + "/models/library/zipformer-en/graph.nnef"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def entry_write(tmp, port, sums=None, about=1.0):
    """The library's entry with networks of the test's folder; its graph is that of zipformer-en."""
    folder = tmp + "/library/tiny"
    os.makedirs(folder, exist_ok=True)
    with open(GRAPH) as f:
        graph = f.read().replace("encoder.int8.onnx", NETS["encoder"]).replace("-1, 512", "-1, 32")
    with open(folder + "/graph.nnef", "w") as f:
        f.write(graph)
    with open(folder + "/model.conf", "w") as f:
        f.write("[model]\ntask = transcribe\nsample_rate = 16000\nlicence = MIT\nsummary = a test\n[input.pcm]\nkind = audio\n")
        f.write("[output.encoder_out]\nkind = transducer\ndecoder = %(decoder)s\njoiner = %(joiner)s\ntokens = tokens.txt\nbeam = 1\n" % NETS)
        for name in (*NETS.values(), "tokens.txt"):
            with open(tmp + "/served/" + name, "rb") as net:
                data = net.read()
            f.write("[weights.%s]\nurl = http://127.0.0.1:%d/%s\nabout_bytes = %d\n" % (name, port, name, len(data) * about))
            if name != "tokens.txt":
                f.write("sha256 = %s\n" % (sums or {}).get(name, hashlib.sha256(data).hexdigest()))
    return folder


def get(tmp):
    env = dict(os.environ, RILL_LIBRARY=tmp + "/library", XDG_DATA_HOME=tmp + "/data", RILL_TEST_ALLOW_HTTP="1", no_proxy="127.0.0.1")
    r = subprocess.run([RILL, "models", "get", "-q", "tiny"], capture_output=True, text=True, env=env, timeout=120)
    return r.returncode, r.stdout + r.stderr


def there(tmp):
    folder = tmp + "/data/rill/models/tiny"
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def tokens_write(tmp, lines):
    with open(tmp + "/served/tokens.txt", "w", encoding="utf-8") as f:
        f.writelines(lines)


def cases(tmp, port, tokens):
    entry_write(tmp, port, {NETS["joiner"]: "0" * 63 + "1"})
    code, said = get(tmp)
    with open(tmp + "/served/" + NETS["joiner"], "rb") as f:
        words = "/%s: its SHA-256 is %s, not the one model.conf names, " % (NETS["joiner"], hashlib.sha256(f.read()).hexdigest())
    check(code == 3 and words + "0" * 63 + "1; not kept" in said and not there(tmp),
          "a wrong sum: " + said)
    entry_write(tmp, port, about=0.4)
    code, said = get(tmp)
    check(code == 3 and "larger than the" in said and not there(tmp), "more than twice as large as stated: " + said)
    tokens_write(tmp, tokens[:15])
    entry_write(tmp, port)
    code, said = get(tmp)
    check(code == 3 and "does not open with these weights" in said and "22 columns" in said and not there(tmp), "tokens that do not fit: " + said)
    tokens_write(tmp, tokens)
    entry_write(tmp, port, about=0.6)
    code, said = get(tmp)
    folder = tmp + "/data/rill/models/tiny"
    with open(folder + "/model.conf") as f:
        pinned = f.read()
    with open(tmp + "/served/tokens.txt", "rb") as f:
        check(code == 0 and hashlib.sha256(f.read()).hexdigest() in pinned, "pinned: " + said + pinned[-200:])
    by_entry = subprocess.run([RILL, "transcribe", "-m", folder, WAV], capture_output=True, text=True)
    by_folder = subprocess.run([RILL, "transcribe", "-m", tmp + "/zipformer2", WAV], capture_output=True, text=True)
    check(by_entry.returncode == 0 and by_entry.stdout == by_folder.stdout and len(by_entry.stdout) > 20,
          "the entry says what the folder says: %s %s" % (by_entry, by_folder))
    before = there(tmp)
    tokens_write(tmp, tokens[:-1] + ["OTHER 21\n"])
    code, said = get(tmp)
    check(code == 3 and "/tokens.txt: its SHA-256 is " in said and there(tmp) == before, "another tokens.txt than at first: " + said)
    tokens_write(tmp, tokens)
    code, said = get(tmp)
    check(code == 0, "the same again: " + said)


with tempfile.TemporaryDirectory() as tmp:
    with tarfile.open(HERE + "/zipformer2.tar.xz") as t:
        t.extractall(tmp)
    os.mkdir(tmp + "/served")
    for name in NETS.values():
        shutil.copy(tmp + "/zipformer2/" + name.replace(".", "-epoch-99-avg-1-chunk-16-left-64."), tmp + "/served/" + name)
    shutil.copy(tmp + "/zipformer2/tokens.txt", tmp + "/served")
    with open(tmp + "/served/tokens.txt", encoding="utf-8") as f:
        tokens = f.readlines()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Quiet(*a, directory=tmp + "/served"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cases(tmp, server.server_port, tokens)
    server.shutdown()
finish()
