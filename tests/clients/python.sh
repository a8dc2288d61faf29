#!/bin/sh
# SPDX-License-Identifier: MIT
# python.sh TEST.py: runs a test of the Python client where there is a python3 that it supports.
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    echo "skipped: no python3 of 3.9 or later"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec python3 "$@"
