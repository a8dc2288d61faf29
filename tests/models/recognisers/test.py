# SPDX-License-Identifier: MIT
"""Folders of recognisers as sherpa-onnx has them, exported with random weights by icefall's own code (zipformer2.py): the tokens and
times of sherpa-onnx (expected.json, by reference.py), the law of streams, the daemon; what does not fit together is refused by name.
test.py RILL RILLD SOURCE"""
import json, os, re, shutil, subprocess, sys, tarfile, tempfile, wave

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from counted import check, finish
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gaps import HOTWORDS, LM, gaps_write, of_folder, pieces_write

RILL, RILLD, SOURCE = (os.path.abspath(a) for a in sys.argv[1:4])
HERE = os.path.dirname(os.path.abspath(__file__))
SILENT = ("<blk>", "<sos/eos>", "<unk>")
WAV = SOURCE + "/tests/models/transducer/audio.wav"


def run(*args):
    r = subprocess.run(args, capture_output=True, text=True, timeout=600)
    return r.returncode, r.stdout + r.stderr


def file_write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def output_of(folder):
    return "log_probs" if "ctc" in folder else "encoder_out"


def conf_of(case):
    """A token is a word here: the folder's own model.conf goes before what is found out."""
    lines = ["[recogniser]", "precision = " + case["form"]]
    lines += ["joiner = " + case["joiner"]] if "joiner" in case else []
    lines += ["[output.%s]" % output_of(case["folder"]), "units = words", "max_tokens = 4096", "beam = %d" % case["beam"]]
    lines += [] if "texts" in case else ["rule1_ms = 0", "rule2_ms = 0"]
    lines += ["%s = %s" % (k, case[k]) for k in ("hotwords_score", "blank_penalty", "lm_scale", "rule1_ms", "rule2_ms", "rule3_ms") if k in case]
    lines += ["hotwords = hotwords.txt"] if "hotwords_score" in case else []
    lines += ["lm = lm.arpa"] if "lm_scale" in case else []
    return "\n".join(lines) + "\n"


def texts_of(path, case, audio):
    """Length of the recording, and the tokens, times and probabilities of each text; None: it was refused."""
    file_write(path + "/hotwords.txt", of_folder(HOTWORDS, case["folder"]))
    file_write(path + "/lm.arpa", of_folder(LM, case["folder"]))
    file_write(path + "/model.conf", conf_of(case))
    r = subprocess.run([RILL, "transcribe", "--json", "-m", path, audio], capture_output=True, text=True, timeout=600)
    os.remove(path + "/model.conf")
    os.remove(path + "/hotwords.txt")
    os.remove(path + "/lm.arpa")
    if r.returncode:
        return r.stderr, None
    said = json.loads(r.stdout)
    return said["audio_s"], [[(w["text"].replace("\u2581", " ").strip(), round(w["start_s"], 3), w["confidence"]) for w in s["words"]]
                             for s in said["segments"]]


def differ(got, wanted):
    """Where two lists begin to differ, in words; None: nowhere."""
    for i in range(max(len(got), len(wanted))):
        if got[i:i + 1] != wanted[i:i + 1]:
            return "from number %d on %s instead of %s" % (i, got[i:i + 5], wanted[i:i + 5])
    return None


def written(tokens):
    return [k.strip() for k in tokens if k not in SILENT]


def wrong_in(case, length_s, texts):
    if texts is None:
        return length_s
    if "texts" in case:
        return differ([[k for k, *_ in t] for t in texts], [written(t) for t in case["texts"]])
    got = [x for t in texts for x in t]
    if "times" not in case:
        return differ([k for k, *_ in got], written(case["tokens"]))
    last_s = length_s - 0.04      # what is said behind the recording stands in its last frame
    wanted = [(k.strip(), min(t, last_s)) for k, t in zip(case["tokens"], case["times"]) if k not in SILENT]
    return differ([(k, min(t, last_s)) for k, t, _ in got], wanted) or unsure(case, [p for *_, p in got])


def unsure(case, got):
    """Where probabilities of tokens are others than sherpa-onnx's, of whose case they are known; None: nowhere."""
    wanted = [p for k, p in zip(case["tokens"], case.get("probs", [])) if k not in SILENT]
    return differ([i for i, (p, q) in enumerate(zip(got, wanted)) if abs(p - q) > 1e-3], [])


