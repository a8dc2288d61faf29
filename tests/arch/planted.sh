#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests of the house see what they are there for: a copy of the sources passes, and is refused with each fault that
# is planted in it. planted.sh SOURCE-ROOT
. "$(dirname "$0")/../lib.sh"
root=$(cd "$1" && pwd)
folder_make
house=$dir/house
mkdir -p "$house/tests" "$dir/build"
(cd "$root" && find kernels engine pulse models lib sinks check clients daemon tools include examples tests/lib.sh tests/arch \
    docs/design.md \
    \( -name '*.[ch]' -o -name '*.sh' -o -name '*.awk' -o -name '*.py' -o -name design.md \) -exec cp --parents -t "$house" {} +)

# The symbols of a build that has only what was planted.
compile()
{
    commands=
    for file; do
        object=$(echo "$file" | tr / .).o
        (cd "$dir/build" && ${CC:-cc} -c -o "$object" "$house/$file") || return 1
        commands="$commands${commands:+,}
            {\"directory\":\"$dir/build\",\"file\":\"$house/$file\",\"output\":\"$object\",\"command\":\"\"}"
    done
    echo "[$commands]" >"$dir/build/compile_commands.json"
}

arrows() { sh tests/arch/arrows.sh .; }
lengths() { sh tests/arch/house.sh .; }
rooms() { python3 tests/arch/rooms.py .; }
built() { python3 tests/arch/rooms.py "$dir/build" .; }
judge() { (cd "$house" && "$1"); }

# plant FILE TEXT: printf's escapes are known; a file that is there gets it at its end.
plant()
{
    mkdir -p "$(dirname "$house/$1")"
    [ -f "$house/$1" ] || echo '/* SPDX-License-Identifier: MIT */' >"$house/$1"
    printf '%b\n' "$2" >>"$house/$1"
    planted="$planted $1"
}

# refused WHO WORDS: WHO says the words of what is planted, which is then dug out.
refused()
{
    [ "$1" != built ] || compile $planted >"$dir/said" 2>&1 || fail "compiling$planted" "$dir/said"
    expect 1 "$2" judge "$1"
    cp "$dir/said" "$dir/$1"
    for file in $planted; do
        rm -f "$house/$file"
        rmdir "$(dirname "$house/$file")" 2>/dev/null
        [ ! -f "$root/$file" ] || (cd "$root" && cp --parents "$file" "$house")
    done
    planted=
}

# body N TEXT: a pass with it.
body()
{
    plant "engine/rewrite/planted$1.c" \
        "static int planted(const struct node *n, const struct op *const *o, rill_error *e)\n{\n    $2\n}"
}

good 'arrows.sh takes the sources as they are' judge arrows
good 'house.sh takes the sources as they are' judge lengths
python3 -c '' 2>/dev/null && python=1
if [ "$python" ]; then
    good 'rooms.py takes the sources as they are' judge rooms

    plant engine/base/planted.h '#include "engine/base/planted_too.h"'
    plant engine/base/planted_too.h '#include "planted.h"'
    refused rooms 'FAIL circle engine/base planted.h planted_too.h: by includes'
    plant engine/base/planted.c '#include "engine/plan/plan.h"'
    refused rooms 'FAIL include engine/base/planted.c -> engine/plan/plan.h'
    plant pulse/planted.c '#include "engine/plan/plan.h"'
    refused rooms 'FAIL include pulse/planted.c -> engine/plan/plan.h'
    plant models/onnx/planted.c '#include "engine/typing/typed.h"'
    refused rooms 'FAIL include models/onnx/planted.c -> engine/typing/typed.h'
    for file in planted.c attic/planted.c engine/planted.c engine/ops/attic/planted.c models/library/planted.c; do
        plant $file ''
        refused rooms "FAIL room $file"
    done
fi
if [ "$python" ] && command -v "${CC:-cc}" >/dev/null && command -v nm >/dev/null; then
    plant engine/base/planted.c 'int planted_too(void); int planted(void); int planted(void) { return planted_too(); }'
    plant engine/base/planted_too.c 'int planted(void); int planted_too(void); int planted_too(void) { return planted(); }'
    refused built 'FAIL circle engine/base planted.c planted_too.c: by symbols'
    for room in engine/base pulse models kernels; do
        plant $room/planted.c 'int planted_too(void); int planted(void); int planted(void) { return planted_too(); }'
        plant engine/rewrite/settle/planted.c 'int planted_too(void); int planted_too(void) { return 0; }'
        refused built "FAIL symbol $room/planted.c -> engine/rewrite/settle/planted.c: planted_too"
    done
fi

# A line of FILE that WHO refuses there: WHO FILE TEXT.
while read -r who file text <&3; do
    plant "$file" "$text"
    refused "$who" "^$file:[0-9]*:"
done 3<<'EOF'
arrows kernels/planted.c #include "engine/base/arena.h"
arrows daemon/base/planted.c #include "engine/base/arena.h"
arrows examples/planted.c #include "lib/model.h"
arrows include/rill.h #include "engine/base/arena.h"
arrows clients/c/planted.c #include "../../daemon/base/log.h"
arrows engine/base/planted.c /* as .tflite has it */
arrows models/nnef/planted.c /* as GTCRN has it */
arrows kernels/planted.c void *planted(void) { return malloc(3); }
arrows engine/rewrite/planted.c int planted(const struct node *n) { return attr_get_int(n, 3); }
lengths sinks/planted.c /* TO\0104O: what is planted */
EOF

# Each in a function of a file of its own: KIND TEXT.
many=0
while read -r kind text; do
    many=$((many + 1))
    kinds="$kinds $kind"
    body $many "$text"
done <<'EOF'
op return !strcmp(n->op->name, "Conv");
op return !memcmp("Conv", n->op->name, 5);
op return !strcasecmp(n->op->name, "conv");
op return strcmp((*o)->name, "Conv") == 0;
op return !strcmp(\n        "Conv",\n        n->op->name);
op const struct op *kind = n->op;\n    return !strcmp(kind->name, "Conv");
op return n->op->name[0] == 'C';
op return *n->op->name == 'C';
op const char *s = n->op->name;\n    return same(s);
op const char *s;\n    s = n->op->name;\n    return same(s);
find return n->op == op_find(conv);
attr for (s = n->op->attrs; s->name; s++)\n        if (!strcmp(s->name, "axis"))\n            return 1;
message return strstr(e->text, "no op") != NULL;
message return e->text[0] != 0;
message return strncmp(\n        e->text, "x", 1);
EOF
refused arrows 'engine/rewrite/planted1.c:[0-9]*: op:'
many=0
for kind in $kinds; do
    many=$((many + 1))
    good "planted$many.c is refused for its '$kind'" grep -q "engine/rewrite/planted$many.c:[0-9]*: $kind:" "$dir/arrows"
done

# What is said to people is no decision.
body 0 'snprintf(s, n, "%%s: %%s", n->op->name, e->text); /* strcmp(n->op->name, s) */'
good 'a name and a message may be said' judge arrows
rm "$house"/engine/rewrite/planted0.c
planted=

# lines N TEXT: N lines of it.
lines() { awk -v n="$1" -v text="$2" 'BEGIN { while (n--) printf "%s\\n", text }'; }

plant engine/base/planted.c "int planted(int a,\n$(lines 20 '            int b,')            int c)\n{\n$(lines 61 '    a++;')}"
refused lengths 'engine/base/planted.c:2: 85 lines'
plant engine/base/planted.c "int planted(int a)\n{\n$(lines 78 '    a++;')}"
refused lengths 'engine/base/planted.c:2: 81 lines'
plant engine/base/planted.c "$(lines 799 'int planted;')"
refused lengths 'engine/base/planted.c: 801 lines'
printf 'int planted;\n' >"$house/engine/base/planted.c"
planted=engine/base/planted.c
refused lengths '^engine/base/planted.c$'
plant engine/rewrite/settle/settle.c '/*  { "planted-pass", true, graph_planted } */'
refused lengths '^planted-pass$'

# A library of one function, its header and its map.
if command -v "${CC:-cc}" >/dev/null && command -v nm >/dev/null; then
    symbols() { sh tests/arch/symbols.sh "$dir/libone.so" "$dir/one.h" "$dir/one.map"; }
    echo 'int rill_one(void);' >"$dir/one.h"
    printf 'RILL_1 {\n  global:\n    rill_one;\n  local: *;\n};\n' >"$dir/one.map"
    echo 'int rill_one(void); int rill_one(void) { return 1; }' >"$dir/one.c"
    good 'a library of one function' "${CC:-cc}" -shared -fPIC -Wl,--version-script="$dir/one.map" -o "$dir/libone.so" "$dir/one.c"
    good 'symbols.sh takes it as it is' judge symbols
    echo 'int rill_two(void);' >>"$dir/one.h"
    expect 1 'only in the header: rill_two' judge symbols
    sed -i 's/    rill_one;/    rill_one; rill_two;\n    rill_three;/' "$dir/one.map"
    expect 1 'only in the map: rill_three' judge symbols
fi
finish
