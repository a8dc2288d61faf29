#!/bin/sh
# SPDX-License-Identifier: MIT
# own.sh TOOL: cases of our own (own/make.py) give what ONNX Runtime gave, open with the symbols in
# their sizes, and stream as own/streams.txt says: to the bit what the whole run gives.
. "$(dirname "$0")/../lib.sh"
tool=$1 cases=$(dirname "$0")/own
folder_make
good "the cases as ONNX Runtime has them" "$tool" conformance --unsupported /dev/null "$cases"
for model in "$cases"/*/model.onnx; do
    case $model in */sizes_again/*) open='--set A=4' ;; */loop_none/*) open='--set S=4' ;; *) open= ;; esac # no axis is time there
    good "$model opens" "$tool" inspect --pass typed $open "$model"
done
expect 3 "node 'multiheadattention0_0' (com.microsoft.MultiHeadAttention): unidirectional is read of no more keys than queries and the" \
    "$tool" inspect --set L=4 "$cases/vendor_keys/model.onnx"
expect 3 "(ScatterElements): index -5 is outside an axis of 4" \
    "$tool" run --const at=-1 "$cases/scatter_cache/model.onnx" # -1 is no place of a buffer
expect 0 "'conv11_0' (Conv): it has groups" \
    "$tool" inspect "$cases/quant_net/model.onnx"
data=$cases/loop_none/test_data_set_0 # S would count time, along which no cache grows
expect 0 "loop1_2 *f32\[5,4,3\]" \
    "$tool" run -i "x=$data/input_0.pb" -i "trips=$data/input_1.pb" "$cases/loop_none/model.onnx"
data=$cases/batch_open/test_data_set_0
expect 0 "mul2_0 *f32\[2,7,4\]" "$tool" run -i "x=$data/input_0.pb" -i "seen=$data/input_1.pb" "$cases/batch_open/model.onnx"
expect 0 "mul2_0 *f32\[2,7,4\]" "$tool" run -i "x=$data/input_0.pb" "$cases/batch_open/model.onnx"
expect 3 "input 'seen' is f32\[1,S\]; .*input_0.pb has f32\[2,7,4\]" "$tool" run -i "seen=$data/input_0.pb" "$cases/batch_open/model.onnx"
sides() # sides ROWS COLUMNS: data of sizes_square
{
    python3 -c "import struct, sys
head = b\"{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n\"
open(sys.argv[1], 'wb').write(b'\\x93NUMPY\\x01\\x00' + struct.pack('<H', len(head)) + head + struct.pack('<2q', *map(int, sys.argv[2:])))" \
        "$dir/sides.npy" "$@"
}
sides 1099511627776 1099511627776
expect 3 "node 'constantofshape0_0' (ConstantOfShape): data decides the size .* over 2^63" \
    "$tool" run -i "sides=$dir/sides.npy" "$cases/sizes_square/model.onnx"
sides 20000 20000
expect 3 "/model.onnx: node 'constantofshape0_0' (ConstantOfShape): .* over the limit of 1073741824 bytes" \
    "$tool" run -i "sides=$dir/sides.npy" "$cases/sizes_square/model.onnx"
sides 4611686018427387904 4611686018427387904
expect 3 "/model.onnx: node 'range[0-9_]*' (Range): input 1 ('.*'): a size is .* more than 63 bits; give 'n', 'm' smaller numbers" \
    "$tool" run -i "m=$dir/sides.npy" "$cases/sizes_sums/model.onnx"
data=$cases/loop_passed/test_data_set_1
expect 0 "loop0_1 *f32\[0,3\]" "$tool" run -i "x=$data/input_0.pb" -i "trips=$data/input_1.pb" -i "counts=$data/input_2.pb" \
    "$cases/loop_passed/model.onnx"
good "a convolution of bytes is written" "$tool" convert "$cases/vendor_last/model.onnx" "$dir/last"
zero=$(sed -n "s/.*rill_op('ConvInteger', inputs = \[.*, \(.*\)\], attributes.*/\1/p" "$dir/last/graph.nnef") # of its weights
expect 0 "$zero = .*shape = \[\]), to = 'i8'" grep "variable" "$dir/last/graph.nnef" # one number; it was a list of the same
grep -v '^#' "$cases/streams.txt" >"$dir/streams"
expect 0 "products: 1 of bytes, 0 of dequantised floats" "$tool" inspect "$cases/quant_depth/model.onnx"
expect 0 "plan: 4 steps" "$tool" inspect --pass plan "$cases/quant_depth/model.onnx" # functions are one table
while read -r case pulses lengths assertion; do
    model=$cases/$case/model.onnx
    if [ "$pulses" = refused ]; then
        expect 1 "$lengths $assertion" "$tool" check "$model"
    else
        good "$case streams" "$tool" check --pulse "$pulses" --length "$lengths" \
            ${assertion:+--assert "$assertion"} "$model"
    fi
done <"$dir/streams"
mkdir "$dir/cell"
cp "$cases/vendor_lstm_frame/model.onnx" "$dir/cell/cell.onnx"
cat >"$dir/cell/graph.nnef" <<'END'
version 1.0;
graph cell(pcm) -> (y)
{
    pcm = external<scalar>(shape = [S]);
    x = reshape(rill_frame(pcm, size = 40, hop = 8), shape = [-1, 1, 1, 40]);
    y = rill_onnx_scan(x, file = "cell.onnx", input = [x], output = [dynamicquantizelstm0_0],
                       state = [(h, dynamicquantizelstm0_1), (c, dynamicquantizelstm0_2)]);
}
END
printf '[model]\ntask = other\nsample_rate = 16000\n' >"$dir/cell/model.conf"
good "a cell of bytes streams, called for every frame" "$tool" check --pulse 8,24 --length 40,96,200 "$dir/cell"
expect 0 "gemm_q8" "$tool" inspect --pass plan "$dir/cell"
finish