def tokens_check(tmp):
    gaps_write(SOURCE, tmp + "/gaps.wav")
    with open(HERE + "/expected.json", encoding="utf-8") as f:
        for case in json.load(f):
            pieces_write(os.path.join(tmp, case["folder"]))
            audio = tmp + "/gaps.wav" if case["audio"] == "gaps" else SOURCE + "/" + case["audio"]
            wrong = wrong_in(case, *texts_of(os.path.join(tmp, case["folder"]), case, audio))
            check(not wrong, "%s: %s" % ({k: v for k, v in case.items() if not isinstance(v, list)}, wrong))


# ---- what is refused: how a folder is spoiled, and words of the error ----


def name_of(path, start):
    return next(os.path.join(path, n) for n in sorted(os.listdir(path)) if n.startswith(start) and "int8" not in n)


def remove(start):
    def spoil(path):
        for n in os.listdir(path):
            if n.startswith(start):
                os.remove(os.path.join(path, n))
    return spoil


def swap(path):
    for n in list(os.listdir(path)):
        if "int8" in n:
            os.remove(os.path.join(path, n))
    e, d = name_of(path, "encoder"), name_of(path, "decoder")
    os.rename(e, path + "/kept")
    os.rename(d, e)
    os.rename(path + "/kept", d)


def foreign(path):
    remove("joiner")(path)
    shutil.copy(SOURCE + "/tests/models/transducer/joiner.onnx", path)


def cut(path):
    with open(name_of(path, "encoder"), "r+b") as f:
        f.truncate(300000)


def tokens_cut(path):
    with open(path + "/tokens.txt", encoding="utf-8") as f:
        lines = f.readlines()
    file_write(path + "/tokens.txt", "".join(lines[:15]))


def tokens_more(path):
    with open(path + "/tokens.txt", "a", encoding="utf-8") as f:
        f.write("MORE 22\n")


def tokens_hole(path):
    with open(path + "/tokens.txt", encoding="utf-8") as f:
        lines = f.readlines()
    file_write(path + "/tokens.txt", "".join(lines[:7] + lines[8:]))


def tokens_swapped(path):
    """NUMBER TOKEN."""
    with open(path + "/tokens.txt", encoding="utf-8") as f:
        file_write(path + "/tokens.txt", "".join(" ".join(reversed(line.split())) + "\n" for line in f))


LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"


def pointer(path):
    file_write(name_of(path, "encoder"), LFS)


def hotwords(text, beam=4):
    def spoil(path):
        file_write(path + "/hot.txt", text)
        file_write(path + "/model.conf", "[output.encoder_out]\nhotwords = hot.txt\nbeam = %d\n" % beam)
    return spoil


def lm(text):
    def spoil(path):
        file_write(path + "/lm.arpa", text)
        file_write(path + "/model.conf", "[output.encoder_out]\nlm = lm.arpa\nbeam = 4\n")
    return spoil


def conf_names(line):
    return lambda path: file_write(path + "/model.conf", "[recogniser]\n%s\n" % line)


