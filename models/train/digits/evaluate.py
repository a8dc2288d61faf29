#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the table of MODEL.md: what `rill transcribe` makes of strings of digits.

usage: evaluate.py CORPUS.npz SENTENCES.npz FOLDER RILL MODEL [OPTION...]

Writes the strings as WAV files to FOLDER/SET (they depend on the two files alone) and has RILL (the
tool) transcribe them with MODEL (the folder); options go to the tool. An error is a digit too many,
too few or wrong.
"""
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys
import wave

import numpy as np

import corpus
import mix
import sentences
from net import distance

JOBS = 8                                # recordings that are transcribed at once
STRINGS = 150                           # of each set
CLIPS = 8                               # in a recording without digits
STRING_SETS = ('held_out', 'spoken', 'seen', 'synth', 'synth_fluent')
OTHER_SETS = ('sentences', 'prompts', 'synth_words', 'alone')   # alone: a sentence a recording
GAP = (0.0, 0.35)                       # seconds between two digits
SNRS = (None, 10, 0)                    # dB over the whole string; None: as recorded


def groups(path, said_path):
    """name -> speaker -> digit -> clips, or a list of (digits, clip) of strings spoken as such."""
    held, seen, synth, spoken = {}, {}, {}, []
    for kind, speaker, digits, index, x in corpus.load(path):
        if kind == 'fsdd':
            where = held if speaker in mix.HELD_OUT else seen
            if where is held or int(index) < mix.TEST_INDEX:
                where.setdefault(speaker, {}).setdefault(int(digits), []).append(x)
        elif kind in ('synth', 'string') and corpus.held_out_synth(speaker):
            if kind == 'synth':
                synth.setdefault(speaker, {}).setdefault(int(digits), []).append(x)
            else:
                spoken.append(([int(d) for d in digits], x))
    strings = mix.sorted_out(said_path, True)['strings']
    said = [(digits, x) for x, digits, _, text in strings if len(digits) == len(text.split())]
    return {'held_out': held, 'spoken': said, 'seen': seen, 'synth': synth, 'synth_fluent': spoken}


def string(rng, group, number):
    """(digits, samples at 16 kHz)"""
    if isinstance(group, list):
        digits, x = group[number % len(group)]
        parts = [mix.level(x / 32768, 0.1)]
    else:
        speaker = group[sorted(group)[number % len(group)]]
        digits = [int(d) for d in rng.integers(0, 10, rng.integers(1, 8))]
        parts = []
        for d in digits:
            takes = speaker[d]
            parts.append(mix.level(takes[rng.integers(len(takes))] / 32768, 0.1))
            parts.append(np.zeros(int(corpus.RATE * rng.uniform(*GAP))))
    ends = [np.zeros(int(corpus.RATE * rng.uniform(0.1, 0.5))) for _ in range(2)]
    return digits, np.concatenate([ends[0], *parts, ends[1]])


def noisy(rng, x, snr, voices):
    """Noise of the training's kinds, all of it below 4 kHz."""
    n = len(x) // 2 + 1
    y = corpus.resample(mix.noise(rng, n, voices) * 3000, mix.RATE)[:len(x)].astype(float)
    y = np.resize(y, len(x))
    return x + mix.level(y, 1.0) * np.sqrt(np.mean(x * x)) * 10 ** (-snr / 20)


def wav_write(path, x):
    with wave.open(path, 'wb') as f:
        f.setparams((1, 2, corpus.RATE, 0, 'NONE', ''))
        f.writeframes((np.clip(x, -1, 1) * 32767).astype(np.int16).tobytes())


def without_digits(path, said_path):
    """name -> recordings in which no digit is said"""
    clips = {name: [] for name in OTHER_SETS}
    for x, digits, _, _ in mix.sorted_out(said_path, True)['sentences']:
        if not digits:
            clips['sentences'].append(mix.level(x / 32768, 0.1))
    for kind, speaker, _, _, x in corpus.load(path):
        if kind == 'words':
            name = 'prompts' if speaker == 'allison' else 'synth_words'
            clips[name].append(mix.level(x / 32768, 0.1))
    clips['alone'] = clips['sentences']
    return {name: together(some, 1 if name == 'alone' else CLIPS) for name, some in clips.items()}


