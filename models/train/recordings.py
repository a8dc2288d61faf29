#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings of the packages as 16 kHz mono int16, one .npz for each kind.

usage: recordings.py FOLDER         (the folder that fetch.sh filled; needs ffmpeg, flite and espeak-ng)
       recordings.py FOLDER MORE    (needs ffmpeg)

MORE: a folder of archives (.tar) with manifest-flac.tsv, which says of each recording path, kind
(speech, noise, rir) and speaker.

Writes FOLDER/{speech_en,speech_es,speech_fr,speech_it,speech_ru,voices,ambience,events,music}.npz;
of MORE FOLDER/speakers.npz (names are SPEAKER/FILE), FOLDER/recorded.npz and FOLDER/rooms.npz.
"""
import glob
import os
import shutil
import subprocess
import sys
import tarfile

import numpy as np

import arrays

RATE = 16000
SPEECH = ('en', 'es', 'fr', 'it', 'ru')
PROMPTS = 'usr/share/asterisk/sounds/**/*.g722'


def decode(path, form=(), data=None):
    """Samples of a file (or of bytes) that ffmpeg reads."""
    source = '-' if data is not None else path
    args = ['-i', source, '-ac', '1', '-ar', str(RATE), '-f', 's16le', '-']
    run = subprocess.run(['ffmpeg', '-v', 'error', *form, *args], input=data, capture_output=True,
                         check=False)
    return np.frombuffer(run.stdout[:len(run.stdout) // 2 * 2], dtype=np.int16)


def bank_save(path, items):
    """items: list of (name, int16 array)."""
    ends = np.cumsum([0] + [len(a) for _, a in items])
    arrays.save(path, keys=np.array([k for k, _ in items]), off=ends,
                cat=np.concatenate([a for _, a in items]))
    minutes = ends[-1] / RATE / 60
    print('%s: %d recordings, %.1f min' % (os.path.basename(path), len(items), minutes), flush=True)


def bank_load(path):
    """[(name, int16 array)] of a file that bank_save wrote."""
    keys, off, cat = arrays.load(path, 'keys', 'off', 'cat')
    return [(str(k), cat[off[i]:off[i + 1]]) for i, k in enumerate(keys)]


def prompts(folder, lang):
    """The prompts of one voice; all are decoded in one go, two samples a byte."""
    root = f'{folder}/unpacked/asterisk-core-sounds-{lang}-g722'
    names, parts = [], []
    for path in sorted(glob.glob(f'{root}/{PROMPTS}', recursive=True)):
        name = os.path.basename(path)
        if '/silence/' in path or 'beep' in name or os.path.getsize(path) < RATE // 8:
            continue
        with open(path, 'rb') as f:
            parts.append(f.read())
        names.append(path.split('/sounds/')[1])
    pcm = decode('-', ('-f', 'g722'), b''.join(parts))
    ends = 2 * np.cumsum([0] + [len(p) for p in parts])
    return [(name, pcm[ends[i]:ends[i + 1]]) for i, name in enumerate(names)]


SENTENCES = '''The quick brown fox jumps over the lazy dog near the river bank.
She sells fresh fish and chips by the sea shore every Saturday morning.
Please leave your message after the tone and we will call you back tomorrow.
How much wood would a woodchuck chuck if a woodchuck could chuck wood?
A gentle breeze blew through the open window while we were having dinner.
The train to the airport leaves from platform nine at twenty past seven.
Turn off the kitchen light, close the garage door and set an alarm for six.
Yes, I think so. No, never mind. Could you say that again, a little slower?
Mixed vegetables, ginger, olive oil, and a pinch of salt make a good soup.
Zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven.'''.split('\n')
LANGUAGES = 'en-us en-gb en-gb-scotland de es fr-fr it pl nl pt-br sv cs ru hu fi tr'.split()
VARIANTS = '+m1 +m2 +m3 +m4 +m5 +m6 +m7 +f1 +f2 +f3 +f4 +f5 +croak +klatt'.split()


def synthetic_voices():
    """Machine voices: four of flite, and espeak-ng's in many languages and timbres."""
    ret = []
    rng = np.random.default_rng(7)
    for voice in ('kal16', 'awb', 'rms', 'slt'):
        for i, text in enumerate(SENTENCES):
            wav = f'/tmp/flite-{os.getpid()}.wav'
            stretch = 'duration_stretch=%.2f' % rng.uniform(0.8, 1.25)
            subprocess.run(['flite', '-voice', voice, '--setf', stretch, '-t', text, '-o', wav],
                           check=True)
            ret.append((f'flite/{voice}/{i}', decode(wav)))
            os.remove(wav)
    for i in range(160):
        voice = rng.choice(LANGUAGES) + rng.choice(VARIANTS)
        text = SENTENCES[rng.integers(len(SENTENCES))]
        speed, pitch = str(rng.integers(110, 200)), str(rng.integers(15, 85))
        run = subprocess.run(['espeak-ng', '-v', voice, '-s', speed, '-p', pitch, '--stdout', text],
                             capture_output=True, check=True)
        ret.append((f'espeak/{voice}/{i}', decode('-', data=run.stdout)))
    return [(k, a) for k, a in ret if len(a) > RATE // 4]


def catalogue_sounds(path):
    """The sounds in an OpenTTD sound file: every RIFF chunk of it."""
    with open(path, 'rb') as f:
        data = f.read()
    at = data.find(b'RIFF')
    while at >= 0:
        n = 8 + int.from_bytes(data[at + 4:at + 8], 'little')
        yield at, decode('-', data=data[at:at + n])
        at = data.find(b'RIFF', at + 12)


def named(folder, package, patterns):
    """Recordings of a package, each content once."""
    seen = set()
    for pattern in patterns:
        for path in sorted(glob.glob(f'{folder}/unpacked/{package}/{pattern}', recursive=True)):
            real = os.path.realpath(path)
            if real in seen or os.path.basename(real) in seen:
                continue
            seen.add(real)
            a = decode(path)
            if len(a) > 800 and np.abs(a).max() > 100:
                yield package + '/' + os.path.basename(path), a


SONIC_MUSIC = ('loop', 'bass', 'guit', 'tabla', 'arovane', 'mehackit')
AMBIENCE = [('0ad-data', ['audio/ambient/**/*.ogg']),
            ('megaglest-data', ['usr/share/games/megaglest/tilesets/*/sounds/*.ogg',
                                'usr/share/games/megaglest/tilesets/*/sounds/rain.wav']),
            ('unknown-horizons', ['usr/share/unknown-horizons/content/audio/sounds/*.ogg'])]
EVENTS = [('0ad-data', ['audio/resource/**/*.ogg', 'audio/attack/**/*.ogg',
                        'audio/actor/*/movement/*.ogg',
                        'audio/actor/fauna/**/*.ogg', 'audio/interface/**/*.ogg']),
          ('minetest-data', ['usr/share/games/minetest/games/minetest_game/**/*.ogg'])]


def split_by_length(items):
    return [i for i in items if len(i[1]) >= 3 * RATE], [i for i in items if len(i[1]) < 3 * RATE]


def noises(folder):
    found = [item for package, patterns in AMBIENCE for item in named(folder, package, patterns)]
    ambience, events = split_by_length(found)
    for package, patterns in EVENTS:
        more = split_by_length(list(named(folder, package, patterns)))
        ambience += more[0]
        events += more[1]
    cat = f'{folder}/unpacked/openttd-opensfx/usr/share/games/openttd/baseset/opensfx/opensfx.cat'
    events += [(f'openttd-opensfx/{at}', a) for at, a in catalogue_sounds(cat) if len(a) > 800]
    moh = f'{folder}/unpacked/asterisk-moh-opsound-g722/usr/share/asterisk/moh'
    music = [('opsound/' + os.path.basename(p), decode(p, ('-f', 'g722')))
             for p in sorted(glob.glob(f'{moh}/*.g722'))]
    samples = f'{folder}/unpacked/sonic-pi-samples/usr/share/sonic-pi/samples'
    for path in sorted(glob.glob(f'{samples}/*.flac')):
        name, a = os.path.basename(path), decode(path)
        if name.startswith(SONIC_MUSIC):
            music.append(('sonic-pi/' + name, a))
        else:
            (ambience if len(a) >= 3 * RATE else events).append(('sonic-pi/' + name, a))
    return ambience, events, music


MANIFEST = 'manifest-flac.tsv'
MORE = (('speech', 'speakers'), ('noise', 'recorded'), ('rir', 'rooms'))


def more_recordings(folder):
    """{kind: [(name, int16 array)]} of the archives in a folder, those that its manifest names."""
    with open(f'{folder}/{MANIFEST}', encoding='utf-8') as f:
        head = f.readline().rstrip('\n').split('\t')
        rows = [dict(zip(head, line.rstrip('\n').split('\t'))) for line in f]
    rows = {r['path']: r for r in rows}
    ret = {kind: [] for kind, _ in MORE}
    for path in sorted(glob.glob(f'{folder}/*.tar')):
        with tarfile.open(path) as archive:
            for member in archive:
                row = rows.get(member.name)
                if not row or row['kind'] not in ret:
                    continue
                speaker = row['source_repo'] + ':' + row['speaker'] if row['speaker'] else ''
                name = speaker.replace('/', ':') + '/' + os.path.basename(member.name)
                ret[row['kind']].append((name, decode('-', data=archive.extractfile(member).read())))
    return {kind: sorted(items, key=lambda item: item[0]) for kind, items in ret.items()}


def check(folder):
    """Ends the program before its work where something is missing."""
    needed = [f'asterisk-core-sounds-{lang}-g722' for lang in SPEECH]
    needed += dict.fromkeys(package for package, _ in AMBIENCE + EVENTS)
    needed += ['openttd-opensfx', 'asterisk-moh-opsound-g722', 'sonic-pi-samples']
    missing = [package for package in needed
               if not os.path.exists(f'{folder}/unpacked/{package}.done')]
    if missing:
        sys.exit(f'{folder}: without {", ".join(missing)}; fetch.sh fetches what is missing')
    for program in ('ffmpeg', 'flite', 'espeak-ng'):
        if not shutil.which(program):
            sys.exit(f'{program}: not installed')


def more(folder, archives):
    if not os.path.exists(f'{archives}/{MANIFEST}'):
        sys.exit(f'{archives}: without {MANIFEST}')
    found = more_recordings(archives)
    for kind, name in MORE:
        bank_save(f'{folder}/{name}.npz', found[kind])


def main(folder):
    check(folder)
    for lang in SPEECH:
        bank_save(f'{folder}/speech_{lang}.npz', prompts(folder, lang))
    bank_save(f'{folder}/voices.npz', synthetic_voices())
    for kind, items in zip(('ambience', 'events', 'music'), noises(folder)):
        bank_save(f'{folder}/{kind}.npz', items)


if __name__ == '__main__':
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    (more if len(sys.argv) == 3 else main)(*sys.argv[1:])
