#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands of `rill` as a person uses them: on the default model, on bad input, with the daemon, and with a
# microphone that is a file.  run.sh RILL RILLD AUDIO_DIR
. "$(dirname "$0")/../lib.sh"
rill=$(realpath "$1") rilld=$(realpath "$2") audio=$(realpath "$3")
folder_make
skipped=0
export HOME="$dir/home" XDG_DATA_HOME="$dir/data"

# ---- help and usage
expect 0 "Usage: rill COMMAND" "$rill" --help
expect 2 "unknown command 'nonsense'" "$rill" nonsense
for c in bench check conformance ctl denoise devices inspect keyword live models plot quantize run runtimes stream transcribe vad verify; do
    expect 0 "sage: rill $c" "$rill" $c --help
done
expect 2 "unknown option" "$rill" denoise --loud a b
expect 2 "wrong number of arguments" "$rill" denoise a

expect 0 "^  com.microsoft  *FastGelu  *1-  *[^ ]" "$rill" inspect --ops
expect 0 "^  ai.onnx  *Slice  *1-9  *Slice" "$rill" inspect --ops
# ---- runtimes: the processor is there, and the rest says what it looked for
expect 0 "cpu  *computes by cpu" "$rill" runtimes
expect 0 "gpu  *[^ ].*/dev/nvidiactl.* use cpu, or gpu-or-cpu" "$rill" runtimes
expect 0 "gpu-or-cpu  *computes by cpu" "$rill" runtimes
expect 0 '"computes": null' "$rill" runtimes --json

# ---- numbers: what is no number, or out of the range that is told, is refused, never taken for the default
# numbers KIND VALUES COMMAND...: the last word is the option
numbers()
{
    kind=$1 values=$2
    shift 2
    for v in $values; do
        expect 2 "is a $kind from .* to .*, not '$v'" timeout 120 "$@=$v"
    done
}
odd="1.5 0x10 nan 9e999 99999999999999999999 4k"
numbers "whole number" "-1 0 65 $odd" "$rill" transcribe "$audio/digits.wav" --beam
numbers "whole number" "-1 0 2147483648" "$rill" bench wiener --pulse
numbers "whole number" "-1 0" "$rill" inspect wiener --pulse
numbers "whole number" "-1 0" "$rill" compile wiener -o "$dir/n.rill" --pulse
numbers "whole number" "-1 4294967296" "$rill" check wiener --seed
numbers "whole number" "-1 0 3600001" "$rill" ctl drain --grace-ms
numbers "whole number" "-1 0 7999 192001" "$rill" feed --file "$audio/noisy.wav" here --rate
numbers "whole number" "-1 60001" "$rill" feed --file "$audio/noisy.wav" here --keep
numbers "whole number" "-1 60001" "$rill" feed --file "$audio/noisy.wav" here --max-latency
numbers "whole number" "-1 60001" "$rill" pipe --max-latency
numbers "whole number" "-1 0 9" "$rill" pipe --channels
numbers "whole number" "-1 0 192001" "$rill" pipe --rate
numbers "whole number" "-1 0 3601" "$rill" stream "$audio/noisy.wav" "$dir/n.wav" --timeout
numbers "whole number" "-1 0 401" "$rill" top --once --columns
numbers "whole number" "-1 0 49" "$rill" top --once --interval-ms
numbers "whole number" "-1 0 8001" "$rill" plot "$audio/noisy.wav" "$dir/n.png" --width
numbers "number" "-1 0 201 0x10 nan inf 9e999 4k" "$rill" plot "$audio/noisy.wav" "$dir/n.png" --range
expect 2 "beam is a whole number from 1 to 64, not ''" "$rill" transcribe "$audio/digits.wav" --beam=
expect 2 "range is a number from 1 to 200, not ''" "$rill" plot --range= "$audio/noisy.wav" "$dir/n.png"
numbers "number" "-1 0" "$rill" bench wiener --seconds
numbers "number" "-1 0" "$rill" live --seconds
numbers "number" "-1 0" "$rill" listen here --seconds
numbers "number" "-1" "$rill" check wiener --tolerance
numbers "number" "-1" "$rill" verify "$dir/n.json" --tolerance
for from in -5 +5 99999999999999999999999 '' 0x10 1.5; do
    expect 2 "from takes now, oldest or a position" "$rill" listen here --socket "$dir/nobody" --from="$from"
done
expect 2 "grace-ms goes with drain" "$rill" ctl status --grace-ms 5
expect 2 "wait with unload" "$rill" ctl load --wait wiener
expect 2 "profile with worst" "$rill" ctl stats --profile
expect 2 "max-latency goes with --pace live" "$rill" pipe --pace file --max-latency 10
expect 2 "one of --vad and --no-vad" "$rill" transcribe --vad silero_v6 --no-vad "$audio/digits.wav"

# ---- files
expect 0 '"latency_ms": 16' "$rill" denoise --json "$audio/noisy.wav" "$dir/clean.wav"
expect 0 "real-time factor" "$rill" denoise "$audio/noisy.wav" "$dir/clean.flac"
# What was done is only told where it is known without the noise.
good "nothing is said of the noise without it" sh -c "! '$rill' denoise '$audio/noisy.wav' '$dir/x.wav' | grep -E 'dB|speech|floor'"
good "nor in JSON" sh -c "! '$rill' denoise --json '$audio/noisy.wav' '$dir/x.wav' | grep -E '_db|kept|noise_'"
expect 0 "against $audio/clean.wav: SI-SDR 1.01 dB before, 9\\.[0-9]* dB after, 7[0-9]\\.[0-9] % of the speech kept" \
    "$rill" denoise --clean "$audio/clean.wav" "$audio/noisy.wav" "$dir/x.wav"
expect 0 '"speech_kept": 0\.7' "$rill" denoise --json --clean "$audio/clean.wav" "$audio/noisy.wav" "$dir/x.wav"
expect 0 '"si_sdr_before_db": null' "$rill" denoise --json --clean "$audio/noisy.wav" "$audio/noisy.wav" "$dir/x.wav"
{ head -c 44 "$audio/noisy.wav" && yes aa | tr -d '\n' | head -c 288000; } >"$dir/constant.wav"
{ head -c 44 "$audio/noisy.wav" && head -c 288000 /dev/zero; } >"$dir/silent.wav"
for still in constant silent; do
    expect 3 "the clean file '$dir/$still.wav' has no sound" "$rill" denoise --clean "$dir/$still.wav" "$audio/noisy.wav" "$dir/x.wav"