def together(clips, n):
    """Recordings of n clips each, a pause behind each clip."""
    pause = np.zeros(corpus.RATE * 3 // 10)
    return [np.concatenate([y for x in clips[i:i + n] for y in (x, pause)])
            for i in range(0, len(clips), n)]


def make_without_digits(path, said_path, folder, voices):
    for name, recordings in without_digits(path, said_path).items():
        for snr in SNRS:
            to = folder_of(folder, name, snr)
            os.makedirs(to, exist_ok=True)
            for number, x in enumerate(recordings):
                rng = np.random.default_rng([2027, number])
                x = x + rng.standard_normal(len(x)) * 1e-4
                heard = x if snr is None else noisy(rng, x, snr, voices)
                wav_write(f'{to}/{number:03d}.wav', 0.5 * heard)


def noise_name(snr):
    return 'clean' if snr is None else f'{snr}dB'


def folder_of(folder, name, snr):
    return f'{folder}/{name}_{noise_name(snr)}'


def make(path, said_path, folder):
    voices = mix.Voices(path)
    if not os.path.exists(folder_of(folder, OTHER_SETS[-1], SNRS[-1])):
        make_without_digits(path, said_path, folder, voices)
    for name, group in groups(path, said_path).items():
        for snr in SNRS:
            to = folder_of(folder, name, snr)
            if os.path.exists(f'{to}/digits.tsv'):
                continue
            os.makedirs(to, exist_ok=True)
            lines = []
            for number in range(len(group) if name == 'spoken' else STRINGS):
                rng = np.random.default_rng([2026, number])     # the same strings at every level
                digits, x = string(rng, group, number)
                x = x + rng.standard_normal(len(x)) * 1e-4
                heard = x if snr is None else noisy(rng, x, snr, voices)
                wav_write(f'{to}/{number:03d}.wav', 0.5 * heard)
                lines.append(f'{number:03d}.wav\t{"".join(map(str, digits))}\n')
            with open(f'{to}/digits.tsv', 'w') as f:
                f.writelines(lines)


def transcribed(rill, model, path, options):
    run = subprocess.run([rill, 'transcribe', '-m', model, *options, path], text=True,
                         stdout=subprocess.PIPE)
    if run.returncode:
        sys.exit(f'{path}: {rill} transcribe failed')
    return [corpus.WORDS.index(w) for w in run.stdout.split() if w in corpus.WORDS]


def each(say, paths):
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(say, paths))


def confused(want, said, table):
    """Counts each digit of the least way of edits from want to said: table[digit][said digit], 10
    for nothing."""
    cost = [[i + j if i == 0 or j == 0 else 0 for j in range(len(said) + 1)]
            for i in range(len(want) + 1)]
    for i, x in enumerate(want, 1):
        for j, y in enumerate(said, 1):
            cost[i][j] = min(cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (x != y))
    i, j = len(want), len(said)
    while i or j:
        if i and j and cost[i][j] == cost[i - 1][j - 1] + (want[i - 1] != said[j - 1]):
            i, j = i - 1, j - 1
            table[want[i]][said[j]] += 1
        elif i and cost[i][j] == cost[i - 1][j] + 1:
            i -= 1
            table[want[i]][10] += 1
        else:
            j -= 1
            table[10][said[j]] += 1


def score(folder, say, table):
    """Per cent of digits wrong, of strings right."""
    wrong = spoken = right = 0
    with open(f'{folder}/digits.tsv') as f:
        rows = [line.split() for line in f]
    heard = each(say, [f'{folder}/{name}' for name, _ in rows])
    for (_, digits), said in zip(rows, heard):
        want = [int(d) for d in digits]
        n = distance(want, said)
        wrong, spoken, right = wrong + n, spoken + len(want), right + (n == 0)
        confused(want, said, table)
    return 100 * wrong / spoken, 100 * right / len(rows)


def heard_a_minute(folder, say):
    """Digits heard where none is said."""
    minutes, paths = 0, sorted(glob.glob(f'{folder}/*.wav'))
    for path in paths:
        with wave.open(path) as f:
            minutes += f.getnframes() / corpus.RATE / 60
    return sum(len(said) for said in each(say, paths)) / minutes


def report_without_digits(folder, say):
    print('\n| no digits | noise | digits heard a minute |\n|---|---|---|')
    for name in OTHER_SETS:
        for snr in SNRS:
            heard = heard_a_minute(folder_of(folder, name, snr), say)
            print(f'| {name} | {noise_name(snr)} | {heard:.1f} |', flush=True)


def report(folder, say):
    tables = {}
    print('| strings | noise | digits wrong | strings right |\n|---|---|---|---|')
    for name in STRING_SETS:
        for snr in SNRS:
            table = tables.setdefault((name, noise_name(snr)), np.zeros((11, 11), int))
            errors, right = score(folder_of(folder, name, snr), say, table)
            print(f'| {name} | {noise_name(snr)} | {errors:.1f} % | {right:.0f} % |', flush=True)
    for key in (('held_out', 'clean'), ('held_out', '10dB')):
        print(f'\n{" ".join(key)}: digit said (down), digit heard (across), - is nothing\n\n| |' +
              ' | '.join('0123456789-') + ' |\n' + '|---' * 12 + '|')
        for row, label in zip(tables[key], '0123456789-'):
            print(f'| **{label}** | ' + ' | '.join(str(n) if n else '' for n in row) + ' |')


def main(path, said_path, folder, rill, model, *options):
    if not shutil.which(rill):
        sys.exit(f'{rill}: no program')
    make(path, said_path, folder)
    for table in (report, report_without_digits):
        table(folder, lambda wav: transcribed(rill, model, wav, options))


if __name__ == '__main__':
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
