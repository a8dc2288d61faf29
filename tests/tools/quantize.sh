#!/bin/sh
# SPDX-License-Identifier: MIT
# rill quantize on the nets of tests/tools/quantize (make.py writes them).  quantize.sh RILL AUDIO_DIR
# The SNRs that are wanted here were also found by ONNX Runtime on the same noise.
. "$(dirname "$0")/../lib.sh"
rill=$1 audio=$2 nets=$(dirname "$0")/quantize
folder_make
export HOME="$dir"

# quantized NET WORDS OPTION...: to $dir/out.onnx, which rill opens
quantized()
{
    net=$1 words=$2
    shift 2
    expect 0 "$words" "$rill" quantize --force "$nets/$net.onnx" "$dir/out.onnx" "$@"
    cp "$dir/said" "$dir/report"
    good "$net is a net afterwards" "$rill" inspect --pass model "$dir/out.onnx"
    cp "$dir/said" "$dir/nodes"
}
# says WORDS: the report of the last one does
says() { good "the report has: $1" grep -q -e "$1" "$dir/report"; }
# nodes N OP: it has so many
nodes() { good "$1 of $2" test "$(grep -c "[ =]$2\b" "$dir/nodes")" = "$1"; }

# ---- weights
quantized layers "6 of 6 layers quantised, 2[0-9]* bytes of 3975$"
says "^  Conv  *conv  *96  *59.7  weights$"
says "^  y  *39.4$"
nodes 6 DequantizeLinear
good "what is not touched stays" sh -c "for w in kept make.py yes; do grep -q -a \$w '$dir/out.onnx' || exit 1; done"
quantized cells "3 of 3 layers quantised"
says "^  GRU  *gru  *660  *54.2  weights$"
says "^  y  *41.3$"
nodes 6 DequantizeLinear
quantized shared "6 of 6 layers quantised"
says "^  MatMul  *then  *64  *47.8  weights$"
says "^  y  *40.8$"
good "an Add still reads the f32 weights" grep -q "Add(.*const f32.8,8.)" "$dir/nodes"
quantized known "^  MatMul  *known  *16  *53.4  weights$"
quantized exact "^  MatMul  *exact  *16  *exact  weights$"
quantized layers "^  y  *38.9$" --bits 7
quantized sums "2 of 2 layers quantised"
says "^  Einsum  *each  *1536  *[0-9.]*  weights$"
says "^  Einsum  *front  *128  *[0-9.]*  weights$"
nodes 2 DequantizeLinear
quantized sums "2 of 2 layers quantised" --dynamic
nodes 2 DequantizeLinear
# of 4 bits, in blocks where an axis of sums is longer than one
quantized layers "opset 21 instead of 13, IR version 10 instead of 7" --bits 4 --block 16
says "^  y  *19.3$"
quantized cells "^  y  *14.2$" --bits 4 --block 16
quantized old "^  y  *22.5$" --bits 4 --block 16
expect 3 "GroupNormalization cannot be brought from opset 18 to 21" "$rill" quantize "$nets/changed.onnx" "$dir/none.onnx" --bits 4
quantized elsewhere "tensors of other files are in it"
quantized called "^  MatMul  *two/product  *64  *45.9  weights$" # by functions of the file
good "functions are written out" sh -c "! grep -q layer '$dir/out.onnx'"
expect 3 "'one/b': op 'Softmax' is of opset 12, as function 'layer' of domain 'own' says" "$rill" quantize "$nets/called_old.onnx" "$dir/none.onnx"
expect 3 "has no weights to quantise" "$rill" quantize "$nets/vendor.onnx" "$dir/none.onnx"
mkdir "$dir/alone"
mv "$dir/out.onnx" "$dir/alone"
good "it needs no other file" "$rill" inspect "$dir/alone/out.onnx"

# ---- an older opset is brought to the one that is wanted, meaning the same
quantized old "opset 13 instead of 11, IR version 7 instead of 6"
says "^  y  *47.2$"
quantized inputs "IR version 4 instead of 3"
good "a constant is no input any more" sh -c "! grep -q 'input.* w ' '$dir/nodes'"
expect 3 "of opset 9; small weights want opset 13" "$rill" quantize "$nets/ancient.onnx" "$dir/none.onnx"

