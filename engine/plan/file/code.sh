#!/bin/sh
# SPDX-License-Identifier: MIT
# code.sh FILE...: a header that names the contents of the files by one number.
cat "$@" | cksum | awk '{ printf "/* SPDX-License-Identifier: MIT */\n#define PLANFILE_CODE 0x%08x%08xull\n", $1, $2 }'