done
expect 3 "must be the same recording" "$rill" denoise --clean "$audio/digits.wav" "$audio/noisy.wav" "$dir/x.wav"
expect 4 "nothing.wav" "$rill" denoise --clean "$dir/nothing.wav" "$audio/noisy.wav" "$dir/x.wav"
expect 2 "goes without --keep-delay" "$rill" denoise --keep-delay --clean "$audio/clean.wav" "$audio/noisy.wav" "$dir/x.wav"
expect 2 "goes with denoise" "$rill" vad --clean "$audio/clean.wav" "$audio/noisy.wav" "$dir/x.csv"
good "the output is as long as the input" test "$(wc -c <"$dir/clean.wav")" = "$(wc -c <"$audio/noisy.wav")"
expect 0 "2 spectrograms of 9.00 s" "$rill" plot "$audio/noisy.wav" "$dir/clean.flac" "$dir/both.png"
expect 0 "both.png" sh -c "head -c 4 '$dir/both.png' | grep -q PNG && [ \$(wc -c <'$dir/both.png') -gt 20000 ] && echo both.png"
# A picture that cannot be written leaves what was there; one that can takes a link's file's place.
limited() { (trap '' XFSZ; ulimit -f 4; exec "$rill" plot "$audio/noisy.wav" "$1"); }
echo kept >"$dir/kept.png"
ln -s kept.png "$dir/link.png"
expect 4 "cannot be written" limited "$dir/kept.png"
expect 4 "cannot be written" limited "$dir/link.png"
good "a plot that fails keeps the file" grep -q kept "$dir/kept.png"
good "and the link" test -L "$dir/link.png"
expect 4 "cannot be written" limited "$dir/new.png"
good "and leaves nothing new" sh -c '! ls "$1" | grep -e new.png -e "png\..*"' - "$dir"
chmod 640 "$dir/kept.png"
expect 0 "1 spectrogram" "$rill" plot "$audio/noisy.wav" "$dir/link.png"
good "a link is followed" sh -c 'test -L "$1/link.png" && grep -q PNG "$1/kept.png" && [ "$(stat -c %a "$1/kept.png")" = 640 ]' - "$dir"
mkdir "$dir/folder.png"
expect 4 "cannot be written: Is a directory" "$rill" plot "$audio/noisy.wav" "$dir/folder.png"
expect 2 "is no .png" "$rill" plot "$audio/noisy.wav" "$dir/both.jpg"
expect 4 "No such file" "$rill" plot "$dir/absent.wav" "$dir/x.png"
expect 4 "cannot be written" "$rill" plot "$audio/noisy.wav" "$dir/absent/x.png"
expect 2 "width is a whole number from 100 to 8000" "$rill" plot --width 5 "$audio/noisy.wav" "$dir/x.png"
# le BYTES NUMBER: little endian, for printf
le()
{
    i=0 v=$2
    while [ $i -lt "$1" ]; do printf '\\%03o' $((v % 256)); v=$((v / 256)); i=$((i + 1)); done
}
# one second of floats that are no numbers, infinite, or huge
for bits in '\000\000\300\177' '\000\000\200\177' '\377\377\177\177'; do
    { printf "RIFF$(le 4 64036)WAVEfmt $(le 4 16)$(le 2 3)$(le 2 1)$(le 4 16000)$(le 4 64000)$(le 2 4)$(le 2 32)data$(le 4 64000)"
      k=0; while [ $k -lt 16000 ]; do printf "$bits"; k=$((k + 1)); done; } >"$dir/odd.wav"
    expect 0 "1 spectrogram of 1.00 s" "$rill" plot "$dir/odd.wav" "$dir/odd.png"
    case $bits in
    *200?177 | *300?177) expect 0 '16000 samples of .*odd.wav are NaN or infinite; 0 stands for them' "$rill" denoise "$dir/odd.wav" "$dir/x.wav" ;;
    esac
done
expect 0 '"not_finite": 0,' "$rill" denoise --json "$audio/noisy.wav" "$dir/x.wav"
good "nothing is said of samples that are as they should be" sh -c "! '$rill' denoise '$audio/noisy.wav' '$dir/x.wav' | grep samples"
# 200 Hz at twice full scale: what comes out of its beginning does not fit a file of 16 bits
{ head -c 44 "$dir/odd.wav"
  k=0; while [ $k -lt 16000 ]; do printf '\000\000\000'; [ $((k / 40 % 2)) = 0 ] && printf '\100' || printf '\300'; k=$((k + 1)); done; } >"$dir/loud.wav"
expect 0 '[0-9]* samples of .*x.wav are clipped' "$rill" denoise "$dir/loud.wav" "$dir/x.wav"
expect 0 '"clipped": [1-9]' "$rill" denoise --json "$dir/loud.wav" "$dir/x.wav"
cp "$audio/digits.wav" "$dir/$(printf 'd\377.wav')"
expect 0 '"in": ".*/d?.wav"' "$rill" transcribe --json "$dir/$(printf 'd\377.wav')"
for rate in 8000 11025 44100 48000 192000; do
    frames=$((rate + 37)) bytes=$(((rate + 37) * 2))
    { printf "RIFF$(le 4 $((bytes + 36)))WAVEfmt $(le 4 16)$(le 2 1)$(le 2 1)$(le 4 $rate)$(le 4 $((rate * 2)))$(le 2 2)$(le 2 16)data$(le 4 $bytes)"
      head -c $bytes /dev/urandom; } >"$dir/$rate.wav"
    expect 0 "real-time factor" "$rill" denoise "$dir/$rate.wav" "$dir/out.wav"
    good "at $rate Hz the output is as long as the input" test "$(wc -c <"$dir/out.wav")" = "$(wc -c <"$dir/$rate.wav")"