SPOILED = [
    (remove("decoder"), "its decoder is missing: expected a file decoder*.onnx"),
    (remove("joiner"), "its joiner is missing: expected a file joiner*.onnx"),
    (remove("joiner"), "decoders of whole utterances (Whisper, paraformer, Moonshine that does not stream) are not taken"),
    (remove("encoder"), "its encoder is missing: expected a file encoder*.onnx"),
    (remove("tokens"), "there is no graph.nnef; as a recogniser: tokens.txt is missing: expected encoder*.onnx"),
    (swap, "encoder-epoch-99-avg-1-chunk-16-left-64.onnx: its metadata have no model_type; encoders that are known: zipformer2"),
    (foreign, "joiner.onnx takes frames of 24 numbers, and encoder-epoch-99-avg-1-chunk-16-left-64.onnx gives 32"),
    (cut, "encoder-epoch-99-avg-1-chunk-16-left-64.onnx: it is damaged or no ONNX file"),
    (tokens_cut, "tokens.txt names 15 tokens, and joiner-epoch-99-avg-1-chunk-16-left-64.onnx gives 22 scores"),
    (tokens_more, "tokens.txt names 23 tokens, and joiner-epoch-99-avg-1-chunk-16-left-64.onnx gives 22 scores"),
    (conf_names("encoder = absent.onnx"), "absent.onnx: No such file"),
    (conf_names("encoder = ../x.onnx"), "'../x.onnx': not a file beneath the model's folder"),
    (lambda path: file_write(path + "/model.conf", "[output.encoder_out]\nhotwords = hot.txt\n"), "hot.txt: No such file"),
    (hotwords("THE LAING\nQUARK\n"), "hotwords, line 2: 'QUARK' cannot be written in the tokens of this model"),
    (hotwords("THE :x\n"), "hotwords, line 1: expected a number after ':'"),
    (hotwords("THE\n", beam=1), "hotwords and lm need a beam of 2 or more; it is 1"),
    (lm(LM.replace("ING", "WRONG")), "lm, line 16: 'WRONG' is no token of this model"),
    (lm(LM[:-7]), "expected \\end\\: the file is cut off"),
    (lm(LM.replace("ngram 2=6", "ngram 2=5")), "more n-grams than \\data\\ says"),
    (lm("text\n"), "expected \\data\\, as in an ARPA file"),
    (lm(LM.replace("-0.6 ED", "x ED")), "lm, line 22: expected a logarithm"),
    (tokens_hole, "tokens.txt names 7 tokens, and joiner-epoch-99-avg-1-chunk-16-left-64.onnx gives 22 scores: token 7 has no name, or they are not"),
    (tokens_swapped, "tokens.txt, line 1: '0 <blk>'; expected TOKEN NUMBER in each line, as '<blk> 0'"),
    (pointer, "encoder-epoch-99-avg-1-chunk-16-left-64.onnx: it is a pointer of Git LFS"),
    (lambda path: file_write(path + "/tokens.txt", LFS), "tokens.txt: it is a pointer of Git LFS of 64 bytes"),
    (lambda path: file_write(name_of(path, "joiner-e"), LFS), "joiner-epoch-99-avg-1-chunk-16-left-64.onnx: it is a pointer of Git LFS"),
    (lambda path: file_write(path + "/model.conf", "[model]\nsample_rate = 0\n"), "model.conf:2: [model] sample_rate: '0' is not a value for it"),
    (lambda path: file_write(path + "/model.conf", "[model]\nsample_rate = 8000\n"), "model.conf: sample_rate is 8000; features of recognisers are those of 16000"),
    (conf_names("precision = q4"), "model.conf: precision is 'q4'; expected f32, int8 or fp16"),
    (conf_names("codec = x"), "model.conf:2: unknown key 'codec'"),
    (conf_names("network = encoder-epoch-99-avg-1-chunk-16-left-64.onnx"),
     "tokens.txt names 22 tokens, and encoder-epoch-99-avg-1-chunk-16-left-64.onnx gives 32 scores"),
]


def spoiled_check(tmp):
    for i, (spoil, words) in enumerate(SPOILED):
        path = "%s/spoiled%d" % (tmp, i)
        shutil.copytree(tmp + "/zipformer2", path)
        spoil(path)
        code, said = run(RILL, "transcribe", "-m", path, WAV)
        check(code and words in said, "%s: %d %s" % (words, code, said))


def sizes_check(tmp):
    """Sizes of caches that NeMo's metadata are to state."""
    path = tmp + "/nemo-cut"
    shutil.copytree(tmp + "/nemo-ctc", path)
    net = next(os.path.join(path, n) for n in os.listdir(path) if n.endswith(".onnx"))
    with open(net, "rb") as f:
        whole = f.read()
    for key in ("cache_last_%s_dim%d" % (c, i) for c in ("channel", "time") for i in (1, 2, 3)):
        with open(net, "wb") as f:
            f.write(whole.replace(key.encode(), key[:-1].encode() + b"x"))
        code, said = run(RILL, "transcribe", "-m", path, WAV)
        check(code == 3 and "its metadata have no '%s'" % key in said and "memory" not in said, "%s: %d %s" % (key, code, said))