# ---- what stays f32, and why
quantized odd "4 of 8 layers quantised"
says "^  MatMul  *nan .* f32: its weights have a NaN$"
says "^  MatMul  *inf .* f32: its weights have an infinity$"
says "^  MatMul  *zero channel .* 49.1  weights$"
says "^  MatMul  *zeros .* silent  weights$"
says "^  Conv  *points .* f32: is no smaller quantised$"
says "^  MatMul  *done .* f32: is quantised already$"
good "nothing without weights is a layer" sh -c "! grep 'no weights' '$dir/report'"
for mode in "" --dynamic; do
    quantized spectra "1 of 2 layers quantised" $mode
    says "^  Conv  *stft .* f32: is a Fourier transform"
    says "^  Conv  *other .* [0-9.]*  [wd]"
    "$rill" inspect --pass decluttered "$dir/out.onnx" >"$dir/nodes"
    nodes 1 STFT
done
quantized layers "4 of 6 layers quantised" --min-snr 48
says "^  ConvTranspose  *transposed .* 47.3  f32: loses more$"
nodes 4 DequantizeLinear
expect 3 "every layer loses more than 90 dB" "$rill" quantize "$nets/layers.onnx" "$dir/none.onnx" --min-snr 90
expect 3 "bare.onnx' has no weights to quantise" "$rill" quantize "$nets/bare.onnx" "$dir/none.onnx"
expect 3 "the first, MatMul 'd', is quantised already" "$rill" quantize "$nets/done.onnx" "$dir/none.onnx"
"$rill" quantize "$nets/known.onnx" "$dir/once.onnx" >/dev/null
expect 3 "MatMul 'known', is quantised already" "$rill" quantize "$dir/once.onnx" "$dir/none.onnx"

# ---- the same for programs
json() # NET PYTHON OPTION..: holds of what is printed, as r
{
    net=$1 holds=$2
    shift 2
    "$rill" quantize --json --force "$nets/$net.onnx" "$dir/out.onnx" "$@" >"$dir/report" 2>&1
    good "$net in JSON: $holds" python3 -c "
import json, sys
r = json.load(open('$dir/report'))
net = r['nets'][0]
layer = {l['layer']: l for l in net['layers']}
sys.exit(not ($holds))"
}
json layers "round(layer['conv']['snr_db'], 1) == 59.7 and layer['conv']['as'] == 'weights' and layer['conv']['ran']"
json layers "net['quantised'] == 4 and layer['transposed']['why'].startswith('loses more')" --min-snr 48
json layers "[(o['name'], o['snr'], round(o['snr_db'], 1)) for o in r['outputs']] == [('y', 'measured', 39.4)]"
json exact "layer['exact']['snr'] == 'exact' and layer['exact']['snr_db'] is None and r['out'].endswith('/out.onnx')"
json odd "layer['zeros']['snr'] == 'silent' and layer['nan']['snr'] is None and 'NaN' in layer['nan']['why']"
json old "(net['opset_before'], net['opset']) == (11, 13) and net['bytes'] != net['bytes_before']"
json wants "not r['ran'] and 'i64' in r['why_not_run'] and r['outputs'] == [] and not layer['first']['ran']"

# ---- activations
quantized layers "^  Conv  *conv  *96  *[0-9.]*  dynamic$" --dynamic
says "^  ConvTranspose .* weights$"
says "^  Gemm  *gemm .* dynamic$"
says "^  Gemm  *scaled .* weights$"
says "^  y  *38.4$"
quantized layers "^  Conv  *depthwise .* 48.3  weights: its activations lose more$" --dynamic --min-snr 45
says "^  Conv  *conv .* dynamic$"
quantized shared "^  MatMul  *captured .* dynamic$" --dynamic
says "^  y  *38.2$"
quantized old "^  y  *43.9$" --dynamic
expect 3 "static wants recordings" "$rill" quantize --static "$nets/layers.onnx" "$dir/none.onnx"

