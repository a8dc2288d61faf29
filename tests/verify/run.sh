#!/bin/sh
# SPDX-License-Identifier: MIT
# rill verify on small cases of several types and shapes, and on every stored reference; and that it fails when a
# reference is wrong.  run.sh RILL
. "$(dirname "$0")/../lib.sh"
rill=$1 ref=$(dirname "$0")/models/small/ref
folder_make

# says CODE WORDS CASE OPTIONS...
says()
{
    want=$1 words=$2 case=$ref/$3.json
    shift 3
    expect "$want" "$words" timeout 60 "$rill" verify "$@" "$case"
}

# whole numbers and truth values, in and out, to the last digit
says 0 "ok *sum .*tolerance 0.0e+00  20 values" types
says 0 "ok *more .*tolerance 0.0e+00  20 values" types
says 1 "FAIL *sum .*diff| 1.000e+00" types_off
says 0 "types_off: pass" types_off --tolerance 1
says 3 "tensor 'sum' holds 1152921504606846976; whole numbers below 2^48 can be compared" types_huge
says 3 "input 'tokens' holds 16777217, which no f32 is" types_inexact
mkdir -p "$dir/small/ref"
cp "$ref"/types.* "$dir/small/ref"
sed 's/"int32"/"int33"/' "$ref/types.json" >"$dir/small/ref/types.json"
expect 3 "has dtype 'int33'; known: float32, " "$rill" verify "$dir/small/ref/types.json"

# what is no case: the cause is told, a line only where there is one
expect 4 "verify: $dir/nowhere.json: No such file" "$rill" verify "$dir/nowhere.json"
check "no line of a file that is not there" "$(grep 'line' "$dir/said")"
expect 4 "is not a regular file" "$rill" verify "$dir"
printf '{\n' >"$dir/cut.json"
expect 3 "verify: $dir/cut.json: line 2 column 0: " "$rill" verify "$dir/cut.json"
: >"$dir/empty.json"
expect 3 "verify: $dir/empty.json: line 1 column 0: " "$rill" verify "$dir/empty.json"

# shapes with symbols: what is stored are the frames of one stream, whole or in chunks
says 0 "image: pass" image
says 0 "ok *band .* 12 values" image --shape input=1,S,32,1
says 0 "image: pass" image --shape "input=1,2*S,min(32,40),1" -t "pulse(symbol: S, pulse: 3)"
says 0 "image: pass" image --shape input=1,rows,32,1 --stream rows
says 1 "image_chunks: FAIL" image_chunks
says 0 "image_chunks: pass" image_chunks --shape input=1,S,32,1
says 0 "named: pass" named
says 0 "named: pass" named --stream T
says 1 "the stream gives 12 frames, the reference has 11" image_short --shape input=1,S,32,1
says 3 "shape of 'input', axis 1, 'S+': .*column" image --shape input=1,S+,32,1
says 3 "'input=1,,32,1' is not of the form" image --shape input=1,,32,1
says 3 "there is no input 'output'; the file has: input" image --shape output=1,S,32,1
says 3 "input 'input' has 4 axes, 3 were given" image --shape input=1,S,32
says 3 "is time is not known: rows, cols; name one as the stream" image --shape input=1,rows,cols,1
says 3 "no frames of 31 floats for input 'input'" image --shape input=1,S,31,1

# transforms, --set and --const
says 1 "FAIL *twice" image_patched
says 0 "image_patched: pass" image_patched -t "patch(body: 'twice = input * 3.0;')"
says 0 "image_patched: pass" image_patched --shape input=1,S,32,1 -t "patch(body: 'twice = input * 3.0;')"
says 0 "- *twice .*has no such output" image_patched -t "select_outputs(two)"
says 1 "FAIL *thrice .*has no such output" image_other
says 3 "unknown transform 'fold'" image -t fold
says 0 "image: pass" image --shape input=1,rows,32,1 --set rows=12
says 0 "pass.*true" image --json --shape input=1,S,32,1
expect 0 "^20 passed, 0 failed" "$rill" check --shape input=1,S,32,1 "$ref/../image.onnx"
expect 0 "^20 passed, 0 failed" "$rill" check --shape x=1,S,6 "$ref/../expanded.onnx"