def normal_check(tmp):
    """Exports say in three ways that features are not normalised."""
    path = tmp + "/nemo-normal"
    shutil.copytree(tmp + "/nemo-ctc", path)
    os.remove(path + "/model.int8.onnx")
    with open(path + "/model.onnx", "rb") as f:
        whole = f.read()
    _, plain = run(RILL, "transcribe", "-m", path, WAV)
    for word, refused in ((b"None", False), (b"NA", False), (b"per_feature", True)):
        field = b"\n\x0enormalize_type\x12"
        with open(path + "/model.onnx", "wb") as f:
            f.write(with_meta(whole, field + bytes([0]), field + bytes([len(word)]) + word))
        code, said = run(RILL, "transcribe", "-m", path, WAV)
        check(said == plain and not code if not refused else code == 3 and "normalised (per_feature)" in said, "%s: %d %s" % (word, code, said))


def with_meta(net, old, new):
    """One entry of the metadata (field 14 of the model, its length in front) otherwise."""
    return net.replace(b"\x72" + bytes([len(old)]) + old, b"\x72" + bytes([len(new)]) + new, 1)


def nemo_check(tmp):
    """A transducer whose decoder has states: the law of streams; parts that are none of it."""
    code, said = run(RILL, "check", tmp + "/nemo")
    check(code == 0 and "all bits the same" in said, "check of nemo: " + said[-300:])
    other = tmp + "/zipformer2"
    for i, (source, name, words) in enumerate([
            (name_of(other, "decoder"), "decoder.onnx", "decoder.onnx has 1 inputs and 1 outputs; the decoder of a NeMo transducer has a token"),
            (tmp + "/nemo/joiner.onnx", "decoder.onnx", "decoder.onnx has 2 inputs and 1 outputs; the decoder of a NeMo transducer has a token"),
            (tmp + "/nemo/decoder.onnx", "joiner.onnx", "joiner.onnx has 4 inputs and 4 outputs; a joiner has encoder_out"),
            (name_of(other, "joiner"), "joiner.onnx", "joiner.onnx"),
            (tmp + "/nemo/decoder.onnx", "encoder.onnx", "encoder.onnx: its metadata have no model_type"),
            (other + "/tokens.txt", "tokens.txt", "tokens.txt names 22 tokens, and joiner.onnx gives 17 scores")]):
        path = "%s/nemo-spoiled%d" % (tmp, i)
        shutil.copytree(tmp + "/nemo", path)
        shutil.copy(source, path + "/" + name)
        code, said = run(RILL, "transcribe", "-m", path, WAV)
        check(code == 3 and words in said and "memory" not in said, "%s: %d %s" % (words, code, said))


def served(tmp, long):
    conf = tmp + "/table.conf"
    file_write(conf, "[daemon]\nsocket = %s/t\ncontrol_socket = %s/u\n[models]\nmodel_path = %s\npreload = wenet-ctc\ncheck_timeout_s = 300\n" % (tmp, tmp, tmp))
    p = subprocess.Popen([RILLD, "--config", conf], stderr=subprocess.PIPE, text=True)
    for line in p.stderr:
        if " ready: " in line:
            break
    r = subprocess.run([RILL, "stream", "--json", "--socket", tmp + "/t", "-m", "wenet-ctc", long, tmp + "/table.csv"],
                       capture_output=True, text=True, timeout=600)
    p.terminate()
    log = p.communicate()[1]
    heard = json.loads(r.stdout) if r.returncode == 0 else {"heard": []}
    spans = [(s["start_s"], s["end_s"]) for s in heard["heard"]] or [(0, 0)]
    breaks = [b[0] - a[1] for a, b in zip(spans, spans[1:]) if b[0] - a[1] > 0.05]
    check(r.returncode == 0 and spans[-1][1] > 55 and heard["in_samples"] == 15 * 64800 and len(breaks) == 2 and max(breaks) < 1
          and "Gather" not in log, "served: %s %s %s %s" % (r.returncode, r.stderr, spans, log))