done
expect 4 "nothing.wav" "$rill" denoise "$dir/nothing.wav" "$dir/x.wav"
echo "this is no audio" >"$dir/text.wav"
expect 4 "text.wav" "$rill" denoise "$dir/text.wav" "$dir/x.wav"
head -c 300 "$audio/noisy.wav" >"$dir/cut.wav"
expect 0 "cut off: its header promises more than the 128 frames" "$rill" denoise "$dir/cut.wav" "$dir/x.wav"
head -c 40 "$audio/noisy.wav" >"$dir/empty.wav"
printf '\000\000\000\000' >>"$dir/empty.wav"
expect 3 "holds no samples" "$rill" denoise "$dir/empty.wav" "$dir/x.wav"
expect 2 "rill convert writes a folder of NNEF, or a file that ends in .tgz" "$rill" convert rill-denoise "$dir/x.tar.bz2"
expect 3 "must end in .wav or .flac" "$rill" denoise "$audio/noisy.wav" "$dir/x.mp3"
# a build folder that lies elsewhere knows where its sources are
mkdir -p "$dir/elsewhere/tools"
cp "$rill" "$(dirname "$rill")/source-root" "$dir/elsewhere/tools"
expect 0 "^gtcrn .*to fetch" env -u RILL_LIBRARY LD_LIBRARY_PATH="$(dirname "$rill")/../clients/c" "$dir/elsewhere/tools/rill" models
# a network alone does not say what its numbers mean
bare=$(dirname "$0")/../models/zoo/tdnn_lstm/model.onnx
for c in denoise vad; do
    expect 3 "graph.nnef.*model.conf.*sample_rate.*kind = audio.*docs/adding.md" "$rill" $c -m "$bare" "$dir/../none.wav" "$dir/none.wav"
done
expect 3 "graph.nnef.*model.conf" "$rill" transcribe -m "$bare" "$dir/none.wav"
expect 3 "graph.nnef.*model.conf" "$rill" vad -m "$(dirname "$0")/../models/tflite/nets/conv.tflite" "$dir/../none.wav" "$dir/none.wav"
expect 3 "kind = audio, vad, keyword, ctc or transducer); docs/adding.md shows one" "$rill" vad -m "$bare" "$dir/../none.wav" "$dir/none.wav"
# declarations are proposed where a size or value is wanted, and to commands that take them
LC_ALL=C sed 's/LSTM/LOST/g' "$bare" >"$dir/op.onnx"
expect 3 "op 'LOST' .*is not supported" "$rill" inspect "$dir/op.onnx"
good "an op that is not known is no size that is left open" sh -c "! '$rill' inspect '$dir/op.onnx' 2>&1 | grep -e --shape"
good "nor do commands name options that they lack" sh -c "! '$rill' denoise -m '$dir/op.onnx' '$audio/noisy.wav' '$dir/x.wav' 2>&1 | grep -e --shape"
left=$(dirname "$0")/left_open
good "a loop that may go no round is written" "$rill" convert "$left/loop.onnx" "$dir/loop.onnx"
expect 0 "z *f32\[0,2\]" "$rill" run --pass typed "$dir/loop.onnx" # its body says what a round would stack
own=$(dirname "$0")/../conformance/own/batch_open
for to in open.onnx open; do
    good "an open batch is written open: $to" "$rill" convert "$own/model.onnx" "$dir/$to"
    expect 0 "mul2_0 *f32\[2,7,4\]" "$rill" run -i "x=$own/test_data_set_0/input_0.pb" -i "seen=$own/test_data_set_0/input_1.pb" --set B=2 "$dir/$to"
done
expect 0 "symbol 'B' is taken as 1, as a stream has one recording (--set B=2 takes another number)" \
    "$rill" convert --pulse 2 "$own/model.onnx" "$dir/single.onnx"
expect 0 "symbol 'B' is taken as 1" "$rill" convert -t "window(x, 4, 2)" "$own/model.onnx" "$dir/windows.onnx"
expect 0 "nodes" "$rill" convert --pulse 2 --set B=2 "$own/model.onnx" "$dir/pair.onnx"
growing=$(dirname "$0")/../models/growing
for to in gpt2.onnx gpt2; do # positions of one batch behind the other are sizes of four axes
    good "a batch of two is written: $to" "$rill" convert --set batch_size=2 "$growing/gpt2.onnx" "$dir/$to"
done
given="; --shape INPUT=1,S,.., --const INPUT=VALUE and --set SYMBOL=VALUE give sizes and values that the file leaves open"
expect 0 "data decides its size" "$rill" inspect "$left/range.onnx"
expect 3 "$given: x f32\\[1,2,T\\]\$" "$rill" bench "$left/resize.onnx"
good "nor where a number in its place would be refused as well" sh -c "! '$rill' inspect '$left/half.onnx' 2>&1 | grep -e --shape"
good "which commands name that take them" sh -c "! '$rill' denoise -m '$left/resize.onnx' '$audio/noisy.wav' '$dir/x.wav' 2>&1 | grep -e --shape"
expect 0 "1 nodes after folding" "$rill" inspect --const n=4 "$left/range.onnx"
expect 0 "1 nodes after folding" "$rill" inspect --set T=4 "$left/resize.onnx"
expect 3 "no model 'nosuch'" "$rill" denoise -m nosuch "$audio/noisy.wav" "$dir/x.wav"
expect 4 "no/such/folder" "$rill" denoise "$audio/noisy.wav" "$dir/no/such/folder/x.wav"
expect 3 "speech probabilities" "$rill" vad -m wiener "$audio/noisy.wav" "$dir/x.csv"

# ---- models
expect 0 "wiener.*built in" "$rill" models
expect 0 "rill-denoise.*built in" "$rill" models
expect 0 '"name": "gtcrn"' "$rill" models --json
good "what is built in is present, what is to be fetched is not" sh -c "'$rill' models --json | tr -d '\n' >'$dir/models' &&
    grep -q '\"name\": \"rill-denoise\",[^}]*\"present\": true' '$dir/models' && grep -q '\"name\": \"silero_v6\",[^}]*\"present\": false' '$dir/models'"
