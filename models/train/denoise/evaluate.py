#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the tables of MODEL.md: SI-SDR before and after the real tool.

usage: evaluate.py RILL DATA AUDIO MODEL...

RILL: the tool. DATA: the folder that recordings.py filled; '-': the pairs alone are measured.
AUDIO: a folder with pairs/NAME_{clean,mixture}.wav. MODEL: names or folders of models; with
NAME=FOLDER the column is called NAME. Every recording goes through `rill denoise -m MODEL`, which
takes the delay off, so that output and clean recording are compared sample by sample.
NAME=FILE.so is a library of RNNoise 0.1 (the Python package rnnoise-cli has one), fed through
48 kHz.
Where Python has the package pesq, wide-band PESQ (P.862.2) of the pairs is printed as well.
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

import mix
try:
    import pesq
except ImportError:
    pesq = None

RATE = 16000
SNRS = (0, 5, 15)


def wav_write(path, x):
    with wave.open(path, 'wb') as f:
        f.setparams((1, 2, RATE, len(x), 'NONE', ''))
        f.writeframes(np.clip(np.round(x * 32767), -32768, 32767).astype('<i2').tobytes())


def wav_read(path):
    with wave.open(path) as f:
        if (f.getframerate(), f.getnchannels(), f.getsampwidth()) != (RATE, 1, 2):
            sys.exit(f'{path}: not mono at 16 kHz with 16 bits')
        return np.frombuffer(f.readframes(f.getnframes()), '<i2').astype(np.float64) / 32768


def si_sdr(clean, y):
    n = min(len(clean), len(y))
    clean, y = clean[:n], y[:n]
    a = (clean @ y) / (clean @ clean)
    error = y - a * clean
    return 10 * np.log10(a * a * (clean @ clean) / (error @ error + 1e-20) + 1e-20)


class RNNoise:
    """Its library through ctypes: frames of 10 ms at 48 kHz in 16-bit units, one frame late."""
    FRAME, RATE = 480, 48000

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.rnnoise_create.restype = ctypes.c_void_p
        self.lib.rnnoise_process_frame.restype = ctypes.c_float

    def run(self, x):
        up = self.RATE // RATE
        late = 4 * self.FRAME           # of silence: what is late comes out
        pad = np.concatenate([x, np.zeros(-len(x) % self.FRAME + late)])
        wide = self.resample(pad, up * len(pad)).astype(np.float32) * 32768
        state, out = ctypes.c_void_p(self.lib.rnnoise_create(None)), np.empty_like(wide)
        p = ctypes.c_void_p
        for at in range(0, len(wide), self.FRAME):
            self.lib.rnnoise_process_frame(state, p(out[at:].ctypes.data), p(wide[at:].ctypes.data))
        self.lib.rnnoise_destroy(state)
        out = np.concatenate([out[self.FRAME:], np.zeros(self.FRAME)]) / 32768
        return self.resample(out, len(pad))[:len(x)]

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

    def run(self, path):
        """Output of every model for a file."""
        ret = []
        for _, model in self.list:
            if model.endswith('.so'):
                y = np.round(RNNoise(model).run(wav_read(path)) * 32768)
                ret.append(np.clip(y, -32768, 32767) / 32768)
                continue
            out = self.folder + '/out.wav'
            args = [self.rill, 'denoise', '-m', model, path, out]
            if subprocess.run(args, stdout=subprocess.DEVNULL).returncode:
                sys.exit(f'{path}: {self.rill} denoise -m {model} failed')
            ret.append(wav_read(out))
        return ret


def mean_row(rows):
    return [np.mean([r[i] for r in rows]) for i in range(len(rows[0]))]


def row_print(name, first, values, form='%+.2f'):
    print('| %s | %s | %s |' % (name, first, ' | '.join(form % v for v in values)), flush=True)


def head_print(what, models):
    names = ' | '.join(n for n, _ in models.list)
    print('\n| %s | noisy | %s |\n|---|---|%s' % (what, names, '---|' * len(models.list)))


def wide_pesq(clean, y):
    n = min(len(clean), len(y))
    return pesq.pesq(RATE, clean[:n], y[:n], 'wb')


