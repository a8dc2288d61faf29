#!/bin/sh
# SPDX-License-Identifier: MIT
# What rooms.py does not see: who stands on rill.h alone, which words a folder has never heard of, and that ops are numbers. arrows.sh [SOURCE-ROOT]
cd "${1:-$(dirname "$0")/../..}" || exit 1
. tests/lib.sh

sources='engine kernels pulse models lib sinks check daemon tools clients examples include'

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
check 'examples include rill.h and their own' "$(includes_beyond examples "$own|examples/|rill\.h")"
check 'the public header includes nothing of ours' "$(includes_beyond include "$own")"
check 'no include climbs out of its folder' \
    "$(grep -rnE '#[[:space:]]*include[[:space:]]*[<"]\.\.' --include='*.[ch]' $sources)"

nets='silero|gtcrn|dtln'
words="onnx|nnef|tflite|$nets"
check "engine, pulse and kernels know none of $words" "$(grep -rniE "$words" engine pulse kernels)"
check 'readers, the library, sinks and the daemon know no model by name' \
    "$(grep -rniE "$nets" --include='*.[ch]' models lib sinks daemon)"

# found KIND EXCEPT FOLDER..: what names.awk says of KIND in the folders, but for paths that match EXCEPT.
said=$(find $sources -name '*.[ch]' | sort |
    xargs awk -f tests/arch/names.awk)
found()
{
    kind=$1 except=$2
    shift 2
    printf '%s\n' "$said" | grep -E "^($(echo $* | tr ' ' '|'))[^:]*:[0-9]*: $kind:" | grep -vE "^($except):"
}

numbered='engine pulse lib sinks check tools'
# By name go: the table of ops, readers (models), and compiled plans.
named='engine/ops/ops\.c|engine/plan/file/[a-z_]*\.c'
check 'ops are told by number (enum op_id); names are for files and people' "$(found op "$named" $numbered)"
check 'ops are found by number (op_by_id); names are for readers and compiled plans' "$(found find "$named" $numbered)"
# By name go: what op.c parses, compiled plans, dumps, and a copy of attributes with some of them changed.
named='engine/graph/op\.[ch]|engine/plan/file/[a-z_]*\.c|check/dump\.c|pulse/pulser\.c'
check 'attributes are read as fields (engine/ops/attrs.h); their names are for readers, compiled plans and people' \
    "$(found attr "$named" $numbered)"
check 'attributes are read as fields, not by the place or the kind of one' \
    "$(grep -rnE 'attr_(get|put)_|attrs\[[0-9]+\]|attr \+ [a-z>-]*offset' --include='*.[ch]' $numbered |
        grep -vE "^($named|engine/plan/[a-z_]*\.[ch]):")"

# A message is for people: the status tells programs.
check 'no message of an error is decided on' "$(found message none '')"

check 'kernels neither allocate nor print' \
    "$(grep -rnwE '(m|c|re|aligned_)alloc|free|v?[fs]?n?printf|puts' --include='*.[ch]' kernels)"
finish
