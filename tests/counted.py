# SPDX-License-Identifier: MIT
"""Counts of checks, and the line that a test ends with."""
import sys

passed = failed = 0


def check(ok, words):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAILED", words)


def finish():
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)