# ---- a pipeline with its net
expect 0 "outputs on noise of -20 dB" "$rill" quantize "$nets/pipe" "$dir/pipe"
good "all files are there" test "$(echo $(ls "$dir/pipe"))" = "graph.nnef model.conf net.onnx"
good "the weights are no longer those that are fetched" sh -c "! grep weights '$dir/pipe/model.conf' && grep -q 'kind = audio' '$dir/pipe/model.conf'"
expect 0 "real-time factor" "$rill" denoise -m "$dir/pipe" "$audio/noisy.wav" "$dir/x.wav"
expect 0 "outputs on 1 recording, 9.0 s" "$rill" quantize "$nets/pipe" "$dir/static" --static -c "$audio/noisy.wav"
cp "$dir/said" "$dir/report"
good "static products" grep -q "^  MatMul  *out .* static$" "$dir/report"
good "cells keep f32 inside" grep -q "^  GRU  *gru .* weights$" "$dir/report"
expect 0 "real-time factor" "$rill" denoise -m "$dir/static" "$audio/noisy.wav" "$dir/x.wav"
mkdir "$dir/recordings"
cp "$audio/noisy.wav" "$audio/clean.wav" "$dir/recordings"
echo text >"$dir/recordings/README"
expect 0 "outputs on 2 recordings" "$rill" quantize "$nets/pipe" "$dir/two" --dynamic -c "$dir/recordings"
expect 0 "denoise.onnx: .* layers quantised" "$rill" quantize rill-denoise "$dir/builtin"
expect 0 "real-time factor" "$rill" denoise -m "$dir/builtin" "$audio/noisy.wav" "$dir/x.wav"

# ---- recordings that do not serve
head -c 40 "$audio/noisy.wav" >"$dir/empty.wav"
printf '\000\000\000\000' >>"$dir/empty.wav"
expect 3 "holds no samples" "$rill" quantize "$nets/pipe" "$dir/none" -c "$dir/empty.wav"
{ head -c 24 "$audio/noisy.wav"; printf '\100\037\000\000'; tail -c +29 "$audio/noisy.wav"; } >"$dir/8k.wav"
expect 0 "outputs on 1 recording, 18.0 s" "$rill" quantize "$nets/pipe" "$dir/resampled" -c "$dir/8k.wav"
expect 4 "nowhere.wav" "$rill" quantize "$nets/pipe" "$dir/none" -c "$dir/nowhere.wav"
mkdir "$dir/nothing"
expect 4 "has no .wav or .flac file" "$rill" quantize "$nets/pipe" "$dir/none" -c "$dir/nothing"
expect 3 "a bare net does not say" "$rill" quantize "$nets/layers.onnx" "$dir/none.onnx" -c "$audio/noisy.wav"

# ---- a net that cannot be run as it is declared is measured by its weights
expect 0 "not run, so the SNRs are those of the weights: .*input 'n' is i64.*--shape" "$rill" quantize "$nets/wants.onnx" "$dir/w.onnx"
cp "$dir/said" "$dir/report"
good "the weights alone" grep -q "^  MatMul  *first  *64  *47.0  weights$" "$dir/report"
expect 0 "outputs on noise" "$rill" quantize "$nets/wants.onnx" "$dir/c.onnx" --const n=3
expect 3 "the net has no input 'nosuch'" "$rill" quantize "$nets/layers.onnx" "$dir/none.onnx" --const nosuch=1
expect 3 "has 3 axes, 4 were given" "$rill" quantize "$nets/layers.onnx" "$dir/none.onnx" --shape x=1,2,3,4
expect 3 "the net has no output 'nosuch'" "$rill" quantize "$nets/cells.onnx" "$dir/none.onnx" --state h:nosuch
expect 0 "^  hn  *5[0-9]" "$rill" quantize "$nets/cells.onnx" "$dir/s.onnx" --state h:hn --state c:cn
expect 3 "is a pipeline, which says itself" "$rill" quantize "$nets/pipe" "$dir/none" --const h=0

