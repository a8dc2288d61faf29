#!/bin/sh
# SPDX-License-Identifier: MIT
# What rooms.py does not see: who stands on rill.h alone, which words a folder has never heard of, and that ops are numbers. arrows.sh [SOURCE-ROOT]
cd "${1:-$(dirname "$0")/../..}" || exit 1
. tests/lib.sh

# Root-relative includes in folder $1 that match none of the patterns in $2.
includes_beyond()
{
    find "$1" \( -name '*.c' -o -name '*.h' \) -exec grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' {} + |
        grep -vE "include[[:space:]]*\"($2)"
}

# A quoted include without a folder is one of the same folder.
own='[^/"]+"'
check 'kernels include nothing of ours' "$(includes_beyond kernels "$own|kernels/")"
check 'the daemon includes rill.h and its own' "$(includes_beyond daemon "$own|daemon/|rill\.h")"
[ -d examples ] && check 'examples include rill.h and their own' "$(includes_beyond examples "$own|examples/|rill\.h")"
[ -d include ] && check 'the public header includes nothing of ours' "$(includes_beyond include "$own")"
check 'no include climbs out of its folder' \
    "$(grep -rnE '#[[:space:]]*include[[:space:]]*[<"]\.\.' --include='*.[ch]' kernels engine pulse models lib sinks check daemon tools)"

words='onnx|nnef|silero|gtcrn|dtln'
check "engine, pulse and kernels know none of $words" "$(grep -rniE "$words" engine pulse kernels)"
check 'the ONNX reader knows no model by name' "$(grep -rniE 'silero|gtcrn|dtln' --include='*.[ch]' models/onnx)"
check 'ops are told by number (enum op_id); names are for files and people' \
    "$(grep -rnE 'str(n?cmp|str)\([^;]*op->name|op->name\[|= [^;,]*op->name;|op_find\("' --include='*.[ch]' \
        engine pulse lib sinks check tools)"
# By name go: what op.c parses, compiled plans, dumps, and a copy of attributes with some of them changed.
check 'attributes are read as fields (engine/ops/attrs.h); their names are for readers, compiled plans and people' \
    "$(grep -rnE 'attr_(get|put)_|attrs\[[0-9]+\]|attr \+ [a-z>-]*offset' --include='*.[ch]' engine pulse lib sinks check tools |
        grep -vE '^(engine/graph/op\.c|engine/plan/|check/dump\.c|pulse/pulser\.c)')"
check 'kernels neither allocate nor print' \
    "$(grep -rnwE '(m|c|re|aligned_)alloc|free|v?[fs]?n?printf|puts' --include='*.[ch]' kernels)"
finish
