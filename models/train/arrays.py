# SPDX-License-Identifier: MIT
"""Files of arrays (.npz) that are there whole or not at all."""
import os
import sys
import zipfile
import zlib

import numpy as np


def save(path, **arrays):
    """Writes beside path, and then puts it in its place."""
    part = f'{path}.part.npz'
    np.savez(part, **arrays)
    os.replace(part, path)


def load(path, *names):
    """The arrays of these names; the program ends with words where the file is broken."""
    try:
        with np.load(path) as z:
            return [z[name] for name in names]
    except FileNotFoundError:
        sys.exit(f'{path}: no such file')
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as why:
        sys.exit(f'{path}: broken ({why}); delete it, and it is made again')


def is_whole(path):
    """Whether the file's end is there, where its list of contents is."""
    return zipfile.is_zipfile(path)


def number(text, usage):
    """An integer that is not negative, from the command line."""
    if not text.isdecimal():
        sys.exit(f'{text}: not a number\n\n{usage}')
    return int(text)
