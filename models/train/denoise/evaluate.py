#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the tables of docs/quality.md: what denoisers make of recordings that are known clean.

usage: evaluate.py [--draw SEED COUNT] RILL DATA AUDIO MODEL...

--draw: only COUNT mixtures of held-out speakers and noises, of another draw than SEED 13.
RILL: the tool. DATA: the folder that recordings.py filled; '-': only what AUDIO has.
AUDIO: a folder with pairs/NAME_{clean,mixture}.wav, synth_speech_{clean,pink_snr5}_48k.wav and, if
wanted, speech/NAME.wav of people without added noise. MODEL: names or folders of models; with
NAME=FOLDER the column is called NAME. Every recording goes through `rill denoise -m MODEL`, which
takes the delay off, so that output and clean recording are compared sample by sample.
NAME=FILE.so is a library of RNNoise (the Python packages rnnoise-cli and pyrnnoise have one), fed
through 48 kHz.
Of each recording and denoiser: SI-SDR, speech removed (measures.py), and where Python has the
packages, PESQ, STOI and DNSMOS.
"""
import ctypes
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import wave

import numpy as np

import measures
import mix
from measures import si_sdr

RATE = 16000
SNRS = (0, 5, 15)


def wav_write(path, x):
    with wave.open(path, 'wb') as f:
        f.setparams((1, 2, RATE, len(x), 'NONE', ''))
        f.writeframes(np.clip(np.round(x * 32767), -32768, 32767).astype('<i2').tobytes())


def wav_read(path, rate=RATE):
    with wave.open(path) as f:
        if (f.getframerate(), f.getnchannels(), f.getsampwidth()) != (rate, 1, 2):
            sys.exit(f'{path}: not mono at {rate} Hz with 16 bits')
        return np.frombuffer(f.readframes(f.getnframes()), '<i2').astype(np.float64) / 32768


class RNNoise:
    """Its library through ctypes: frames of 10 ms at 48 kHz in 16-bit units. By how many samples it is
    late differs from one release to the next: where what comes out is most like what went in."""
    FRAME, RATE = 480, 48000

    def __init__(self, path):
        self.lib = ctypes.CDLL(os.path.abspath(path) if os.path.exists(path) else path)
        self.lib.rnnoise_create.restype = ctypes.c_void_p
        self.lib.rnnoise_process_frame.restype = ctypes.c_float

    def run(self, x, rate):
        up = self.RATE // rate
        late = 4 * self.FRAME           # of silence: what is late comes out
        pad = np.concatenate([x, np.zeros(-len(x) % self.FRAME + late)])
        wide = self.resample(pad, up * len(pad)).astype(np.float32) * 32768
        state, out = ctypes.c_void_p(self.lib.rnnoise_create(None)), np.empty_like(wide)
        p = ctypes.c_void_p
        for at in range(0, len(wide), self.FRAME):
            self.lib.rnnoise_process_frame(state, p(out[at:].ctypes.data), p(wide[at:].ctypes.data))
        self.lib.rnnoise_destroy(state)
        return self.resample(np.roll(out, -self.delay(wide, out)) / 32768, len(pad))[:len(x)]

    def delay(self, x, y):
        """Whole frames, less than four, but for a sample: voices are like themselves elsewhere, too."""
        like = np.fft.irfft(np.fft.rfft(y) * np.fft.rfft(x).conj(), len(x))
        near = [at + by for at in range(0, 4 * self.FRAME, self.FRAME) for by in (-1, 0, 1)]
        return max(near, key=lambda at: like[at])

    @staticmethod
    def resample(x, n):
        """Between rates of which one divides the other: the spectrum is cut or filled up."""
        spec = np.zeros(n // 2 + 1, complex)
        k = min(len(x), n) // 2
        spec[:k] = np.fft.rfft(x)[:k]
        return np.fft.irfft(spec, n) * n / len(x)


class Models:
    def __init__(self, rill, args, folder):
        self.rill, self.folder = rill, folder
        self.list = [a.split('=', 1) if '=' in a else [os.path.basename(a.rstrip('/')), a]
                     for a in args]

    def run(self, path, rate=RATE):
        """Output of every model for a file."""
        ret = []
        for _, model in self.list:
            if model.endswith('.so'):
                y = np.round(RNNoise(model).run(wav_read(path, rate), rate) * 32768)
                ret.append(np.clip(y, -32768, 32767) / 32768)
                continue
            out = self.folder + '/out.wav'
            args = [self.rill, 'denoise', '-m', model, path, out]
            if subprocess.run(args, stdout=subprocess.DEVNULL).returncode:
                sys.exit(f'{path}: {self.rill} denoise -m {model} failed')
            ret.append(wav_read(out, rate))
        return ret


def mean_row(rows):
    return [np.mean([r[i] for r in rows]) for i in range(len(rows[0]))]


def row_print(name, first, values, form='%+.2f'):
    print('| %s | %s | %s |' % (name, first, ' | '.join(form % v for v in values)), flush=True)


def head_print(what, models):
    names = ' | '.join(n for n, _ in models.list)
    print('\n| %s | noisy | %s |\n|---|---|%s' % (what, names, '---|' * len(models.list)))


class Scores:
    """Of recordings: what each measure says of the noisy one and of every output."""
    MEASURES = (('SI-SDR, dB', si_sdr, '%.2f'),
                ('PESQ, wide band', measures.pesq, '%.2f'),
                ('STOI', lambda s, y: measures.stoi(s, y, RATE), '%.3f'),
                ('DNSMOS, speech', lambda s, y: measures.dnsmos(y, 0), '%.2f'),
                ('DNSMOS, overall', lambda s, y: measures.dnsmos(y, 2), '%.2f'),
                ('speech removed, %', lambda s, y: 100 * measures.removed(s, y), '%.1f'))

    def __init__(self):
        self.rows = {title: [] for title, _, _ in self.MEASURES}

    def add(self, name, clean, noisy, outputs):
        for title, measure, _ in self.MEASURES:
            self.rows[title].append((name, [measure(clean, y) for y in [noisy] + outputs]))

    def print(self, what, models, each=True, noisy=True):
        """Of all recordings, or of each kind by name, and the mean. What is worst is of the change
        from the noisy recording, or where there is none, of the outputs."""
        for title, _, form in self.MEASURES:
            rows = self.rows[title]
            if rows[0][1][0] is None:
                continue
            head_print(f'{what}: {title}', models)
            first = lambda x: form % x if noisy else ''
            for name in dict.fromkeys(name for name, _ in rows) if each else ():
                row = mean_row([v for other, v in rows if other == name])
                row_print(name, first(row[0]), row[1:], form)
            mean = mean_row([v for _, v in rows])
            row_print('mean', first(mean[0]), mean[1:], form)
            all_ = np.array([np.array(v[1:]) - (v[0] if noisy else 0) for _, v in rows])
            worst = all_.max(0) if title.startswith('speech') else all_.min(0)
            row_print('worst change' if noisy else 'worst', '', worst,
                      form.replace('%', '%+', 1) if noisy else form)


def pairs(models, audio):
    scores = Scores()
    for clean in sorted(glob.glob(audio + '/pairs/*_clean.wav')):
        noisy = clean.replace('_clean', '_mixture')
        scores.add(os.path.basename(clean)[:-10], wav_read(clean), wav_read(noisy), models.run(noisy))
    scores.print('pairs', models)


def clean_speech(models, audio, voices):
    head_print('clean speech, output in dB', models)
    with tempfile.TemporaryDirectory() as folder:
        wav_write(folder + '/held-out-voice.wav', voices)
        for path in [audio + '/synth_speech_clean_16k.wav', folder + '/held-out-voice.wav'] + \
                sorted(glob.glob(audio + '/pairs/*_clean.wav')):
            s = wav_read(path)
            row_print(os.path.basename(path)[:-4], '', [si_sdr(s, y) for y in models.run(path)])


def begun_inside(rng, voice, count=24):
    """Recordings of a voice from 50 ms before the loudest sample of a second on, equally loud."""
    long = [a for a in voice if len(a) > 4 * RATE]
    for i in rng.choice(len(long), count, replace=False):
        a = long[i].astype(np.float64) - np.mean(long[i])
        a = a[rng.integers(len(a) - 3 * RATE):]
        a = a[max(0, int(np.argmax(np.abs(a[:RATE]))) - RATE // 20):][:15 * RATE]
        yield a * 0.05 / np.std(a)


ABOVE_HZ = 150


def people(models, audio):
    """Recordings without added noise: what comes out beside what went in, as it is and filtered."""
    files = sorted(glob.glob(audio + '/speech/*.wav'))
    if not files:
        return
    clean = [wav_read(path) for path in files]
    outputs = [models.run(path) for path in files]
    part = lambda x: measures.above(x, RATE, ABOVE_HZ)
    for what, measure, form in (
            ('output in dB', si_sdr, '%.1f'),
            (f'above {ABOVE_HZ} Hz, in dB', lambda s, y: si_sdr(part(s), part(y)), '%.1f'),
            ('speech removed, %', lambda s, y: 100 * measures.removed(s, y), '%.1f')):
        head_print('people without added noise: ' + what, models)
        rows = [[measure(s, y) for y in out] for s, out in zip(clean, outputs)]
        for path, row in zip(files, rows):
            row_print(os.path.basename(path)[:-4], '', row, form)
        row_print('median of %d' % len(rows), '', np.median(rows, axis=0), form)


def inside_words(models, voice):
    head_print('clean speech that begins inside a word, output in dB', models)
    rows = []
    for s in begun_inside(np.random.default_rng(5), voice):
        path = models.folder + '/in.wav'
        wav_write(path, s)
        rows.append([si_sdr(s, y) for y in models.run(path)])
    row_print('mean of %d recordings' % len(rows), '', mean_row(rows))
    for part in (10, 50):
        row_print('%d %% are below' % part, '', np.percentile(rows, part, axis=0))


def held_noises(rng, corpus, n):
    white = rng.standard_normal(n)
    f = np.maximum(np.arange(n // 2 + 1), 1)
    ret = {'white': white, 'pink': np.fft.irfft(np.fft.rfft(white) / np.sqrt(f), n)}
    for name, a in corpus.held_noise:
        if len(a) > 3 * RATE:
            ret[name] = mix.piece(rng, a, n)
    return ret


def mixtures(models, corpus, repeats=3):
    """A voice and noises that training never saw."""
    rng = np.random.default_rng(11)
    n = 6 * RATE
    scores = {snr: Scores() for snr in SNRS}
    for _ in range(repeats):
        s = mix.utterances(rng, corpus.held_voice, n).astype(np.float64)
        s *= 0.05 / np.std(s)
        for v in held_noises(rng, corpus, n).values():
            mixed(models, scores, s, v)
    for snr in SNRS:
        scores[snr].print(f'mixtures of a held-out voice, {snr} dB', models, each=False)


def mixed(models, scores, s, v):
    v = v / np.std(v) * np.std(s)
    for snr in SNRS:
        path = models.folder + '/in.wav'
        x = s + v * 10 ** (-snr / 20)
        wav_write(path, x)
        scores[snr].add('', s, x, models.run(path))


def held_pairs(corpus, seed, count):
    """Speakers and noises of other sources that training leaves out, each pair once."""
    noises = [a for _, a in corpus.held_recorded if len(a) > 3 * RATE]
    noises += [a for _, a in corpus.held_noise if len(a) > 9 * RATE]
    voices = corpus.held_speakers
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(voices)), rng.permutation(len(noises))
    for i in range(count):
        yield rng, voices[order[0][i % len(voices)]], noises[order[1][i % len(noises)]]


def by_others(models, corpus, seed=13, count=24):
    """Mixtures of speakers and noises that training never heard, and the speech alone."""
    n = 6 * RATE
    scores, alone = {snr: Scores() for snr in SNRS}, Scores()
    for rng, voice, noise in held_pairs(corpus, seed, count):
        s = mix.utterances(rng, voice, n).astype(np.float64)
        s *= 0.05 / np.std(s)
        mixed(models, scores, s, mix.piece(rng, noise, n).astype(np.float64) + 1e-3)
        path = models.folder + '/in.wav'
        wav_write(path, s)
        alone.add('', s, s, models.run(path))
    for snr in SNRS:
        what = f'{count} mixtures of held-out speakers and noises, {snr} dB'
        scores[snr].print(what, models, each=False)
    alone.print(f'{count} held-out speakers without noise', models, each=False, noisy=False)


FULL_BAND = (48000, ((0, 8000), (8000, 12000), (12000, 24000)))


def full_band(models, audio):
    """SI-SDR of what lies between two frequencies, at 48 kHz."""
    rate, bands = FULL_BAND
    paths = [f'{audio}/synth_speech_{name}_48k.wav' for name in ('clean', 'pink_snr5')]
    clean, noisy = (wav_read(path, rate) for path in paths)
    outputs = models.run(paths[1], rate)
    head_print('48 kHz: SI-SDR, dB', models)
    for low, high in bands:
        part = lambda x: measures.band(x, rate, low, high)
        values = [si_sdr(part(clean), part(y)) for y in [noisy] + outputs]
        row_print('%d to %d kHz' % (low // 1000, high // 1000), '%.2f' % values[0], values[1:], '%.2f')


def check(rill, data, audio, names):
    """Ends the program before its work where something is missing."""
    clean = glob.glob(audio + '/pairs/*_clean.wav')
    if not clean:
        sys.exit(f'{audio}: no pairs/NAME_clean.wav')
    files = [path.replace('_clean', '_mixture') for path in clean]
    files += [f'{audio}/synth_speech_{name}.wav' for name in ('clean_48k', 'pink_snr5_48k')]
    if data != '-':
        files.append(audio + '/synth_speech_clean_16k.wav')
        if not os.path.isdir(data):
            sys.exit(f"{data}: no folder; recordings.py fills it, '-' does without")
        files += [f'{data}/{bank}.npz' for bank in mix.BANKS]
    for path in files:
        if not os.path.exists(path):
            by = '; recordings.py writes it' if path.endswith('.npz') else ''
            sys.exit(f'{path}: no such file{by}')
    if not shutil.which(rill):
        sys.exit(f'{rill}: no program')
    for path in (name.split('=', 1)[-1] for name in names):
        if path.endswith('.so'):
            try:
                RNNoise(path)
            except (OSError, AttributeError) as why:
                sys.exit(f'{path}: no library of RNNoise: {why}')


def main(rill, data, audio, names, draw=None):
    check(rill, data, audio, names)
    with tempfile.TemporaryDirectory() as folder:
        models = Models(rill, names, folder)
        if draw:
            return by_others(models, mix.Corpus(data), *draw)
        pairs(models, audio)
        full_band(models, audio)
        people(models, audio)
        if data == '-':
            return
        corpus = mix.Corpus(data)
        by_others(models, corpus)
        voices = mix.utterances(np.random.default_rng(3), corpus.held_voice, 12 * RATE)
        clean_speech(models, audio, voices * 0.05 / np.std(voices))
        inside_words(models, corpus.held_voice)
        mixtures(models, corpus)


if __name__ == '__main__':
    args, draw = sys.argv[1:], None
    if args[:1] == ['--draw'] and len(args) > 3 and args[1].isdigit() and args[2].isdigit():
        draw, args = (int(args[1]), int(args[2])), args[3:]
    if len(args) < 4 or args[0] == '--draw' or (draw and (not draw[1] or args[1] == '-')):
        sys.exit(__doc__)
    main(*args[:3], args[3:], draw)
