#!/bin/sh
# SPDX-License-Identifier: MIT
# Networks of f16 and bf16 (make.py) give what the reference evaluator of onnx gave, whatever computes them, and
# stream to the bit.  run.sh RILL
. "$(dirname "$0")/../lib.sh"
rill=$1 nets=$(dirname "$0")/nets
folder_make

for case in "$nets"/ref/*.json; do
    for cpu in c avx2 ''; do
        good "$case as ${cpu:-this machine} computes it" env RILL_CPU=$cpu "$rill" verify "$case"
    done
done

# streams NET SHAPE OPTIONS...: cut into pulses it is what it is whole
streams() {
    net=$1 shape=$2
    shift 2
    for half in f16 bf16; do
        expect 0 ", 0 failed" "$rill" check --shape "$shape" --length 1,2,7,24 "$@" "$nets/${net}_$half.onnx"
    done
}
streams products x=1,8,S
streams cells x=S,1,10
streams norms x=S,32 -t "select_outputs(layernormalization0_0, add9_0)"
streams elements x=S,30
streams attention x=S,10,16

# a pipeline of f32 around a network of one frame, whose state it keeps
for half in f16 bf16; do
    mkdir "$dir/$half"
    cp "$nets/frame_$half.onnx" "$dir/$half/frame.onnx"
    cat >"$dir/$half/graph.nnef" <<END
version 1.0;
graph frames(pcm) -> (out)
{
    pcm = external<scalar>(shape = [S]);
    y = rill_onnx_scan(rill_frame(pcm, size = 16, hop = 16), file = "frame.onnx", input = [x], output = [tanh3_0],
                       state = [(s, add5_0)]);
    out = rill_overlap_add(y, hop = 16);
}
END
    expect 0 ", 0 failed" "$rill" check "$dir/$half"
done

# a compiled plan is the same net
good "a net is compiled" "$rill" compile --shape x=1,8,S "$nets/products_f16.onnx" -o "$dir/products.rill"
expect 0 "input  x .* 8 floats a frame" "$rill" inspect "$dir/products.rill"

# a sum of f16 and f32 is none of the standard's; nor are weights of f32, but converters write them
for half in f16 bf16; do
    good "weights of f32" "$rill" inspect "$nets/weights_$half.onnx"
    expect 3 "node 'add0_0' (Add): its inputs are $half and f32; both must agree" "$rill" inspect "$nets/mixed_$half.onnx"
done
finish
