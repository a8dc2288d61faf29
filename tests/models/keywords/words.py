# SPDX-License-Identifier: MIT
"""How many of ten words, said by four voices of a speech synthesiser, the ML-KWS nets hear: `words.py RILL`.

Needs flite (Debian), and the nets fetched by `RILL models get ml_kws_gru_s --from DIR` and so on. A word counts as heard
where `RILL keyword` gives it, and as wrong where it gives another one.
"""
import json
import os
import subprocess
import sys
import tempfile
import wave

WORDS = "yes no up down left right on off stop go".split()
VOICES = "awb kal16 rms slt".split()
NETS = "ml_kws_gru_s ml_kws_gru_s_whole ml_kws_lstm_s ml_kws_lstm_s_whole ml_kws_crnn_s ml_kws_ds_cnn_s".split()


def say(folder, voice, word):
    """A second and a half: silence, the word, silence."""
    path = f"{folder}/{voice}_{word}.wav"
    subprocess.run(["flite", "-voice", voice, "-t", word, "-o", path], check=True)
    with wave.open(path) as f:
        params, data = f.getparams(), f.readframes(f.getnframes())
    assert params.framerate == 16000 and params.nchannels == 1
    data = bytes(2 * 4800) + data
    with wave.open(path, "w") as f:
        f.setparams(params)
        f.writeframes(data + bytes(max(0, 2 * 24000 - len(data))))
    return path


def heard(rill, net, path):
    said = subprocess.run([rill, "keyword", "--json", "-m", net, path], check=True, capture_output=True).stdout
    return [k["text"] for k in json.loads(said)["keywords"]]


def main(rill):
    with tempfile.TemporaryDirectory() as folder:
        clips = [(word, say(folder, voice, word)) for voice in VOICES for word in WORDS]
        for net in NETS:
            said = [(word, heard(rill, net, path)) for word, path in clips]
            right = sum(word in words for word, words in said)
            wrong = sum(w != word for word, words in said for w in words)
            print(f"{net}: {right} of {len(clips)} heard, {wrong} wrong words")


os.environ.setdefault("LC_ALL", "C.UTF-8")
main(sys.argv[1])