def places_check(tmp):
    """wenet's table of places ends within a recording: what was heard before is told."""
    long = tmp + "/long.wav"
    with wave.open(SOURCE + "/examples/audio/digits.wav") as f:
        params, pcm = f.getparams(), f.readframes(f.getnframes())
    with wave.open(long, "wb") as f:
        f.setparams(params)
        f.writeframes(pcm * 15)
    def heard(path, *args):
        r = subprocess.run([RILL, "transcribe", "--json", *args, path], capture_output=True, text=True, timeout=600)
        said = json.loads(r.stdout) if r.stdout else {}
        return r.returncode, r.stderr, said, [(w["text"], round(w["start_s"] * params.framerate), round(w["end_s"] * params.framerate))
                                              for s in said.get("segments", ()) for w in s["words"]]
    code, told, said, words = heard(long, "-m", tmp + "/wenet-ctc")
    afresh = [round(x * params.framerate) for x in said.get("afresh_s", [])]
    check(code == 0 and len(afresh) == 2 and "the network's table of positions ends at 25." in told and "error" not in said
          and words[-1][2] > 52 * params.framerate, "the table's end: %d %s %s" % (code, told, afresh))
    for at in afresh[:1]:     # as if the recording began there
        rest = tmp + "/rest.wav"
        with wave.open(rest, "wb") as f:
            f.setparams(params)
            f.writeframes((pcm * 15)[2 * at:])
        code, _, _, late = heard(rest, "-m", tmp + "/wenet-ctc")
        same = [(t, a + at, b + at) for t, a, b in late]
        check(code == 0 and len(same) > 5 and words[-len(same):] == same and words[-len(same) - 1][1] < at,
              "afresh: %s; %s" % (words[-len(same):][:5], same[:5]))
    # a daemon cannot go back: what the network did not hear is told, and a gap
    served(tmp, long)
    # without endpoints it goes on behind what it heard
    quiet = tmp + "/quiet"
    shutil.copytree(tmp + "/wenet-ctc", quiet)
    file_write(quiet + "/model.conf", "[output.log_probs]\nrule1_ms = 0\nrule2_ms = 0\nrule3_ms = 0\n")
    code, told, said, words = heard(long, "-m", quiet)
    check(code == 0 and all(24 < x - y < 26 for y, x in zip([0] + said["afresh_s"], said["afresh_s"])) and len(said["segments"]) == 3
          and all(a[1] <= b[1] for a, b in zip(words, words[1:])), "without endpoints: %d %s %s" % (code, told, said.get("afresh_s")))


def others_check(tmp):
    """A file that is not taken, whose name has lines of its own."""
    path = tmp + "/lines"
    shutil.copytree(tmp + "/zipformer2", path)
    shutil.copy(name_of(path, "encoder"), path + "/encoder-a\nnonsense.int8.onnx")
    code, said = run(RILL, "inspect", path)
    check(code == 0 and "encoder-epoch-99-avg-1-chunk-16-left-64.int8.onnx is there, too" in said, "a name of two lines: %d %s" % (code, said[:300]))


def alone_check(tmp):
    """One file of several is no recogniser; its folder is."""
    path = tmp + "/zipformer2"
    code, said = run(RILL, "transcribe", "-m", name_of(path, "encoder"), WAV)
    check(code == 3 and said.endswith("; a recogniser is opened by its folder: --model %s/\n" % path), "an encoder alone: %d %s" % (code, said))


# ---- the same in other ways ----


def ways_check(tmp):
    path = tmp + "/zipformer2"
    _, plain = run(RILL, "transcribe", "-m", path, WAV)
    code, said = run(RILL, "check", path)
    check(code == 0 and "all bits the same" in said, "check: " + said[-300:])
    code, said = run(RILL, "inspect", path)
    check("encoder-epoch-99-avg-1-chunk-16-left-64.onnx, f32 (encoder-epoch-99-avg-1-chunk-16-left-64.int8.onnx is there, too)" in said,
          "inspect names the file that is taken: " + said[:300])
    late = re.search(r"the first (\d+)\).*latency (\d+) samples", said, re.S)
    check(late and 2200 <= int(late[2]) <= 2280 and late[1] == late[2], "the first pulse is shorter: " + said[:600])
    code, said = run(RILL, "transcribe", "--json", "-m", path, WAV)
    heard = json.loads(said) if code == 0 else {"late_s": {"most": 9}}
    check(heard["late_s"]["most"] < 0.5 and heard["segments"][0]["words"][0]["start_s"] == 0, "words are told with the pulse that has them: %s" % said[:200])
    for first, words in (("whole", None), ("2000", None), ("5121", "first_pulse is 5121 frames, and a pulse has 5120"), ("0", "first_pulse")):
        file_write(path + "/model.conf", "[model]\nfirst_pulse = %s\n" % first)
        got = run(RILL, "transcribe", "-m", path, WAV)
        check(got == (0, plain) if not words else got[0] and words in got[1], "first_pulse = %s: %s" % (first, got))
    os.remove(path + "/model.conf")
    with tarfile.open(tmp + "/z.tar", "w") as t:
        t.add(path, "zipformer2")
    check(run(RILL, "transcribe", "-m", tmp + "/z.tar", WAV) == (0, plain), "an archive of the folder")
    code, said = run(RILL, "compile", path, "-o", tmp + "/z.rill")
    check(code == 0 and run(RILL, "transcribe", "-m", tmp + "/z.rill", WAV) == (0, plain), "compiled: " + said)
    return plain


