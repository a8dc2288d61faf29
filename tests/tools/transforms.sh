#!/bin/sh
# SPDX-License-Identifier: MIT
# --transform, --set, --assert and --stream as a person uses them.  transforms.sh RILL AUDIO_DIR
. "$(dirname "$0")/../lib.sh"
rill=$1 audio=$2
folder_make
export HOME="$dir"
cat >"$dir/net.nnef" <<'TEXT'
version 1.0;
graph net(x, n) -> (y) {
    x = external<scalar>(shape = [1, 4, S]);
    n = external<integer>(shape = [1]);
    h = relu(x);
    scaled = h * 2.0;
    cut = n + 1;
    y = scaled + 1.0;
}
TEXT
sed 's/4, S/T, S/' "$dir/net.nnef" >"$dir/two.nnef"
cat >"$dir/old.nnef" <<'TEXT'
version 1.0;
fragment step(v: tensor<scalar>, h: tensor<scalar>) -> (o: tensor<scalar>, next: tensor<scalar>)
{ next = 0.5 * h + v; o = next * 2.0; }
graph old(x, h0) -> (y) {
    x = external<scalar>(shape = [S, 2]);
    h0 = external<scalar>(shape = [2]);
    y = rill_scan(x, body = step, state = [(h, next, h0)]);
}
TEXT

# says CODE WORDS ARGUMENTS...: as expect, of rill
says()
{
    want=$1 words=$2
    shift 2
    expect "$want" "$words" timeout 60 "$rill" "$@"
}

net=$dir/net.nnef
patch='patch(body: "n = shape_of(x)[2];")'
says 0 "set_symbols(SYMBOL: value" inspect --transforms
for c in bench check denoise inspect live vad; do
    says 0 "--transform SPEC" $c --help
done

# sequential
says 0 "input  %0: f32\[1,4,4\]" inspect --pass typed --set FOO=2 --set S=2\*FOO "$net"
says 0 "input  %0: f32\[1,4,2\*T\]" inspect --pass typed --stream T --set S=2\*T "$net"
says 3 "nothing has a symbol 'BAR'; the model has: S; .*BAR>=1" inspect --set S=2\*BAR "$net"
says 0 "f32\[1,4,2\*BAR\]" inspect --pass typed --assert "BAR>=1" --set S=2\*BAR "$net"
says 3 "set 'S=2': .*contradicts" inspect --assert "S>=3" --set S=2 "$net"
says 3 "symbol 'Q' was set, but neither the model" inspect --set Q=1 "$net"

# in order, and shown after each
says 0 "pulse of 1 samples" bench --seconds 0.05 "$net"
says 0 "input  n                        1 i64 a frame" inspect "$net"
says 0 '"pulse": 8' bench --json --seconds 0.05 -t "$patch" -t 'pulse(symbol: S, pulse: 8)' "$net"
says 0 "pulse 8 samples" inspect -t "$patch" -t 'pulse(symbol: S, pulse: 8)' "$net"
says 0 "pulse 5 samples" inspect --pulse 5 -t "$patch" -t 'pulse(symbol: S, pulse: 8)' "$net"
says 0 "transform 2: select_outputs(h)" inspect -t "$patch" -t 'select_outputs(h)' "$net"
says 0 "input  %1: i64\[1\]  # n" inspect --pass transform:0 -t "$patch" -t 'select_outputs(h)' "$net"
says 0 "output .*f32\[1,4,S\]  # y" inspect --pass transform:1 -t "$patch" -t 'select_outputs(h)' "$net"
says 0 "output .*f32\[1,4,S\]  # h" inspect --pass transform:2 -t "$patch" -t 'select_outputs(h)' "$net"
says 0 "# n" inspect --pass model -t "$patch" -t 'select_outputs(h)' "$net"
says 2 "transform:0 (after --set) to transform:1" inspect --pass transform:2 -t "$patch" "$net"
says 2 "without --transform or --set" inspect --pass transform:0 "$net"
says 3 "column 19: found 'h'" inspect -t 'select_outputs( h h)' "$net"
says 3 "unknown transform 'fold'; known: set_symbols" inspect -t fold "$net"

# time
says 1 "time is not known: T, S; .*as in S=T" check -t 'patch(body: "n = 1;")' "$dir/two.nnef"
says 0 "time is not known: T, S; .*as in S=T" inspect -t 'patch(body: "n = 1;")' "$dir/two.nnef"
says 1 "no size of its inputs is a symbol" check -t 'patch(body: "n = 1;")' --set T=4 --set S=3 "$dir/two.nnef"
says 0 "^4 passed, 0 failed" check -t 'patch(body: "n = 1;")' --set T=4 --pulse 4 --length 0,1,9,10 "$dir/two.nnef"
says 0 "^8 passed, 0 failed" check -t 'patch(body: "n = 1;")' --set T=4 --stream S --pulse 1,8 --length 0,1,9,100 "$dir/two.nnef"
sed 's/\[1, 4, S/[batch, 4, hops/' "$dir/net.nnef" >"$dir/batch.nnef"
says 0 "^2 passed, 0 failed" check -t 'patch(body: "n = 1;")' --pulse 4 --length 0,9 "$dir/batch.nnef"
sed 's/\[1, 4, S/[rows, 4, hops/' "$dir/net.nnef" >"$dir/open.nnef"
says 1 "time is not known: rows, hops;" check -t 'patch(body: "n = 1;")' "$dir/open.nnef"
says 3 "no input has the symbol 'Q'; .*are: S, T\|are: T, S" inspect --stream Q "$dir/two.nnef"

