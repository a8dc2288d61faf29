#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Transcribed speech that rill-digits learns from, as one file of 16 kHz clips.

usage: sentences.py ARCHIVES OUT.npz

ARCHIVES has asr-*.tar and manifest-asr.tsv, which says of each recording path, speaker and
transcript. Some sentences of those that are trained on, and strings of WORDS, are spoken here by
flite and espeak-ng too. OUT.npz has the samples one after the other (int16), where each clip
starts, and a key for each, SOURCE/SPEAKER/TEXT:

    SOURCE  a folder of the archives, or synth
    TEXT    lower case, a to z and ' and single spaces; - where nobody knows what was read (names
            that may be spelt, house numbers)
"""
import glob
import io
import os
import random
import re
import sys
import tarfile

import numpy as np
import soundfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import arrays                                                        # noqa: E402
import corpus                                                        # noqa: E402
from corpus import RATE                                              # noqa: E402
from vocabulary import WORDS                                         # noqa: E402

HELD_OUT_EACH = 12                      # every twelfth speaker of a source is kept for the test
SPOKEN = 2                              # sentences and strings of each synthetic voice, each
VOICES = 160


def text_of(path, transcript):
    """What was said, or - ."""
    if '/names/' in path:
        return '-'
    if re.search(r'\d', transcript):
        digits = re.sub(r'\D', '', transcript)
        return ' '.join(corpus.WORDS[int(d)] for d in digits) if '/numbers/' in path else '-'
    return ' '.join(re.sub(r"[^a-z' ]", ' ', transcript.lower()).split()) or '-'


def manifest(folder):
    """{path: (source, speaker, text)}"""
    with open(f'{folder}/manifest-asr.tsv', encoding='utf-8') as f:
        head = f.readline().rstrip('\n').split('\t')
        rows = [dict(zip(head, line.rstrip('\n').split('\t'))) for line in f]
    return {r['path']: (r['path'].split('/')[0], r['speaker'], text_of(r['path'], r['transcript']))
            for r in rows}


def recordings(folder):
    rows = manifest(folder)
    for path in sorted(glob.glob(f'{folder}/asr-*.tar')):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name in rows:
                    data = archive.extractfile(member).read()
                    samples, rate = soundfile.read(io.BytesIO(data), dtype='int16')
                    if rate != RATE:
                        samples = corpus.resample(samples, rate)
                    yield rows[member.name], samples


def synthetic_voice(rng):
    if rng.random() < 0.2:
        return corpus.Flite(rng.choice(corpus.FLITE), rng.uniform(0.8, 1.25))
    return corpus.Espeak(rng.choice(corpus.ACCENTS), rng.choice(corpus.VARIANTS),
                         rng.randint(120, 220), rng.randint(15, 85))


def spoken(texts, rng):
    """Sentences and strings of WORDS by synthetic voices."""
    for _ in range(VOICES):
        voice = synthetic_voice(rng)
        for _ in range(SPOKEN):
            for text in (rng.choice(texts), ' '.join(rng.choices(WORDS, k=rng.randint(1, 6)))):
                yield ('synth', voice.name, text), corpus.said(voice, text)


def held_out(clips):
    """The speakers that are kept for the test: (source, speaker)"""
    ret = set()
    for source in sorted({s for s, _, _, _ in clips} - {'synth'}):
        speakers = sorted({speaker for s, speaker, _, _ in clips if s == source})
        ret |= {(source, speaker) for speaker in speakers[HELD_OUT_EACH // 2::HELD_OUT_EACH]}
    return ret


def load(path):
    """[(source, speaker, text, samples)]"""
    keys, start, samples = arrays.load(path, 'keys', 'start', 'samples')
    return [(*k.split('/', 2), samples[start[i]:start[i + 1]]) for i, k in enumerate(keys)]


def main(folder, out):
    items = list(recordings(folder))
    print(f'{len(items)} recordings', flush=True)
    shelf = [(*key, x) for key, x in items]
    out_of = held_out(shelf)
    texts = sorted({t for s, speaker, t, _ in shelf
                    if (s, speaker) not in out_of and t != '-' and 3 <= len(t.split()) <= 20})
    items += spoken(texts, random.Random(4))
    corpus.save(out, [('/'.join(key), x) for key, x in items])


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
