# SPDX-License-Identifier: MIT
"""A recording with pauses of digital silence, long enough for the rules of endpoints; hotwords, n-grams and pieces of the folders' tokens."""
import os
import wave

PIECES = [("tests/models/transducer/audio.wav", 0, 41600), (None, 0, 64000), ("examples/audio/noisy.wav", 20000, 80000), (None, 0, 32000),
          ("examples/audio/digits.wav", 0, 60000), (None, 0, 24000), ("tests/models/transducer/audio.wav", 0, 41600)]
HOTWORDS = "THE LAING\nONE :3.0\nIT\nHE LARA\nTEED IT\nA\n"
SMALLER = [("ONE", "ONS"), ("IT", "TE"), ("HE", "LA")]        # of folders without these tokens

LM = """\\data\\
ngram 1=10
ngram 2=6
ngram 3=3

\\1-grams:
-99 <s> -0.4
-1.2 </s>
-2.5 <unk>
-0.9 \u2581HE -0.5
-1.1 \u2581IT -0.3
-0.8 ED -0.2
-1.4 \u2581ON -0.1
-1.6 \u2581SU
-1.3 \u2581A -0.25
-1.9 ING

\\2-grams:
-0.3 <s> ED -0.2
-0.4 \u2581HE ED -0.15
-1.0 \u2581HE \u2581HE -0.3
-0.6 ED \u2581IT
-0.5 \u2581IT ED -0.1
-0.7 ED \u2581HE

\\3-grams:
-0.2 \u2581HE ED \u2581IT
-0.9 \u2581HE \u2581HE ED
-0.5 <s> ED \u2581HE

\\end\\
"""


def gaps_write(source, path):
    with wave.open(path, "wb") as out:
        out.setparams((1, 2, 16000, 0, "NONE", None))
        for name, start, end in PIECES:
            if not name:
                out.writeframes(bytes(2 * (end - start)))
                continue
            with wave.open("%s/%s" % (source, name)) as f:
                assert f.getframerate() == 16000 and f.getnchannels() == 1, name
                f.setpos(start)
                out.writeframes(f.readframes(end - start))


def of_folder(text, folder):
    """Hotwords or n-grams in the tokens of a folder."""
    if "zipformer2" not in folder:
        for old, new in SMALLER:
            text = text.replace("THE", "\0").replace(old, new).replace("\0", "THE")
    return text


def pieces_write(path):
    """Scores of tokens, as a sentencepiece vocabulary has them."""
    if os.path.exists(path + "/bpe.vocab"):
        return
    with open(path + "/tokens.txt", encoding="utf-8") as f:
        names = [line.split()[0] for line in f]
    with open(path + "/bpe.vocab", "w", encoding="utf-8") as f:
        f.writelines("%s\t%.3f\n" % (name, -0.5 * (i + 1)) for i, name in enumerate(names))
