# SPDX-License-Identifier: MIT
"""A folder of a streaming Moonshine: `rill transcribe` and the daemon take it as it is; what does not fit together is refused by name.
test.py RILL RILLD SOURCE"""
import json, os, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from counted import check, finish

RILL, RILLD, SOURCE = (os.path.abspath(a) for a in sys.argv[1:4])
HERE = os.path.dirname(os.path.abspath(__file__))
WAV = SOURCE + "/tests/models/transducer/audio.wav"
NETS = ["frontend.onnx", "encoder.onnx", "adapter.onnx", "cross_kv.onnx", "decoder_kv.onnx"]
FILES = NETS + ["streaming_config.json", "tokenizer.bin"]
WORDS = "[output.encoded]\nunits = words\nrule1_ms = 0\nrule2_ms = 0\nrule3_ms = 0\n"


def run(*args):
    r = subprocess.run(args, capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout, r.stderr


def file_write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def file_read(path):
    with open(path, "rb") as f:
        return f.read()


def copied(path):
    os.mkdir(path)
    for name in FILES:
        shutil.copy(os.path.join(HERE, name), path)
    return path


def said_of(sound):
    """The last text of the reference."""
    with open(HERE + "/reference.txt", encoding="utf-8") as f:
        part = next(p for p in f.read().split("\n\n") if p.startswith("sound " + sound))
    return part.rsplit("final ", 1)[1].strip()


def heard_check(tmp):
    path = copied(tmp + "/whole")
    file_write(path + "/model.conf", WORDS)
    for sound in ("tests/models/transducer/audio.wav", "examples/audio/digits.wav"):
        code, out, why = run(RILL, "transcribe", "-m", path, SOURCE + "/" + sound)
        check(code == 0 and out.strip() == said_of(sound), f"{sound}: {code} {out}{why}")
    os.remove(path + "/model.conf")
    code, out, why = run(RILL, "transcribe", "--json", "-m", path, WAV)
    check(code == 0 and json.loads(out)["segments"], f"as it is: {code} {out}{why}")
    code, out, why = run(RILL, "check", path)
    check(code == 0 and "all bits the same" in out + why, f"check: {code} {out}{why}")
    code, out, why = run(RILL, "compile", path, "-o", tmp + "/x.rill")
    check(code and "attention" in why, f"compile: {code} {out}{why}")


# ---- what is refused ----

def remove(name):
    return lambda path: os.remove(path + "/" + name)


def swap(a, b):
    def spoil(path):
        os.rename(path + "/" + a, path + "/kept")
        os.rename(path + "/" + b, path + "/" + a)
        os.rename(path + "/kept", path + "/" + b)
    return spoil


def as_ort(path):
    for name in NETS:
        os.rename(path + "/" + name, path + "/" + name.replace(".onnx", ".ort"))


def config(old, new):
    def spoil(path):
        with open(path + "/streaming_config.json", encoding="utf-8") as f:
            text = f.read()
        assert old in text, old
        file_write(path + "/streaming_config.json", text.replace(old, new, 1))
    return spoil


def tokenizer(change):
    def spoil(path):
        whole = file_read(path + "/tokenizer.bin")
        with open(path + "/tokenizer.bin", "wb") as f:
            f.write(change(whole))
    return spoil


def foreign(name, of):
    return lambda path: shutil.copy(SOURCE + "/" + of, path + "/" + name)


def cut(name):
    def spoil(path):
        whole = file_read(path + "/" + name)
        with open(path + "/" + name, "wb") as f:
            f.write(whole[:len(whole) // 2])
    return spoil


SPOILED = [
    *((remove(n), n + " is missing") for n in FILES),
    (as_ort, "frontend.ort is in the format of ONNX Runtime's own, which is not read; frontend.onnx is"),
    (swap("adapter.onnx", "cross_kv.onnx"), "adapter.onnx has no input 'encoded', which adapter.onnx of a streaming Moonshine has"),
    (swap("encoder.onnx", "decoder_kv.onnx"), "encoder.onnx has no input 'features'"),
    (foreign("decoder_kv.onnx", "tests/models/transducer/decoder.onnx"), "decoder_kv.onnx has no input 'token'"),
    (foreign("encoder.onnx", "tests/models/transducer/encoder.onnx"), "encoder.onnx has no input 'features'"),
    (cut("encoder.onnx"), "encoder.onnx: it is damaged"),
    (cut("decoder_kv.onnx"), "decoder_kv.onnx: it is damaged"),
    (cut("streaming_config.json"), "streaming_config.json:"),
    (config('"encoder_dim": 24', '"encoder_dim": 32'),
     "frontend.onnx: axis 2 of 'features' is 24, and streaming_config.json says encoder_dim 32: they are not of one model"),
    (config('"depth": 2', '"depth": 6'), "cross_kv.onnx: axis 0 of 'k_cross' is 2, and streaming_config.json says depth 6"),
    (config('"head_dim": 16', '"head_dim": 36'), "cross_kv.onnx: axis 4 of 'k_cross' is 16, and streaming_config.json says head_dim 36"),
    (config('"vocab_size": 148', '"vocab_size": 149'), "decoder_kv.onnx: axis 2 of 'logits' is 148, and streaming_config.json says vocab_size 149"),
    (config('"bos_id": 1', '"bos_id": 148'), "streaming_config.json: bos_id is 148 and eos_id 2, of a vocab_size of 148"),
    (config('"bos_id": 1,', ''), "streaming_config.json has no 'bos_id'"),
    (config('"eos_id": 2', '"eos_id": "2"'), "streaming_config.json: 'eos_id' is no whole number from 0 to 65535"),
    (config('"depth": 2', '"depth": -2'), "streaming_config.json: 'depth' is no whole number from 1 to 256"),
    (tokenizer(lambda b: b[:-1]), "tokenizer.bin: token 147 is cut off: the file ends in it"),
    (tokenizer(lambda b: b[:-132]), "tokenizer.bin has only 147 tokens, and streaming_config.json says vocab_size 148"),
    (tokenizer(lambda b: b + b"\x01x"), "tokenizer.bin has more than 148 tokens, and streaming_config.json says vocab_size 148"),
    (tokenizer(lambda b: b""), "tokenizer.bin has only 0 tokens"),
    (tokenizer(lambda b: b[:-132] + bytes([128, 2]) + b"z" * 256), "tokenizer.bin: token 147 is longer than 255 bytes"),
]


def spoiled_check(tmp):
    for i, (spoil, words) in enumerate(SPOILED):
        path = copied(f"{tmp}/spoiled{i}")
        spoil(path)
        code, out, why = run(RILL, "transcribe", "-m", path, WAV)
        check(code and not out and words in why, f"{words}: {code} {out}{why}")


def bytes_check(tmp):
    """Tokens of several bytes that are no text by themselves are no mistake."""
    path = copied(tmp + "/bytes")
    tokenizer(lambda b: b.replace(b"\x01\xc3", b"\x03\xc3\xc3\n", 1))(path)
    code, out, why = run(RILL, "transcribe", "-m", path, WAV)
    check(code == 0 and out, f"bytes: {code} {out}{why}")


def conf_check(tmp):
    """What model.conf says of the sink."""
    for i, (line, words) in enumerate([
            ("adapter = cross_kv.onnx", "cross_kv.onnx has no input 'encoded'"),
            ("decoder = adapter.onnx", "adapter.onnx has no input 'token'"),
            ("decoder = absent.onnx", "absent.onnx: No such file"),
            ("eos = 400", "eos 400; decoder_kv.onnx has scores of 148 tokens"),
            ("update_frames = 0", "update_frames: '0' is not a value for it")]):
        path = copied(f"{tmp}/conf{i}")
        file_write(path + "/model.conf", "[output.encoded]\n" + line + "\n")
        code, out, why = run(RILL, "transcribe", "-m", path, WAV)
        check(code and words in why, f"{line}: {code} {out}{why}")


def daemon_check(tmp):
    """As fast as a file comes the texts are those of the tool; a live stream is refused."""
    path = tmp + "/served"
    os.mkdir(path)
    file_write(copied(path + "/moon") + "/model.conf", WORDS)
    file_write(tmp + "/d.conf", "[daemon]\nsocket = %s/s\ncontrol_socket = %s/c\n[models]\nmodel_path = %s\npreload = moon\n"
               "check_timeout_s = 120\n" % (tmp, tmp, path))
    p = subprocess.Popen([RILLD, "--config", tmp + "/d.conf"], stderr=subprocess.PIPE, text=True)
    for line in p.stderr:
        if " ready: " in line:
            break
    code, out, why = run(RILL, "stream", "--json", "--socket", tmp + "/s", "-m", "moon", WAV, tmp + "/heard.csv")
    texts = [h["text"] for h in json.loads(out)["heard"]] if code == 0 else None
    check(texts and " ".join(texts) == said_of("tests/models/transducer/audio.wav"), f"served: {code} {out}{why}")
    code, out, why = run(RILL, "stream", "--pace", "live", "--socket", tmp + "/s", "-m", "moon", WAV, tmp + "/live.csv")
    check(code and "model 'moon' has an attention decoder" in why and "pace FILE" in why, f"live: {code} {out}{why}")
    p.terminate()
    p.communicate()


with tempfile.TemporaryDirectory() as tmp:
    heard_check(tmp)
    daemon_check(tmp)
    bytes_check(tmp)
    spoiled_check(tmp)
    conf_check(tmp)
finish()
