#!/bin/sh
# SPDX-License-Identifier: MIT
# rill run: data from files of every kind, states carried, comparison with a reference wire by wire, and what is bad is
# refused by its name.  any.sh RILL RECORDING [without], which is libarchive: .npz are left out
. "$(dirname "$0")/../lib.sh"
rill=$1 audio=$2 archive=$3 small=$(dirname "$0")/models/small
folder_make
skipped=0

# npy FILE TYPE SHAPE RAW: an array of numpy
npy()
{
    header="{'descr': '$2', 'fortran_order': ${order:-False}, 'shape': ($3), }"
    { printf "\\223NUMPY\\001\\000\\$(printf %03o ${#header})\\000%s" "$header"; cat "$4"; } >"$1"
}

# knows OPTIONS...: whether this program has what they need
knows()
{
    case "$archive $*" in without*.npz*) skipped=$((skipped + 1)) && return 1 ;; esac
}

# ran CODE WORDS OPTIONS...: of the step file
ran()
{
    want=$1 words=$2
    shift 2
    knows "$@" || return 0
    expect "$want" "$words" timeout 60 "$rill" run "$small/step.onnx" "$@"
}

# ---- a step file of 198 ports: states are carried, whatever kind of file the data is
npy "$dir/x.npy" "<f4" "60, 1, 2, 4" "$small/ref/step.in.x"
head -c 32 "$small/ref/step.in.x" >"$dir/one"
npy "$dir/one.npy" "<f4" "1, 2, 4" "$dir/one"
ran 0 "new_cached_96 *f32\[1,1,4\] " --steps 60 --input "x=$dir/x.npy" --out "$dir/made.npz"
ran 0 "^99 passed, 0 failed" --steps 60 --input "x=$dir/x.npy" --compare "$dir/made.npz" --pass typed
# what another program gave: the stored reference, in a zip that is deflated
npy "$dir/y.npy" "<f4" "60, 1, 2, 4" "$small/ref/step.out.y"
zip()
{
    python3 -c "import sys, zipfile
z = zipfile.ZipFile(sys.argv[1], 'w', 8)
[z.write(f, f.split('/')[-1]) for f in sys.argv[2:]]" "$@"
}
zip "$dir/y.npz" "$dir/y.npy"
zip "$dir/x.npz" "$dir/x.npy"
ran 0 "^1 passed, 0 failed" --steps 60 --input "$dir/x.npz" --compare "$dir/y.npz"
ran 1 "FAIL *y .*first in step [0-9]* at \[0,[01],[0-3]\] is .*, the reference" --steps 60 --seed 3 --compare "$dir/y.npz"
ran 1 "FAIL *y .*first is f32\[1,2,4\] in each step, the reference f32\[60,1,2,4\]" --steps 59 --compare "$dir/y.npz"
ran 0 "^1 passed, 0 failed" --steps 60 --seed 3 --compare "$dir/y.npz" --atol 100
ran 1 "^  -  *x .*\|^0 passed, 0 failed" --compare "$dir/x.npz"

