#!/bin/sh
# SPDX-License-Identifier: MIT
# A big-endian machine is refused when it is configured for, with the reason.
# big_endian.sh SOURCE-ROOT
. "$(dirname "$0")/../lib.sh"
folder_make
sed -e "s/'aarch64-linux-gnu-gcc'/'cc'/; s/'aarch64-linux-gnu-/'/; s/= 'aarch64'/= 's390x'/; s/'little'/'big'/; /exe_wrapper/d" \
    "$1/tests/cross/aarch64.ini" >"$dir/big.ini"
expect 1 'does not run on big-endian machines' meson setup "$dir/build" "$1" --cross-file "$dir/big.ini" -Dpart=core
finish