expect 0 "^silero_v6 .*to fetch, 2.3 MB" "$rill" models
expect 0 "^ml_kws_gru_s .*from a folder" "$rill" models
expect 3 "no model 'nosuch'" "$rill" models get nosuch
expect 4 "has no gtcrn" "$rill" models get gtcrn --from "$dir"
expect 4 "rill models get gtcrn" env RILL_MODEL_PATH="$RILL_LIBRARY" "$rill" inspect gtcrn
expect 4 "are not here; fetch them with: rill models get gtcrn" env RILL_MODEL_PATH= "$rill" denoise -m gtcrn "$audio/noisy.wav" "$dir/x.wav"
mkdir -p "$dir/from/gtcrn"
echo "not the weights" >"$dir/from/gtcrn/gtcrn_simple.onnx"
expect 3 "from/gtcrn/gtcrn_simple.onnx: has 16 bytes, expected [0-9]*; not kept" "$rill" models get gtcrn --from "$dir/from" --to "$dir/got"
expect 3 "nobody publishes this file" "$rill" models get ml_kws_gru_m --to "$dir/got"
mkdir -p "$dir/shelf/scaled" "$dir/shelf/sized"
printf 'version 1.0;\ngraph g(pcm) -> (out)\n{\n    pcm = external<scalar>(shape = [S]);\n    out = pcm * variable<scalar>(shape = [1], label = "w");\n}\n' >"$dir/shelf/scaled/graph.nnef"
printf '[model]\ntask = denoise\nsample_rate = 16000\n[input.pcm]\nkind = audio\n[output.out]\nkind = audio\n[weights.w.dat]\nfrom = w.dat\n' >"$dir/shelf/scaled/model.conf"
cp "$dir/shelf/scaled/graph.nnef" "$dir/shelf/sized"
{ cat "$dir/shelf/scaled/model.conf"; printf 'sha256 = %064d\nbytes = 132\n' 1; } >"$dir/shelf/sized/model.conf"
{ printf "\\116\\357\\001\\000$(le 4 4)$(le 4 1)$(le 4 1)$(le 28 0)$(le 4 32)$(le 40 0)$(le 40 0)\\000\\000\\000\\100"; } >"$dir/w.dat"
shelf() { RILL_LIBRARY="$dir/shelf" "$rill" models get "$@" --from "$dir/from" --to "$dir/got"; }
cp "$dir/w.dat" "$dir/from"
expect 0 "scaled opens with it; its SHA-256 is $(sha256sum <"$dir/w.dat" | cut -c 1-64)" shelf scaled
good "weights without a checksum are taken" cmp "$dir/w.dat" "$dir/got/scaled/w.dat"
expect 0 "scaled" "$rill" check "$dir/got/scaled"
at_once()
{
    for k in 1 2 3 4 5 6 7 8; do
        { shelf scaled >"$dir/once$k" 2>&1 || echo failed >>"$dir/once$k"; } &
        runs="$runs $!"
    done
    wait $runs
    ! grep -l failed "$dir"/once? && cat "$dir"/once? && [ "$(ls -A "$dir/got")" = scaled ]
}
runs=''
good "several runs at once" at_once
good "several runs at once leave it whole" cmp "$dir/w.dat" "$dir/got/scaled/w.dat"
in_place() { RILL_LIBRARY="$dir/shelf" "$rill" models get scaled --from "$dir/from" --to "$dir/shelf"; }
shipped=$(ls -i "$dir/shelf/scaled")
cp "$dir/text.wav" "$dir/from/w.dat"
expect 3 "scaled does not open with these weights, which are not kept: .*not a tensor file" in_place
good "in place: nothing is kept of what does not open" test "$(ls -i "$dir/shelf/scaled")" = "$shipped"
cp "$dir/w.dat" "$dir/from"
expect 0 "scaled opens with it" in_place
good "weights without a checksum in place" cmp "$dir/w.dat" "$dir/shelf/scaled/w.dat"
rm "$dir/shelf/scaled/w.dat"
good "in place: shipped files are left alone" test "$(ls -i "$dir/shelf/scaled")" = "$shipped"
: >"$dir/from/w.dat"
expect 3 "w.dat" shelf scaled
head -c 130 "$dir/w.dat" >"$dir/from/w.dat"
expect 3 "scaled does not open with these weights, which are not kept: .*w.dat" shelf scaled
cp "$dir/text.wav" "$dir/from/w.dat"
expect 3 "not a tensor file" shelf scaled
good "what opened before stays" cmp "$dir/w.dat" "$dir/got/scaled/w.dat"
rm -r "$dir/got/scaled"
expect 3 "not a tensor file" shelf scaled
good "no folder is left of weights that do not open" test "$(ls -A "$dir/got")" = ""
cat "$dir/w.dat" - <"$dir/text.wav" >"$dir/from/w.dat"
expect 3 "w.dat: has 149 bytes, expected 132" shelf sized
printf weights >"$dir/from/GRU_M.onnx"
expect 3 "ml_kws_gru_m does not open with these weights" "$rill" models get ml_kws_gru_m --from "$dir/from" --to "$dir/got"
good "a wrong file is not kept" test ! -e "$dir/got/gtcrn/gtcrn_simple.onnx"

expect 0 "rill-digits is built in" "$rill" models get rill-digits
expect 0 "three one four" "$rill" transcribe -m rill-digits "$audio/digits.wav"
expect 0 "rill-digits is in $dir/got" "$rill" models get rill-digits --to "$dir/got"
expect 0 "three one four" "$rill" transcribe -m "$dir/got/rill-digits" "$audio/digits.wav"
expect 0 "licence" cat "$dir/got/rill-digits/MODEL.md"
cp -r "$dir/got/rill-digits" "$dir/own"
expect 3 "lies here under that name is ./own" sh -c "cd '$dir' && '$rill' inspect own"
echo kept >"$dir/kept.txt"
expect 4 "nothing.wav" "$rill" transcribe -o "$dir/kept.txt" "$dir/nothing.wav"
expect 0 kept cat "$dir/kept.txt"