def pairs(models, audio):
    head_print('pair, gain in dB', models)
    rows, opinions = [], []
    for clean in sorted(glob.glob(audio + '/pairs/*_clean.wav')):
        s, noisy = wav_read(clean), clean.replace('_clean', '_mixture')
        x, name = wav_read(noisy), os.path.basename(clean)[:-10]
        outputs = models.run(noisy)
        rows.append([si_sdr(s, y) - si_sdr(s, x) for y in outputs])
        row_print(name, '%+.2f' % si_sdr(s, x), rows[-1])
        if pesq:
            opinions.append((name, wide_pesq(s, x), [wide_pesq(s, y) for y in outputs]))
    row_print('mean', '', mean_row(rows))
    if pesq:
        head_print('pair, PESQ', models)
        for name, before, after in opinions + [('mean', np.mean([o[1] for o in opinions]),
                                                mean_row([o[2] for o in opinions]))]:
            row_print(name, '%.2f' % before, after, '%.2f')


def clean_speech(models, audio, voices):
    head_print('clean speech, output in dB', models)
    with tempfile.TemporaryDirectory() as folder:
        wav_write(folder + '/held-out-voice.wav', voices)
        for path in [audio + '/synth_speech_clean_16k.wav', folder + '/held-out-voice.wav'] + \
                sorted(glob.glob(audio + '/pairs/*_clean.wav')):
            s = wav_read(path)
            row_print(os.path.basename(path)[:-4], '', [si_sdr(s, y) for y in models.run(path)])


def begun_inside(rng, voice, count=40):
    """Recordings of a voice from 50 ms before the loudest sample of a second on, equally loud."""
    long = [a for a in voice if len(a) > 4 * RATE]
    for i in rng.choice(len(long), count, replace=False):
        a = long[i].astype(np.float64) - np.mean(long[i])
        a = a[rng.integers(len(a) - 3 * RATE):]
        a = a[max(0, int(np.argmax(np.abs(a[:RATE]))) - RATE // 20):][:15 * RATE]
        yield a * 0.05 / np.std(a)


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
    total = {snr: [] for snr in SNRS}
    per = {}
    for _ in range(repeats):
        s = mix.utterances(rng, corpus.held_voice, n).astype(np.float64)
        s *= 0.05 / np.std(s)
        for name, v in held_noises(rng, corpus, n).items():
            v = v / np.std(v) * np.std(s)
            for snr in SNRS:
                path = models.folder + '/in.wav'
                x = s + v * 10 ** (-snr / 20)
                wav_write(path, x)
                gains = [si_sdr(s, y) - si_sdr(s, x) for y in models.run(path)]
                total[snr].append(gains)
                per.setdefault((name, snr), []).append(gains)
    head_print('mixtures of a held-out voice, gain in dB', models)
    for (name, snr), rows in per.items():
        if snr == 0:
            row_print(name, '0 dB', mean_row(rows))
    for snr in SNRS:
        row_print('mean', '%d dB' % snr, mean_row(total[snr]))


def check(rill, data, audio):
    """Ends the program before its work where something is missing."""
    clean = glob.glob(audio + '/pairs/*_clean.wav')
    if not clean:
        sys.exit(f'{audio}: no pairs/NAME_clean.wav')
    files = [path.replace('_clean', '_mixture') for path in clean]
    if data != '-':
        files.append(audio + '/synth_speech_clean_16k.wav')
    for path in files:
        if not os.path.exists(path):
            sys.exit(f'{path}: no such file')
    if not shutil.which(rill):
        sys.exit(f'{rill}: no program')


def main(rill, data, audio, names):
    check(rill, data, audio)
    with tempfile.TemporaryDirectory() as folder:
        models = Models(rill, names, folder)
        pairs(models, audio)
        if data == '-':
            return
        corpus = mix.Corpus(data)
        voices = mix.utterances(np.random.default_rng(3), corpus.held_voice, 12 * RATE)
        clean_speech(models, audio, voices * 0.05 / np.std(voices))
        inside_words(models, corpus.held_voice)
        mixtures(models, corpus)


if __name__ == '__main__':
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
