#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The recordings that rill-digits learns from, as one file of 16 kHz clips.

usage: corpus.py DIGITS.tar SOUNDS OUT.npz

DIGITS.tar (.gz, .xz) is the Free Spoken Digit Dataset: DIGIT_SPEAKER_INDEX.wav or .flac in some
folder. SOUNDS has the G.722 files of Debian's asterisk-core-sounds-en-g722, -es-g722 and -fr-g722
beneath it, and the texts of the English ones (asterisk-core-sounds-en). Everything else is spoken
here by flite, festival and espeak-ng. OUT.npz has the samples one
after the other (int16), where each clip starts, and a key for each:

    SET/SPEAKER/DIGITS/N        SET: fsdd, prompt, synth (a digit); string, fluent (several);
                                other, words (none,
                                DIGITS is -; words are for the test alone)
"""
import glob
import gzip
import hashlib
import io
import lzma
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import wave

import numpy as np
import soundfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import arrays                                                        # noqa: E402
from vocabulary import DIGITS as WORDS                               # noqa: E402

RATE = 16000
# Of names and samples of the 3000 recordings of the Free Spoken Digit Dataset (six speakers).
DIGITS_SHA256 = 'c508ca40e62214f8ea81451ff705df6e9a68265da606e26d5455a6a8d1e5bf81'

# Synthetic voices that no training utterance uses.
HELD_OUT_VARIANTS = ['f4', 'm7', 'klatt2', 'linda', 'john', 'travis']
HELD_OUT_FESTIVAL = 'ked_diphone'

LIKE_DIGITS = re.compile(
    r'\d|\[|\b(zero|oh|o|one|won|two|to|too|three|four|for|five|six|seven|eight|ate|nine|none|'
    r'hundred)\b|teen\b|ty\b', re.I)
LEAST_ENGLISH, MOST_ENGLISH = 3200, 56000       # bytes of a prompt; a second is 8000

FLITE = ['kal16', 'awb', 'rms', 'slt']
ACCENTS = ['en-us', 'en-us', 'en-gb', 'en-gb-scotland', 'en-gb-x-rp', 'en-029', 'en-gb-x-gbclan',
           'en-gb-x-gbcwmd']
VARIANTS = '''m1 m2 m3 m4 m5 m6 m8 f1 f2 f3 f5 klatt klatt3 klatt4 Alex Alicia Andrea Andy Annie
Denis Diogo Gene Gene2 Henrique Hugo Jacky Lee Marco Mario Michael Mike Nguyen adam anika antonio
aunty belinda benjamin boris caleb david ed edward grandma grandpa gustave iven kaukovalta marcelo
max michel miguel norbert pablo paul pedro quincy rob robert sandro shelby steph victor
zac'''.split()

# English digits as a foreigner reads them, spelt for the foreign voice.
FOREIGN = {
    'de': 'siero wann tuh srih fohr feif sicks sewwen eht nein',
    'fr': 'ziro ouanne tou sri fore faïve sixe sévène éïte naïne',
    'es': 'sirou uan tu zri for faif siks seven eit nain',
    'it': 'siro uan tu tri for faiv sics seven eit nain',
}

# No digit, nothing that sounds like one, but close enough to confuse.
OTHERS = '''yes no stop go left right up down on off hello thanks computer please volume music
lights kitchen window weather today tomorrow morning evening paper water river mountain garden
people money house school letter number minute second hour week month year north south east west
red green blue yellow black white open close start finish begin next back again never always maybe
better system engine steven heaven given wander under order border sister mixer fixed final mine
line time side find light night fight fall floor door more store free tree see tea tool food rule
zebra
hero nearly really'''.split()


def decode_g722(paths):
    """int16 samples at RATE of each file, in order."""
    with tempfile.TemporaryDirectory() as folder:
        args = ['ffmpeg', '-v', 'error']
        for path in paths:
            args += ['-f', 'g722', '-i', path]
        for i in range(len(paths)):
            args += ['-map', f'{i}', '-f', 's16le', f'{folder}/{i}']
        subprocess.run(args, check=True)
        return [np.fromfile(f'{folder}/{i}', np.int16) for i in range(len(paths))]


def resample(x, rate):
    """x at another rate to RATE, through its spectrum."""
    n = -(-len(x) // 512) * 512
    m = round(n * RATE / rate / 2) * 2
    spec = np.fft.rfft(x.astype(np.float64), n)
    out = np.zeros(m // 2 + 1, complex)
    k = min(len(out), len(spec))
    out[:k] = spec[:k]
    y = np.fft.irfft(out, m) * (m / n)
    return np.clip(y[:round(len(x) * RATE / rate)], -32768, 32767).astype(np.int16)


def wav_read(path):
    with wave.open(path) as f:
        x = np.frombuffer(f.readframes(1 << 28), np.int16)
        return x if f.getframerate() == RATE else resample(x, f.getframerate())


def trim(x, pad=320):
    """Without the silence around it: what is 30 dB below the loudest 10 ms."""
    n = len(x) // 160
    level = np.sqrt((x[:n * 160].astype(np.float64).reshape(n, 160) ** 2).mean(1))
    loud = np.nonzero(level > 0.03 * level.max())[0]
    return x[max(0, loud[0] * 160 - pad):(loud[-1] + 1) * 160 + pad] if len(loud) else x


# ---- who speaks ----

def fsdd(path):
    try:
        with tarfile.open(path) as tar:
            files = {m.name: tar.extractfile(m).read() for m in tar
                     if m.isfile() and m.name.endswith(('.flac', '.wav'))}
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as why:
        sys.exit(f'{path}: {why}')
    digest, clips = hashlib.sha256(), []
    for base in sorted((os.path.basename(name).rsplit('.', 1)[0], name) for name in files):
        if base[0].count('_') != 2:
            sys.exit(f'{path}: {base[1]} is not DIGIT_SPEAKER_INDEX')
        digit, speaker, index = base[0].split('_')
        samples, rate = soundfile.read(io.BytesIO(files[base[1]]), dtype='int16')
        digest.update(base[0].encode() + samples.astype('<i2').tobytes())
        clips.append((f'fsdd/{speaker}/{digit}/{index}', resample(samples, rate)))
    if digest.hexdigest() != DIGITS_SHA256:
        sys.exit(f'{path}: {len(clips)} recordings, but not those that are expected '
                 f'({digest.hexdigest()})')
    return clips


def prompts(folder):
    paths, keys = [], []
    for path in sorted(glob.glob(f'{folder}/**/sounds/*/**/*.g722', recursive=True)):
        where, name = path.rsplit('/sounds/', 1)[1].split('/', 1)
        name = name[:-5]
        if where.startswith('en_') and name in [f'digits/{d}' for d in range(10)]:
            keys.append(f'prompt/allison/{name[-1]}/0')
        elif where[:3] in ('es_', 'fr_') and '/' not in name and os.path.getsize(path) < 8000 * 4:
            keys.append(f'other/{where}/-/{name}')
        else:
            continue
        paths.append(path)
    for i in range(0, len(paths), 50):
        for key, samples in zip(keys[i:], decode_g722(paths[i:i + 50])):
            yield key, trim(samples)


def english_texts(folder):
    """name -> what the English voice says, where no word is a digit or sounds like one."""
    for path in glob.glob(f'{folder}/**/core-sounds-en.txt.gz', recursive=True):
        with gzip.open(path, 'rt') as f:
            said = [line.rstrip('\n').split(': ', 1) for line in f if ': ' in line]
        return {name: text for name, text in said if not LIKE_DIGITS.search(text)}
    sys.exit(f'{folder}: no core-sounds-en.txt.gz')


def english_prompts(folder, texts):
    paths = {}
    for path in glob.glob(f'{folder}/**/en_*/*.g722', recursive=True):
        if LEAST_ENGLISH < os.path.getsize(path) < MOST_ENGLISH:
            paths[os.path.basename(path)[:-5]] = path
    names = sorted(set(paths) & set(texts))
    for i in range(0, len(names), 50):
        for name, samples in zip(names[i:], decode_g722([paths[n] for n in names[i:i + 50]])):
            yield f'words/allison/-/{name}', trim(samples)


def words_without_digits(folder):
    """English without digits, by the voice of the prompts and by synthetic ones that training does
    not hear."""
    texts, rng = english_texts(folder), random.Random(3)
    yield from english_prompts(folder, texts)
    short = sorted(set(t for t in texts.values() if len(t) < 70))
    for voice in held_out_voices(rng):
        for i in range(12):
            yield f'words/{voice.name}/-/{i}', said(voice, rng.choice(short))


class Flite:
    def __init__(self, voice, stretch):
        self.name, self.voice, self.stretch = f'flite_{voice}', voice, stretch

    def say(self, text, path):
        subprocess.run(['flite', '-voice', self.voice, '--setf',
                        f'duration_stretch={self.stretch:.2f}', '-t', text,
                        '-o', path], check=True)


class Festival:
    def __init__(self, voice):
        self.name, self.voice = f'festival_{voice}', voice

    def say(self, text, path):
        subprocess.run(['text2wave', '-eval', f'(voice_{self.voice})', '-o', path],
                       input=text.encode(), check=True)


class Espeak:
    words = WORDS

    def __init__(self, accent, variant, speed, pitch):
        self.name = f'espeak_{accent}+{variant}_{speed}_{pitch}'
        self.args = ['-v', f'{accent}+{variant}', '-s', str(speed), '-p', str(pitch)]
        if accent in FOREIGN:
            self.words = FOREIGN[accent].split()

    def say(self, text, path):
        subprocess.run(['espeak-ng', *self.args, '-w', path, text], check=True)


def said(voice, text):
    with tempfile.TemporaryDirectory() as folder:
        voice.say(text, f'{folder}/say.wav')
        return trim(wav_read(f'{folder}/say.wav'))


def spoken(voice, rng, n_strings, n_others=0):
    """Each digit, strings of digits with and without a breath between, and words that are none."""
    words = getattr(voice, 'words', WORDS)
    for digit in range(10):
        yield f'synth/{voice.name}/{digit}/0', said(voice, words[digit])
        mark = rng.choice(['?', '!', ','])
        yield f'synth/{voice.name}/{digit}/1', said(voice, words[digit] + mark)
    for i in range(n_strings):
        digits = [rng.randrange(10) for _ in range(rng.randint(2, 7))]
        text = (' ' if i % 2 else ', ').join(words[d] for d in digits)
        yield f'string/{voice.name}/{"".join(map(str, digits))}/{i}', said(voice, text)
    for i in range(n_others):
        text = ' '.join(rng.sample(OTHERS, rng.randint(1, 6)))
        yield f'other/{voice.name}/-/{i}', said(voice, text)


def fluent(voice, rng, n_strings):
    """Strings in one breath, or in two."""
    words = getattr(voice, 'words', WORDS)
    for i in range(n_strings):
        digits = [rng.randrange(10) for _ in range(rng.randint(2, 7))]
        breath = rng.randrange(len(digits))
        text = ''.join(words[d] + (', ' if k == breath else ' ') for k, d in enumerate(digits))
        yield f'fluent/{voice.name}/{"".join(map(str, digits))}/{i}', said(voice, text)


def fluent_voices(rng):
    for name in FLITE:
        for stretch in (0.75, 0.9, 1.05, 1.2):
            yield Flite(name, stretch), 14
    for _ in range(60):
        yield Espeak(rng.choice(ACCENTS), rng.choice(VARIANTS), rng.randint(120, 240),
                     rng.randint(15, 85)), 9


def voices(rng):
    """(voice, strings, others) of all synthetic speakers, those held out last."""
    for name in FLITE:
        for stretch in (0.8, 1.0, 1.25):
            yield Flite(name, stretch), 16, 4
    for _ in range(70):
        yield Espeak(rng.choice(ACCENTS), rng.choice(VARIANTS), rng.randint(110, 220),
                     rng.randint(15, 85)), 8, 4
    for _ in range(14):
        yield Espeak(rng.choice(sorted(FOREIGN)), rng.choice(VARIANTS), rng.randint(110, 190),
                     rng.randint(20, 80)), 6, 0
    for voice in held_out_voices(rng):
        yield voice, 8, 0


def held_out_voices(rng):
    yield Festival(HELD_OUT_FESTIVAL)
    for variant in HELD_OUT_VARIANTS:
        yield Espeak(rng.choice(ACCENTS), variant, rng.randint(120, 190), rng.randint(25, 75))


def held_out_synth(speaker):
    return (speaker.startswith('festival_') or
            speaker.split('_')[1].split('+')[-1] in HELD_OUT_VARIANTS)


# ---- the file ----

def save(path, items):
    keys = [k for k, _ in items]
    start = np.cumsum([0] + [len(x) for _, x in items])
    arrays.save(path, keys=np.array(keys), start=start,
                samples=np.concatenate([x for _, x in items]))
    print(f'{path}: {len(keys)} clips, {start[-1] / RATE / 60:.1f} minutes')


def load(path):
    """[(set, speaker, digits, index, samples)]"""
    keys, start, samples = arrays.load(path, 'keys', 'start', 'samples')
    return [(*k.split('/', 3), samples[start[i]:start[i + 1]]) for i, k in enumerate(keys)]


def check(sounds):
    """Ends the program before its work where something is missing."""
    for program in ('ffmpeg', 'flite', 'text2wave', 'espeak-ng'):
        if not shutil.which(program):
            sys.exit(f'{program}: not installed')
    for lang in ('en', 'es', 'fr'):
        if not glob.glob(f'{sounds}/**/sounds/{lang}_*/**/*.g722', recursive=True):
            sys.exit(f'{sounds}: nothing of asterisk-core-sounds-{lang}-g722')
    english_texts(sounds)


def main(tar, sounds, out):
    check(sounds)
    rng = random.Random(1)
    items = fsdd(tar) + list(prompts(sounds))
    print(f'{len(items)} recordings', flush=True)
    for voice, n_strings, n_others in voices(rng):
        items += spoken(voice, rng, n_strings, n_others)
    rng = random.Random(2)
    for voice, n_strings in fluent_voices(rng):
        items += fluent(voice, rng, n_strings)
    save(out, items + list(words_without_digits(sounds)))


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