# ---- inspect, bench
expect 0 '"latency_samples": 256' "$rill" inspect --json wiener
expect 0 "256 frames a pulse" "$rill" inspect --latency 32ms wiener
expect 0 "is 256 late already" "$rill" inspect --latency 20ms wiener
expect 3 "no number of milliseconds" "$rill" inspect --latency soon wiener
expect 3 "'40' is no number of milliseconds with its unit" "$rill" inspect --latency 40 wiener
bare=$(dirname "$0")/../pulse/skips.onnx
expect 0 "states no sample rate; one in input frames" "$rill" inspect --latency 20ms "$bare"
expect 0 "8 frames a pulse" "$rill" inspect --latency 8frames "$bare"
expect 0 "OverlapAdd" "$rill" inspect --pass typed wiener
expect 0 "Scan" "$rill" inspect --pass model wiener
expect 0 "state " "$rill" inspect --pass pulsed wiener
expect 0 "OverlapAdd" "$rill" inspect --pass settled wiener
expect 0 "OverlapAdd" "$rill" inspect --pass plan wiener
expect 0 "steps for c," env RILL_CPU=c "$rill" inspect --pass plan wiener
expect 0 " c      rfft_f32" env RILL_CPU=c "$rill" inspect --pass plan wiener
best=$("$rill" inspect --json wiener | sed -n 's/.*"cpu": "\(.*\)".*/\1/p')
expect 0 " $best *rfft_f32" "$rill" inspect --pass plan wiener
expect 0 " c *OverlapAdd" "$rill" inspect --pass plan wiener
expect 0 " $best *cell_seq_i16" "$rill" inspect --pass plan -t 'recurrent_weights(i16)' rill-digits
expect 3 "RILL_CPU is 'sse9'; known on this kind of processor: c, " env RILL_CPU=sse9 "$rill" inspect --pass plan wiener
expect 2 "unknown pass" "$rill" inspect --pass nosuch wiener
expect 2 "it is called 'settled'" "$rill" inspect --pass pulse-declutter wiener
expect 3 "inspect: .*RILL_CPU is 'sse9'" env RILL_CPU=sse9 "$rill" inspect wiener
if grep -q "after hoist" "$dir/said"; then fail "a wrong RILL_CPU is told after the passes"; else pass; fi
zoo=$(dirname "$0")/../models/zoo
expect 0 "says   decode_chunk_len  *16" "$rill" inspect "$zoo/../transducer/encoder.onnx"
expect 0 "output new_cached_key  *f32\\[8,N,24\\]" "$rill" inspect --state none "$zoo/../transducer/encoder.onnx"
expect 0 "latency of 'out': 256 frames, 256 input frames, 16 ms" "$rill" inspect wiener
expect 0 "+1 frames, +3 input frames  /tdnn4/Conv (Conv)" "$rill" inspect --pulse 24 "$zoo/tdnn_lstm/model.onnx"
expect 0 "237568 a pulse, 1 times what the whole-sequence run does" "$rill" inspect --pulse 8 "$zoo/wavenet/model.onnx"
expect 0 "smallest legal pulse: 3 input frames" "$rill" inspect --pulse 8 "$zoo/tdnn_lstm/model.onnx"
expect 0 "(Cast) counts frames in f32, which skips numbers after 16777216 frames" "$rill" inspect "$zoo/fullsubnet/model.onnx"
mkdir "$dir/wraps"
printf 'version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol T;\ngraph g(x) -> (y)\n{\n    x = external<scalar>(shape = [1, T]);\n    k = tract_core_cast(tract_core_range(0, T, 1), to = "i32") * tract_core_cast(100, to = "i32");\n    y = x + unsqueeze(tract_core_cast(k, to = "f32"), axes = [0]);\n}\n' >"$dir/wraps/graph.nnef"
expect 0 "'k' (Mul) counts frames in i32, which wraps after 21474836 frames" "$rill" inspect "$dir/wraps"
mkdir "$dir/sinks" "$dir/near_sinks"
printf 'version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol T;\ngraph g(x) -> (y)\n{\n    x = external<scalar>(shape = [1, T, 4]);\n    p = tract_core_range(0, T, 1);\n    i = unsqueeze(p, axes = [1]);\n    j = unsqueeze(p, axes = [0]);\n    shown = ge(i - j, 0) && (lt(i - j, 8) || lt(j, 2));\n    far = tract_core_cast(DISTANCE, to = "f32");\n    s = matmul(x, x, transposeB = true) + unsqueeze(far * -0.1, axes = [0]);\n    w = softmax(select(unsqueeze(shown, axes = [0]), s, -1e30), axes = [2]);\n    y = matmul(w, x);\n}\n' >"$dir/of_distances"
sed 's/DISTANCE/(i - j) * 4/' "$dir/of_distances" >"$dir/sinks/graph.nnef"
sed 's/DISTANCE/min(i - j, 100)/' "$dir/of_distances" >"$dir/near_sinks/graph.nnef"
expect 0 "'s' counts, from the first keys of the sequence on, frames in f32, which skips numbers after 4194304 frames" "$rill" inspect "$dir/sinks"
expect 0 "from the first keys of the sequence on, frames in f32" "$rill" check --pulse 1 --length 9 "$dir/sinks"
good "bounded distances beside first keys" "$rill" inspect "$dir/near_sinks"
if grep -q "counts" "$dir/said"; then fail "distances that are bounded count"; else pass; fi
expect 0 '"of_whole_run": 1.0' "$rill" inspect --json "$zoo/tdnn_lstm/model.onnx"

expect 0 "/tdnn3/Conv (Conv): axis 2, window(left 0, right 2, stride 3, dilation 1)" \
    "$rill" inspect --axes "$zoo/tdnn_lstm/model.onnx"
expect 0 "window(left 4, right 0, stride 1, dilation 2)" "$rill" inspect --axes "$zoo/gtcrn/model.onnx"

# ---- compile
expect 0 "pulses of 256 frames" "$rill" compile wiener -o "$dir/w.rill"
expect 0 "pulses of 512 frames" "$rill" compile wiener -o "$dir/w.rill" --pulse 512
rm "$dir/w.rill"
expect 2 "pulses of 100 frames: node .*--pulse 256" "$rill" compile wiener -o "$dir/w.rill" --pulse 100
expect 2 "pulses of 300 frames: node .*--pulse 512" "$rill" compile wiener -o "$dir/w.rill" --pulse 300
expect 2 "pulses of 8 frames: node '.*' (MatMul): .* 2 frames .* chunks of its mask, 4 frames; .*--pulse 16" \
    "$rill" compile "$zoo/conformer/model.onnx" -o "$dir/w.rill" --pulse 8