def script_check(tmp):
    """bench/recognise.py, by a folder that is named from where one stands; what is refused is said in rill's words."""
    os.mkdir(tmp + "/recordings")
    shutil.copy(WAV, tmp + "/recordings/a.wav")
    file_write(tmp + "/recordings/a.txt", "THE LAING\n")
    for model, folder, fails, words in (("./zipformer2", "recordings", False, "of 2 words ("),
                                        ("./recordings", "recordings", True, "graph.nnef: No such file"),
                                        ("./zipformer2", "./nowhere", True, "nowhere: no folder of recordings")):
        r = subprocess.run([sys.executable, SOURCE + "/bench/recognise.py", model, folder, "--rill", RILL], cwd=tmp, capture_output=True,
                           text=True, timeout=300)
        said = r.stdout + r.stderr
        check(bool(r.returncode) == fails and words in said and "Traceback" not in said, "recognise.py %s: %s" % (model, said))
        if not fails:
            _, heard = run(RILL, "transcribe", "--json", "-m", tmp + "/zipformer2", WAV)
            check("late %(mean).3f s, most %(most).3f s" % json.loads(heard)["late_s"] in said, "recognise.py, late: " + said)


def failing_make(tmp):
    """A transducer whose decoder fails at one token."""
    path, own = tmp + "/fails", SOURCE + "/tests/models/transducer/"
    os.mkdir(path)
    for name in ("graph.nnef", "model.conf", "encoder.onnx", "joiner.onnx", "tokens.txt"):
        shutil.copy(own + name, path)
    shutil.copy(own + "decoder_fails.onnx", path + "/decoder.onnx")
    return path


def fault_check(*args):
    """What was heard before a network failed is told, then which and why."""
    code, said = run(RILL, *args)
    check(code != 0 and "THE LA" in said and
          re.search(r"decoder.onnx: run \d+: node 'embedded' \(Gather\): index 99 is outside an axis of 17", said), said)


def daemon_check(tmp, plain):
    conf = tmp + "/rilld.conf"
    file_write(conf, "[daemon]\nsocket = %s/s\ncontrol_socket = %s/c\n[models]\nmodel_path = %s\npreload = zipformer2\ncheck_timeout_s = 300\n" % (tmp, tmp, tmp))
    p = subprocess.Popen([RILLD, "--config", conf], stderr=subprocess.PIPE, text=True)
    said = ""
    for line in p.stderr:
        said += line
        if " ready: " in line:
            break
    code, heard = run(RILL, "stream", "--socket", tmp + "/s", "-m", "zipformer2", WAV, "-")
    fault_check("stream", "--socket", tmp + "/s", "-m", "fails", WAV, "-")
    fault_check("stream", "--pace", "live", "--socket", tmp + "/s", "-m", "fails", WAV, "-")
    p.terminate()
    said += p.communicate()[1]
    words = plain.split()
    check(code == 0 and all(w in heard for w in words) and len(words) > 5, "daemon: %s %s" % (heard, said))


with tempfile.TemporaryDirectory() as tmp:
    for name in sorted(os.listdir(HERE)):
        if name.endswith(".tar.xz"):
            with tarfile.open(os.path.join(HERE, name)) as t:
                t.extractall(tmp)
    tokens_check(tmp)
    spoiled_check(tmp)
    sizes_check(tmp)
    normal_check(tmp)
    nemo_check(tmp)
    places_check(tmp)
    others_check(tmp)
    alone_check(tmp)
    script_check(tmp)
    fault_check("transcribe", "-m", failing_make(tmp), WAV)
    daemon_check(tmp, ways_check(tmp))
finish()