# a step of an encoder with 198 ports: its states are found by their names, the batch is 1
says 0 "step: pass" step
says 0 "ok *new_processed_lens .* 60 values" step
says 0 "98 states found by name .*: cached_0:new_cached_0 " step
says 0 "handed: pass" handed --tolerance 0
says 1 "FAIL *new_processed_lens .*diff| 1.000e+00" step_off
says 3 "the case has no data for input 'cached_0' of 4 floats" step --state none --set N=1
expect 0 "state  processed_lens  *i64\[1\], next is new_processed_lens" "$rill" inspect "$ref/../step.onnx"
if [ "$(grep -c 'next is' "$dir/said"):$(grep -c '^  output' "$dir/said")" = 98:99 ]; then pass; else fail "98 states, each an output beside the frame"; fi
expect 0 "stream .* (state [1-9]" "$rill" bench --seconds 0.01 "$ref/../step.onnx"
printf '%s\n' "version 1.0;" "graph many(x) -> ($(seq -s ', ' -f 'y%g' 150))" "{" "    x = external<scalar>(shape = [S]);" \
    "$(seq 150 | sed 's/.*/    y& = x * &.0;/')" "}" >"$dir/many.nnef"
expect 0 "output 'y150': largest difference 0, all bits the same" "$rill" check --pulse 3 --length 7 "$dir/many.nnef"

# wenet's cache goes by two names
printf '%s\n' "version 1.0;" "graph step(x, attn_cache) -> (y, next_att_cache)" "{" \
    "    x = external<scalar>(shape = [1, 4]);" "    attn_cache = external<scalar>(shape = [1, 4]);" \
    "    y = x + attn_cache;" "    next_att_cache = 0.5 * y;" "}" >"$dir/wenet.nnef"
expect 0 "1 state found by name .*: attn_cache:next_att_cache" "$rill" run --steps 2 "$dir/wenet.nnef"
expect 0 "input  x  *1 floats a frame" "$rill" inspect --state none --shape x=1,S --shape attn_cache=1,S --stream S "$dir/wenet.nnef"

# a text that fits with a size of the stream's
printf '%s\n' "version 1.0;" "graph fours(x) -> (y)" "{" "    x = external<scalar>(shape = [1, S]);" \
    "    y = reshape(x, shape = [1, -1, 4]);" "}" >"$dir/fours.nnef"
expect 3 'it would with --assert "S == 4\*(S/4)"' "$rill" inspect "$dir/fours.nnef"
expect 0 "^8 passed, 0 failed" "$rill" check --assert 'S == 4*(S/4)' "$dir/fours.nnef"
expect 0 "^20 passed, 0 failed" "$rill" check --set 'S=4*T' --stream T "$dir/fours.nnef"
expect 3 "symbol 'Q' was set, but neither" "$rill" check --set 'S=4*T' --set Q=7 --stream T "$dir/fours.nnef"
expect 3 "does not fit" "$rill" check --set 'S=4*BAR' --stream T "$dir/fours.nnef"

if [ -z "$RILL_SHARED" ] || [ ! -d "$RILL_SHARED/models" ]; then
    echo "stored references need shared_dir"
    skipped=1
    finish
fi
skipped=0
for case in "$RILL_SHARED"/models/*/ref/*.json; do
    if ! grep -q '"onnx"' "$case"; then
        echo "$case names no model: a recording's reference, not a network's"
        skipped=$((skipped + 1))
    elif "$rill" verify "$case"; then pass; else fail "$case"; fi
done
mkdir -p "$dir/models/dtln/ref"
cp "$RILL_SHARED"/models/dtln/*.onnx "$dir/models/dtln"
cp "$RILL_SHARED"/models/dtln/ref/model_2.* "$dir/models/dtln/ref"
chmod -R u+w "$dir"
printf '\000\000\200\077' | dd of="$dir/models/dtln/ref/model_2.out.conv1d_3.f32" bs=1 seek=4096 conv=notrunc 2>/dev/null
"$rill" verify "$dir/models/dtln/ref/model_2.json"
if [ $? = 1 ]; then pass; else fail "a wrong reference passes"; fi
finish