expect 2 "pulses of 3 frames: node '.*' (Conv): .* 3 frames .* its hop, 2 frames; .*--pulse 16" \
    "$rill" compile "$zoo/conformer/model.onnx" -o "$dir/w.rill" --pulse 3
expect 2 "pulse is a whole number from 1 to .*, not '0'" "$rill" compile wiener -o "$dir/w.rill" --pulse 0
expect 2 "pulse is a whole number from 1 to .*, not '-1'" "$rill" compile wiener -o "$dir/w.rill" --pulse -1
good "a pulse that is refused leaves no file" test ! -e "$dir/w.rill"

# ---- the slow way through loops
expect 0 "real-time factor" "$rill" denoise --no-scan-reuse "$audio/noisy.wav" "$dir/slow.wav"
good "--no-scan-reuse gives the same file" cmp "$dir/clean.wav" "$dir/slow.wav"

# ---- check
head -c 3000 /dev/urandom >"$dir/random.onnx"
expect 0 "all bits the same" "$rill" check wiener --pulse 256,700 --length 0,1,255,3000
expect 0 "all bits the same" "$rill" check rill-denoise --pulse 256,700 --length 0,1,255,3000
expect 0 "^20 passed, 0 failed$" "$rill" check "$zoo/../../clients/ports/longer.onnx" --pulse 1,2,3,4,64 --length 0,1,20,23
expect 0 "^2 passed, 0 failed$" "$rill" check "$zoo/dualpath/model.onnx" --pulse 1,5 --length 19 --seed 3
expect 0 "output 'taps': largest difference 0, all bits the same" "$rill" check "$zoo/dfn3/model.onnx"
expect 0 "^2 passed, 0 failed$" "$rill" check wiener "$audio/noisy.wav" --pulse 256,4096
expect 0 "^1 passed, 0 failed$" "$rill" check wiener "$dir/odd.wav" --pulse 256
expect 0 "length 1 *ok: too short for a frame, and none comes" "$rill" check "$zoo/wavenet/model.onnx" --pulse 8
expect 3 "takes no recording" "$rill" check "$zoo/gtcrn/model.onnx" "$audio/noisy.wav"
# ---- what a run keeps has a limit, which known sizes are held against before it begins
doubled() # doubled N: x twice along its three axes in turn, N times
{
    printf 'version 1.0;\ngraph doubled(x) -> (y)\n{\n    x = external<scalar>(shape = [1, S, 4]);\n    x0 = relu(x);\n'
    i=0
    while [ "$i" -lt "$1" ]; do
        printf '    x%d = concat([x%d, x%d], axis = %d);\n' $((i + 1)) "$i" "$i" $((i % 3))
        i=$((i + 1))
    done
    printf '    y = relu(x%d);\n}\n' "$1"
}
doubled 40 >"$dir/doubled.nnef"
expect 3 "node 'x40' (Concat): 'x40': a tensor of .* bytes; the run keeps .* over the limit of .*; --max-memory MB raises it" "$rill" run --set S=5 "$dir/doubled.nnef"
doubled 14 >"$dir/doubled.nnef"
expect 0 "f32\[32,160,64\]" "$rill" run --set S=5 --max-memory 5 "$dir/doubled.nnef"
expect 3 "the run keeps .* over the limit of .*; --max-memory" "$rill" run --set S=5 --max-memory 1 "$dir/doubled.nnef"
expect 3 "input 'x' is f32\[1,5000000,4\]: over the limit of .*; --max-memory" "$rill" run --set S=5000000 --max-memory 1 "$dir/doubled.nnef"
numbers "whole number" "-1 0" "$rill" run "$dir/doubled.nnef" --max-memory
cat >"$dir/global.nnef" <<TEXT
version 1.0;
graph global(x) -> (y)
{
    x = external<scalar>(shape = [S, 4]);
    y = softmax(relu(x), axes = [0]);
}
TEXT
expect 1 "y.*Softmax.*axis 0" "$rill" check "$dir/global.nnef"
expect 1 "^0 passed, 1 failed$" "$rill" check "$dir/global.nnef"
expect 3 "random.onnx" "$rill" check "$dir/random.onnx"
cat >"$dir/beside.nnef" <<TEXT
version 1.0;
graph beside(x, e) -> (y)
{
    x = external<scalar>(shape = [1, 4, S]);
    e = external<scalar>(shape = [1, 4, 1]);
    y = box(x * e, size = [1, 1, 5], padding = [(0, 0), (0, 0), (2, 2)], border = 'constant', stride = [1, 1, 1],
            dilation = [1, 1, 1]) + tanh(e);
}
TEXT
expect 0 "^6 passed, 0 failed$" "$rill" check "$dir/beside.nnef" --pulse 1,7 --length 1,6,30
expect 2 "lists of at most" "$rill" check wiener --pulse 1,x
expect 4 "rill models get gtcrn" env RILL_MODEL_PATH="$RILL_LIBRARY" "$rill" check gtcrn
expect 0 '"median_us"' "$rill" bench --json --seconds 0.1 wiener
expect 0 "rfft" "$rill" bench --profile --seconds 0.1 wiener
expect 3 "random.onnx" "$rill" inspect "$dir/random.onnx"
: >"$dir/empty.onnx"
expect 3 "empty" "$rill" inspect "$dir/empty.onnx"