# a length that an op refuses is no assertion: it is skipped
sed -e 's/relu(x)/pad(x, padding = [(0, 0), (0, 0), (2, 2)], border = "reflect")/' "$dir/net.nnef" >"$dir/mirror.nnef"
says 0 "^1 passed, 0 failed, 1 skipped" check -t 'patch(body: "n = 1;")' --pulse 4 --length 1,9 "$dir/mirror.nnef"

# a model of the library, and old files: the stream owns the states, or else it is not the whole run in pieces
says 0 "^1 passed, 0 failed" check --pulse 4 --length 9 "$dir/old.nnef"
says 1 "^0 passed, 1 failed" check --pulse 4 --length 9 -t force-scan-external-state "$dir/old.nnef"
says 0 "note: the states of 1 Scan start from their inputs" inspect -t force-scan-external-state wiener
says 0 "real-time factor" denoise -t 'pulse(pulse: 512)' "$audio/noisy.wav" "$dir/clean.wav"
says 0 "real-time factor" denoise "$audio/noisy.wav" "$dir/plain.wav"
says 3 "no wire 'nosuch'" denoise -t 'select_outputs(nosuch)' "$audio/noisy.wav" "$dir/x.wav"
good "another pulse gives the same samples" cmp "$dir/clean.wav" "$dir/plain.wav"

# what is asserted is held against lengths that are known, with the value; noisy.wav has 144000 samples
mkdir -p "$dir/pairs"
printf 'version 1.0;\ngraph g(pcm) -> (out, logp)\n{\n    pcm = external<scalar>(shape = [S]);\n    logp = rill_frame(pcm, size = 2, hop = 2);\n    out = pcm * 1.0;\n}\n' >"$dir/pairs/graph.nnef"
printf '[model]\ntask = denoise\nsample_rate = 16000\n[input.pcm]\nkind = audio\n[output.out]\nkind = audio\n[output.logp]\nkind = ctc\ntokens = t\n' >"$dir/pairs/model.conf"
printf '<blk> 0\na 1\n' >"$dir/pairs/t"
in="$audio/noisy.wav"
says 0 "real-time factor" denoise -m "$dir/pairs" --assert 'S == 9*(S/9)' --assert 'S>=144000' "$in" "$dir/y.wav"
says 0 "real-time factor" denoise -m "$dir/pairs" --assert 'T>=1' --set S=9*T --stream T "$in" "$dir/y.wav"
good "all of it is there" cmp "$in" "$dir/y.wav"
says 3 "'S == 7\*(S/7)' is asserted, but does not hold of 144000 frames of input 'pcm', where S is 144000" \
    denoise -m "$dir/pairs" --assert 'S == 7*(S/7)' "$in" "$dir/z.wav"
says 3 "'S<100' is asserted" denoise -m "$dir/pairs" --assert 'S>=1' --assert 'S<100' --assert 'S>=2' "$in" "$dir/z.wav"
says 3 "input 'pcm' has 144000 frames, but takes 7\*T of them: 4 more would do" \
    denoise -m "$dir/pairs" --assert 'T>=1' --set S=7*T --stream T "$in" "$dir/z.wav"
says 3 "'S>144000' is asserted, .* where T is 48000" \
    denoise -m "$dir/pairs" --assert 'S>144000' --assert 'T>=1' --set S=3*T --stream T "$in" "$dir/z.wav"
good "nothing is written" test ! -e "$dir/z.wav"
says 3 "'S<100' is asserted" transcribe -m "$dir/pairs" --assert 'S<100' -o "$dir/z.txt" "$in"
good "no text either" test ! -e "$dir/z.txt"
says 0 "^1 passed, 0 failed" check --pulse 8 --length 9 -t 'select_outputs(out)' --assert 'S == 3*(S/3)' "$dir/pairs/graph.nnef"
says 3 "'S == 3\*(S/3)' is asserted, but does not hold of length 10" check --pulse 8 --length 9,10 --assert 'S == 3*(S/3)' "$dir/pairs/graph.nnef"
# what only a stream needs nobody asserted
printf "version 1.0;\ngraph g(x) -> (y)\n{\n    x = external<scalar>(shape = [1, S]);\n    y = pad(x, padding = [(0, 0), (-5, 3)], border = 'replicate');\n}\n" >"$dir/short.nnef"
says 0 "length 2  *skipped: a stream needs '-5 + S > 0', a whole run does not" check --pulse 1 --length 2,20 "$dir/short.nnef"
says 3 "'S<100' is asserted, but does not hold of length 144000" check --assert 'S<100' -t 'select_outputs(out)' "$dir/pairs" "$in"
says 0 "passed, 0 failed$" check --pulse 8 -t 'select_outputs(out)' --assert 'S>=3' "$dir/pairs/graph.nnef"
finish