# ---- where it goes
expect 4 "is there already; --force replaces it" "$rill" quantize "$nets/known.onnx" "$dir/once.onnx"
expect 4 "is there already; --force replaces it" "$rill" quantize "$nets/pipe" "$dir/pipe"
expect 0 "2 of 2 layers" "$rill" quantize --force "$nets/pipe" "$dir/pipe"
expect 4 "is no model folder" "$rill" quantize --force "$nets/pipe" "$dir/recordings"
mkdir "$dir/folder.onnx"
expect 4 "is a folder, and is not replaced by a file" "$rill" quantize --force "$nets/known.onnx" "$dir/folder.onnx"
expect 3 "ends in .onnx" "$rill" quantize "$nets/known.onnx" "$dir/out.rill"
expect 4 "cannot be written" "$rill" quantize "$nets/known.onnx" "$dir/no/such/out.onnx"
expect 4 "cannot be made" "$rill" quantize "$nets/pipe" "$dir/no/such/out"
limited() { (trap '' XFSZ; ulimit -f 1; exec "$rill" quantize "$@"); }
expect 4 "cannot be written: File too large" limited "$nets/cells.onnx" "$dir/full.onnx"
expect 4 "cannot be written: File too large" limited "$nets/pipe" "$dir/full"
cp "$dir/once.onnx" "$dir/kept.onnx"
expect 4 "File too large" limited --force "$nets/cells.onnx" "$dir/kept.onnx"
good "what was there stays" cmp "$dir/once.onnx" "$dir/kept.onnx"
good "and nothing is left behind" sh -c "! ls '$dir' | grep -e full -e none -e '\.new'"

# ---- a bare net on arrays
"$rill" run "$nets/layers.onnx" -t "select_outputs('x')" -n 5 -o "$dir/five.npz" >"$dir/said" 2>&1
"$rill" run "$nets/layers.onnx" -n 5 -o "$dir/outputs.npz" >"$dir/said" 2>&1
quantized layers "outputs on 5 steps of arrays" --static --calibrate "$dir/five.npz"
says "^  Conv  *conv  *96  *[0-9.]*  static$"
expect 3 "a bare net does not say what its numbers are of a recording" "$rill" quantize "$nets/layers.onnx" "$dir/none.onnx" --static --calibrate "$audio/noisy.wav"
expect 3 "has an array 'y', but the net no such input" "$rill" quantize "$nets/layers.onnx" "$dir/none.onnx" --static --calibrate "$dir/outputs.npz"
expect 3 "array 'x' is there twice" "$rill" quantize "$nets/layers.onnx" "$dir/none.onnx" --calibrate "$dir/five.npz" --calibrate "$dir/five.npz"

# ---- usage
expect 2 "bits is 8, 7 or 4" "$rill" quantize --bits 5 "$nets/known.onnx" "$dir/none.onnx"
expect 2 "one of --dynamic and --static" "$rill" quantize --dynamic --static "$nets/known.onnx" "$dir/none.onnx"
expect 2 "bits 4 is for weights alone" "$rill" quantize --bits 4 --dynamic "$nets/known.onnx" "$dir/none.onnx"
expect 2 "block is 16, 32, 64, 128 or 256" "$rill" quantize --block 48 "$nets/known.onnx" "$dir/none.onnx"
expect 3 "is no .onnx file and no model folder" "$rill" quantize "$audio/noisy.wav" "$dir/none.onnx"
expect 3 "names no .onnx file" "$rill" quantize wiener "$dir/none"
expect 3 "no model 'nosuch'" "$rill" quantize nosuch "$dir/none"
expect 4 "no file or folder" "$rill" quantize "$dir/nosuch.onnx" "$dir/none.onnx"
head -c 300 "$nets/cells.onnx" >"$dir/cut.onnx"
expect 3 "cut.onnx" "$rill" quantize "$dir/cut.onnx" "$dir/none.onnx"
: >"$dir/void.onnx"
expect 3 "the file is empty" "$rill" quantize "$dir/void.onnx" "$dir/none.onnx"
finish