# ---- bodies of Scans against the wires around them
{
    cat <<'TEXT'
version 1.0;
fragment cell(x: tensor<scalar>, h: tensor<scalar>, whole: tensor<scalar>) -> (y: tensor<scalar>, next: tensor<scalar>)
{
    next = tanh(0.5 * h + x + whole);
    y = next * x;
}
graph bands(x) -> (out)
{
    x = external<scalar>(shape = [S, 3, 4]);
    b0 = transpose(x, axes = [1, 0, 2]);
    start = squeeze(sum_reduce(b0, axes = [0]), axes = [0]);
TEXT
    i=0
    while [ $i -lt 100 ]; do
        echo "b$((i + 1)) = rill_scan(b$i, body = cell, state = [(h, next, start)], full = [(whole, start)]);"
        i=$((i + 1))
    done
    echo "out = transpose(b100, axes = [1, 0, 2]); }"
} >"$dir/bands.nnef"
for pass in model typed decluttered pulsed settled plan; do
    expect 0 "^$pass: 100 Scans, 0 drifting" "$rill" inspect --check --pulse 4 "$dir/bands.nnef"
done
expect 0 "b7 (Scan): 1 states, 1 scanned, 1 captures, 3 iterations: facts ok" "$rill" inspect --check "$dir/bands.nnef"
expect 1 "^pulsed: 100 Scans, 100 drifting" "$rill" inspect --check --pulse 4 --no-body-substitution "$dir/bands.nnef"
expect 1 "slot 2 (capture): outside f32\[4,4\], in the body f32\[S,4\]" \
    "$rill" inspect --check --pulse 4 --no-body-substitution "$dir/bands.nnef"
expect 0 "^pulsed: 1 Scans, 0 drifting" "$rill" inspect --check wiener
expect 0 '"rate": null' "$rill" inspect --json "$(dirname "$0")/../models/zoo/tdnn_lstm/model.onnx"
expect 0 '"rate": 16000,' "$rill" inspect --json wiener
mkdir -p "$dir/slow"
printf 'version 1.0;\ngraph g(pcm) -> (out)\n{\n    pcm = external<scalar>(shape = [S]);\n    frames = rill_frame(pcm, size = 512, hop = 512);\n    out = mean_reduce(frames * frames, axes = [1]);\n}\n' >"$dir/slow/graph.nnef"
printf '[model]\ntask = vad\nsample_rate = 16000\n[input.pcm]\nkind = audio\n[output.out]\nkind = vad\n' >"$dir/slow/model.conf"
expect 0 '"rate": 31.25,' "$rill" inspect --json "$dir/slow"
if "$rill" inspect --help | grep -q substitution; then fail "the help shows a hidden option"; else pass; fi

# Audio at another rate than its input is refused at every door, as is an input of no rate.
mkdir -p "$dir/doors/faster" "$dir/doors/rateless"
printf 'version 1.0;\ngraph g(pcm) -> (out)\n{\n    pcm = external<scalar>(shape = [S]);\n    pairs = rill_frame(pcm, size = 2, hop = 2);\n    out = reshape(concat([pairs, slice(pairs, axes = [1], begin = [0], end = [1])], axis = 1), shape = [-1]);\n}\n' >"$dir/doors/faster/graph.nnef"
printf '[model]\ntask = denoise\nsample_rate = 16000\n[input.pcm]\nkind = audio\n[output.out]\nkind = audio\n' >"$dir/doors/faster/model.conf"
sed 's/concat(.*axis = 1)/pairs/' "$dir/doors/faster/graph.nnef" >"$dir/doors/rateless/graph.nnef"
sed /sample_rate/d "$dir/doors/faster/model.conf" >"$dir/doors/rateless/model.conf"
expect 0 "24000 frames/s" "$rill" inspect "$dir/doors/faster"
expect 3 "comes out at another rate than it goes in, 3 samples for 2; a stream wants them alike" \
    "$rill" denoise -m "$dir/doors/faster" "$audio/noisy.wav" "$dir/x.wav"
expect 3 "comes out at another rate" "$rill" live --seconds 1 -m "$dir/doors/faster"
sed 's/(out)/(out, logp)/; s/^}/    logp = rill_frame(pcm, size = 2, hop = 2);\n}/' "$dir/doors/faster/graph.nnef" >"$dir/doors/faster/said.nnef"
mv "$dir/doors/faster/said.nnef" "$dir/doors/faster/graph.nnef"
printf '[output.logp]\nkind = ctc\ntokens = tokens.txt\n' >>"$dir/doors/faster/model.conf"
printf '<blk> 0\na 1\n' >"$dir/doors/faster/tokens.txt"
good "its words are none of that" "$rill" transcribe -m "$dir/doors/faster" "$audio/noisy.wav" -o "$dir/x.txt"
expect 3 "comes out at another rate" "$rill" transcribe --audio "$dir/x.wav" -m "$dir/doors/faster" "$audio/noisy.wav"
for c in "denoise" "live --seconds 1"; do
    expect 3 "model '.*rateless' states no sample rate" "$rill" $c -m "$dir/doors/rateless" $([ "$c" = denoise ] && echo "$audio/noisy.wav" "$dir/x.wav")
done
mkdir -p "$dir/doors/fixed"
printf 'version 1.0;\ngraph g(pcm) -> (out)\n{\n    pcm = external<scalar>(shape = [S]);\n    out = pcm * 0.5;\n}\n' >"$dir/doors/fixed/graph.nnef"
sed '/logp/,$d' "$dir/doors/faster/model.conf" >"$dir/doors/fixed/model.conf"
expect 3 "input 'pcm' of model '.*fixed' does not stream: no symbol of its size counts time" \
    "$rill" denoise --set S=16000 -m "$dir/doors/fixed" "$audio/noisy.wav" "$dir/x.wav"

# What README prints of the demo is so; of the noise as much is left as model.conf says.
expect 0 "$(sed -n 's/.*\(SI-SDR .* of the speech kept\)$/\1/p' "$audio/../../README.md")" \
    "$rill" denoise --clean "$audio/clean.wav" "$audio/noisy.wav" "$dir/x.wav"
cp -r "$audio/../../models/library/rill-denoise" "$dir/limited"
sed -i 's/^atten_lim_db = .*/atten_lim_db = 0/' "$dir/limited/model.conf"
expect 0 "SI-SDR inf dB before, inf dB after, 100.0 % of the speech kept" \
    "$rill" denoise -m "$dir/limited" --clean "$audio/noisy.wav" "$audio/noisy.wav" "$dir/x.wav"
sed -i 's/^atten_lim_db = .*/atten_lim_db = -1/' "$dir/limited/model.conf"
expect 3 "atten_lim_db" "$rill" denoise -m "$dir/limited" "$audio/noisy.wav" "$dir/x.wav"

# An assertion about lengths holds of every whole sequence, compiled or not.
mkdir -p "$dir/doors/asserted"
sed 's/^graph /extension rill_assert S == 65536*(S\/65536);\n&/' "$dir/doors/fixed/graph.nnef" >"$dir/doors/asserted/graph.nnef"
mv "$dir/doors/fixed/model.conf" "$dir/doors/asserted"
rm -r "$dir/doors/fixed"
expect 0 "bytes, for" "$rill" compile "$dir/doors/asserted" -o "$dir/asserted.rill"
for m in "$dir/doors/asserted" "$dir/asserted.rill"; do
    expect 3 "'S == 65536\*(S/65536)' is asserted, but does not hold of" \
        "$rill" denoise -m "$m" "$audio/noisy.wav" "$dir/x.wav"
done

# ---- the daemon
printf '[daemon]\nsocket = %s\ncontrol_socket = %s\n[models]\nmodel_path = %s\n' "$dir/s" "$dir/c" "$dir/doors" >"$dir/conf"
expect 4 "$dir/s" "$rill" stream --socket "$dir/s" "$audio/noisy.wav" "$dir/x.wav"
daemon_start "$rilld" "$dir/conf"
expect 0 '"out_samples": 144000' "$rill" stream --json --socket "$dir/s" "$audio/noisy.wav" "$dir/streamed.wav"
expect 0 "SI-SDR 1.01 dB before" "$rill" stream --socket "$dir/s" --clean "$audio/clean.wav" "$audio/noisy.wav" "$dir/x.wav"
good "and says the same of it" sh -c "'$rill' stream --socket '$dir/s' --json --clean '$audio/clean.wav' '$audio/noisy.wav' '$dir/x.wav' |
    grep -E '_db|kept' >'$dir/one'; '$rill' denoise --json --clean '$audio/clean.wav' '$audio/noisy.wav' '$dir/x.wav' |
    grep -E '_db|kept' | cmp - '$dir/one'"
expect 3 "gives audio" "$rill" stream --socket "$dir/s" -m rill-digits --clean "$audio/digits.wav" "$audio/digits.wav" "$dir/x.txt"
expect 0 "rill-digits  *transcribe  *ready  *16000 Hz  *Spoken" "$rill" ctl --socket "$dir/c" models
good "the daemon's output is that of rill denoise" cmp "$dir/streamed.wav" "$dir/clean.wav"
expect 5 "comes out at another rate" "$rill" stream --socket "$dir/s" -m faster "$audio/noisy.wav" "$dir/x.wav"
expect 5 "sample rate is not declared" "$rill" stream --socket "$dir/s" -m rateless "$audio/noisy.wav" "$dir/x.wav"
expect 5 "NO_MODEL" "$rill" stream --socket "$dir/s" -m nosuch "$audio/noisy.wav" "$dir/x.wav"
expect 0 "running" "$rill" ctl --socket "$dir/c" status
expect 0 '"state": "running"' "$rill" ctl --socket "$dir/c" --json status
expect 0 '"sessions"' "$rill" ctl --socket "$dir/c" --json sessions
expect 0 "wiener" "$rill" ctl --socket "$dir/c" models
good "what is not loaded has no rate" sh -c "! '$rill' ctl --socket '$dir/c' models | grep -E ' 0 (Hz|samples)'"
expect 5 "'S == 65536\*(S/65536)' is asserted, but does not hold of" \
    "$rill" stream --socket "$dir/s" -m asserted "$audio/noisy.wav" "$dir/x.wav"
good "in JSON it is null" sh -c "'$rill' ctl --socket '$dir/c' --json models | tr -d '\n' | grep -q '\"name\": \"wiener\", *\"state\": \"known\", *\"error\": \"\", [^}]*\"rate\": null'"
expect 0 " us" "$rill" ctl --socket "$dir/c" ping
for conn in -18446744073709551615 +1 '' 0x1 1.5; do
    expect 2 "is no connection number" "$rill" ctl --socket "$dir/c" kick -- "$conn"
done
echo "nonsense = 1" >>"$dir/conf"
expect 5 "nonsense" "$rill" ctl --socket "$dir/c" reload
expect 2 "unknown verb" "$rill" ctl --socket "$dir/c" nonsense
expect 0 "" "$rill" ctl --socket "$dir/c" drain
if wait $daemon; then pass; else fail "the drained daemon" "$dir/log"; fi
daemon=

# ---- a microphone that is a file
if [ -f /usr/share/alsa/alsa.conf ]; then
    head -c 4000000 /dev/zero >"$dir/mic.raw"
    cat >"$dir/asound.conf" <<ALSA
</usr/share/alsa/alsa.conf>
pcm.!default { type asym playback.pcm "rillsink" capture.pcm "rillmic" }
pcm.rillmic { type file slave.pcm "null" file "/dev/null" infile "$dir/mic.raw" format "raw" }
pcm.rillsink { type file slave.pcm "null" file "$dir/speaker.raw" format "raw" }
ALSA
    # the sound system's plug-ins leak and are unloaded before anybody looks
    export ALSA_CONFIG_PATH="$dir/asound.conf" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
    expect 0 "rillmic" "$rill" devices
    expect 0 '"name": "rillmic"' "$rill" devices --json
    expect 0 "rtf" "$rill" live --in-device rillmic --seconds 1.3 --json --out "$dir/live.wav"
    good "live writes" test "$(wc -c <"$dir/live.wav")" -gt 10000
    expect 0 "dBFS" "$rill" live --in-device rillmic --out-device rillsink --seconds 1.3
    good "the speaker hears it" test "$(wc -c <"$dir/speaker.raw")" -gt 10000
    expect 3 "'S<1000' is asserted, but does not hold of" "$rill" live --in-device rillmic --seconds 0.5 --assert 'S<1000'
    expect 4 "no microphone like nosuch" "$rill" live --in-device nosuch --seconds 1
else
    skipped=$((skipped + 8))
    echo "no ALSA configuration on this machine: the microphone is skipped"
fi

finish