# states that are handed on as they came
mkdir "$dir/handed"
for t in in.x:f4:"20, 1, 4" in.up:i8:"20, 1" out.y:f4:"20, 1, 4" out.late:f4:"20, 1, 4" \
    state_out.new_cached_1:f4:"20, 1, 4"; do
    file=${t%%:*} t=${t#*:}
    npy "$dir/handed/${file##*.}.npy" "<${t%%:*}" "${t#*:}" "$small/ref/handed.$file"
done
zip "$dir/handed.npz" "$dir/handed/y.npy" "$dir/handed/late.npy" "$dir/handed/new_cached_1.npy"
for pass in typed decluttered; do
    ! knows handed.npz || expect 0 "^3 passed, 0 failed" timeout 60 "$rill" run "$small/handed.onnx" --steps 20 --pass $pass \
        --input "x=$dir/handed/x.npy" --input "up=$dir/handed/up.npy" --compare "$dir/handed.npz" --atol 0 --rtol 0
done
expect 0 "median_us" "$rill" bench "$small/handed.onnx" --json

# ---- inner wires: the first that differs is named; what follows it may read the reference
ran 0 "a7 *f32\[1,2,4\]" --seed 1 --dump "a[0-9]" --dump-op MatMul --out "$dir/inner.npz" --pass typed
ran 0 "^206 passed, 0 failed" --seed 1 --compare "$dir/inner.npz" --pass typed
ran 1 "the first that differs is 'm0'" --seed 2 --compare "$dir/inner.npz" --pass typed
ran 1 "^205 passed, 1 failed" --input "$dir/one.npy" --compare "$dir/inner.npz" --pass typed --not-cumulative
ran 1 "^205 passed, 1 failed" --seed 2 --compare "$dir/inner.npz" --pass typed --not-cumulative

# ---- ops
ran 0 "products in all: " --audit
ran 0 '"constant_bytes": [1-9]' --audit --json --assert-op-count MatMul=97
ran 1 "FAIL: 97 nodes of MatMul, not 98" --assert-op-count MatMul=98
"$rill" run --audit --json --steps 60 --input "x=$dir/x.npy" "$small/step.onnx" 2>/dev/null >"$dir/audit.json"
good "one document of JSON where data runs, too" python3 -m json.tool "$dir/audit.json"
# of an open length as an expression of it, of data by the sizes that it has
window=$(dirname "$0")/../conformance/own/attention_window/model.onnx scan=$(dirname "$0")/../conformance/own/index_scan/model.onnx
head -c 480 "$small/ref/step.in.x" >"$dir/fifteen"
npy "$dir/fifteen.npy" "<f4" "1, 2, 15, 4" "$dir/fifteen"
expect 0 "products in all: 16\*S\*S, of S from 15360 on$" "$rill" run --audit "$window"
expect 0 "products in all: 3\*S - 6, of S from 15360 on$" "$rill" run --audit "$scan"
expect 0 '"products_by_size": "16\*S\*S"' "$rill" run --audit --json "$window"
expect 0 "products in all: 3600$" "$rill" run --audit --shape x=1,2,15,4 "$window"
expect 0 "products in all: 3600$" "$rill" run --audit --input "x=$dir/fifteen.npy" "$window"
ran 1 "FAIL: 97 nodes of Tanh, which is none of MatMul,Concat,Add,Slice" --assert-only-ops MatMul,Concat,Add,Slice
ran 2 "takes OP=N, not 'MatMul'" --assert-op-count MatMul
ran 0 "MatMul *97 .*%" --profile
ran 2 "there is no op 'MatMull'" --assert-op-count MatMull=0
ran 2 "there is no op 'Ad'" --assert-only-ops MatMul,Ad
ran 0 "" --audit --assert-op-count Attention=0
ran 2 "json goes with --audit" --json
ran 2 "not-cumulative goes with --compare" --not-cumulative

# ---- what is bad
head -c 60 "$dir/x.npy" >"$dir/cut.npy"
head -c 900 "$dir/x.npy" >"$dir/short.npy"
head -c -30 "$dir/x.npz" >"$dir/cut.npz"
sed 's/<f4/<f8/' "$dir/x.npy" >"$dir/wide.npy"
sed 's/<f4/<c8/' "$dir/x.npy" >"$dir/big.npy"
sed 's/<f4/<i4/' "$dir/x.npy" >"$dir/whole.npy"
sed 's/60, 1, 2, 4/99999999999/' "$dir/x.npy" >"$dir/huge.npy"
order=Maybe npy "$dir/fortran.npy" "<f4" "1, 2, 4" "$dir/one"
npy "$dir/other.npy" "<f4" "1, 4, 2" "$dir/one"
zip "$dir/two.npz" "$dir/y.npy" "$dir/other.npy"
(cd "$dir" && python3 -c "b = bytearray(open('x.npz', 'rb').read()); b[70] ^= 255; open('broken.npz', 'wb').write(b)")
ran 4 "nowhere.npy: No such file" --input "x=$dir/nowhere.npy"
ran 3 "cut.npy: its header ends behind its end" --input "x=$dir/cut.npy"
ran 3 "short.npy: it holds .* bytes of 1920 that its shape takes" --input "x=$dir/short.npy"
ran 3 "wide.npy: it holds 1920 bytes of 3840" --input "x=$dir/wide.npy"
ran 3 "big.npy: an array of type '<c8'" --input "x=$dir/big.npy"
ran 3 "fortran.npy: its header does not say 'fortran_order'" --input "x=$dir/fortran.npy"
ran 3 "input 'x' is given twice: by .*x.npy and .*one.npy" --steps 60 --input "x=$dir/x.npy" --input "x=$dir/one.npy"
ran 3 "x.npy has f32\[60,1,2,4\], one for each of --steps 60" --steps 59 --input "x=$dir/x.npy"
ran 3 "two.npz: there is no array 'x' among its 2" --input "x=$dir/two.npz"
ran 3 "dump 'm1000' is no wire" --dump m1000
ran 3 "dump-op 'Conv' is no op" --dump-op Conv
ran 3 "huge.npy: an array of more than 2 GiB" --input "x=$dir/huge.npy"
ran 3 "input 'x' is f32\[1,2,4\]; .*whole.npy has i32\[60,1,2,4\]" --steps 60 --input "x=$dir/whole.npy"
ran 3 "input 'x' is f32\[1,2,4\]; .*other.npy has f32\[1,4,2\]" --input "x=$dir/other.npy"
ran 3 "cut.npz: no .npz, or one that was cut" --input "$dir/cut.npz"
ran 3 "broken.npz: array 'x.npy': its \(bytes do not unpack\|checksum does not fit\)" --input "$dir/broken.npz"
ran 3 "there is no input 'z'; the model has: x" --input "z=$dir/x.npy"
ran 3 "y.npz: there is no input 'y'; the model has: x" --input "$dir/y.npz"
expect 3 "which of 99 inputs takes it" "$rill" run "$small/step.onnx" --state none --set N=1 --input "$dir/one.npy"
ran 2 "pass is typed or decluttered, not 'settled'" --pass settled


# ---- other models: of the library, on a recording; whole numbers and truth values
expect 0 "out *f32\[[1-9][0-9]*\] " "$rill" run wiener --input "$audio"
expect 3 "input .* is f32\[S\]: --set SYMBOL=N" "$rill" run wiener
expect 0 "cache_last_channel_len:cache_last_channel_next_len" "$rill" inspect "$small/caches.onnx"
expect 0 "cache_last_channel_next_len *i64\[1\] 12 .. 12" "$rill" run "$small/caches.onnx" --steps 3
expect 0 "median_us" "$rill" bench "$small/caches.onnx" --json
trips=$(dirname "$0")/../conformance/own
expect 0 "0 or 1 by chance: five, none, less; --const NAME=VALUE" "$rill" bench --seconds 0.01 "$trips/loop_trips/model.onnx"
expect 0 "0 or 1 by chance: none, less; --const NAME=VALUE" "$rill" bench --seconds 0.01 --const five=5 "$trips/loop_trips/model.onnx"
expect 0 "0 or 1 by chance: .*; --const NAME=VALUE" "$rill" bench --seconds 0.01 "$trips/sizes_range/model.onnx"
expect 0 "more *bool\[4\] 0 .. " "$rill" run "$small/types.onnx"
position=$(dirname "$0")/../conformance/own/index_position
expect 0 "add4_0 *f32\[1,2,7\] -3.44658 .. 2.22742" "$rill" run "$position/model.onnx" --input "$position/test_data_set_0/input_0.pb"
npy "$dir/tokens.npy" "<i8" "5, 4" "$small/ref/types.in.tokens"
! knows types.npz || expect 0 "rows *f32\[4,3\] " "$rill" run "$small/types.onnx" --steps 5 --input "tokens=$dir/tokens.npy" --out "$dir/types.npz"
npy "$dir/sum.npy" "<i8" "5, 4" "$small/ref/types.out.sum"
npy "$dir/rows.npy" "<f4" "5, 4, 3" "$small/ref/types.out.rows"
zip "$dir/types_ref.npz" "$dir/sum.npy" "$dir/rows.npy"
! knows types_ref.npz || expect 0 "^2 passed, 0 failed" "$rill" run "$small/types.onnx" --steps 5 --input "tokens=$dir/tokens.npy" --compare "$dir/types_ref.npz"
finish
