#!/bin/sh
# SPDX-License-Identifier: MIT
# Words by the commands of rill, of a model that reads what it is told.  transcribe.sh RILL TONES RILLD WORDS
. "$(dirname "$0")/../lib.sh"
rill=$1 skipped=0
folder_make
"$2" "$dir" "....1.22.3........................111...4446........................7..5....." || exit 1

# is NAME EXPECTED COMMAND...: standard output, line ends as '|'.
is()
{
    name=$1 want=$2
    shift 2
    got=$(timeout 120 "$@" 2>"$dir/err" | tr '\n' '|')
    if [ "$got" = "$want" ]; then
        pass
    else
        fail "$name" "$dir/err"
        printf '  got    %s\n  wanted %s\n' "$got" "$want"
    fi
}

errors_of()
{
    timeout 120 "$@" >/dev/null
}

# refused CODE WORDS COMMAND...: the words on standard error.
refused()
{
    want=$1 words=$2
    shift 2
    expect "$want" "$words" errors_of "$@"
}

m="$dir/tones" wav="$dir/said.wav"
text="[up]|one two|[yes]|one threes|four|"
is "text" "$text" "$rill" transcribe -m "$m" "$wav"
is "text, by name" "$text" "$rill" transcribe -m "$m" --text "$wav"
is "greedy" "$text" "$rill" transcribe -m "$m" --beam 1 "$wav"
is "without the detector" "$text" "$rill" transcribe -m "$m" --no-vad "$wav"
is "a detector of its own" "one two|one threes|four|" \
    "$rill" transcribe -m "$m" -t 'select_outputs(logp)' --vad "$m" "$wav"
is "words alone" "one two|one threes|four|" "$rill" transcribe -m "$m" -t 'select_outputs(logp)' "$wav"
is "subtitles" "1|00:00:00,040 --> 00:00:00,100|one two||2|00:00:00,340 --> 00:00:00,440|one threes||3|00:00:00,710 --> 00:00:00,720|four||" \
    "$rill" transcribe -m "$m" -t 'select_outputs(speech, logp)' --srt "$wav"
digits="$(dirname "$0")/../../models/library/rill-digits"
spoken="$(dirname "$0")/../../examples/audio/digits.wav"
begin() { # BYTES RIFF-BYTES DATA-BYTES, the latter two as they stand in the file: what it begins with
    printf "RIFF$2"
    head -c 40 "$spoken" | tail -c 32
    printf "$3"
    head -c $(($1 + 44)) "$spoken" | tail -c "$1"
}
begin 12000 '\004\057\000\000' '\340\056\000\000' >"$dir/cut.wav"         # within "three"
begin 17600 '\344\104\000\000' '\300\104\000\000' >"$dir/doubtful.wav"    # within "one"
is "words end with the recording" "1|00:00:00,360 --> 00:00:00,375|three||" "$rill" transcribe -m "$digits" --srt "$dir/cut.wav"
good "without a model: who hears, and what that knows" sh -c "'$rill' transcribe '$spoken' 2>&1 >/dev/null |
    grep 'rill-digits, which knows nothing but: zero one two three four five six seven eight nine$'"
good "and the recognisers at hand" sh -c "RILL_MODEL_PATH='$(dirname "$0")/../models' '$rill' transcribe '$spoken' 2>&1 >/dev/null |
    grep -A 99 'at hand' | grep -c '^  rill-digits  \|^  transducer ' | grep -x 2"
# Those at hand are told by model.conf alone: no network is opened, and what is not whole is not there.
mkdir -p "$dir/library/heard" "$dir/library/fetched" "$dir/library/cleans"
printf '[model]\ntask = asr\nsummary = hears\n[output.o]\nkind = ctc\n' >"$dir/library/heard/model.conf"
printf '[output.o]\nkind = transducer\n[weights.net.onnx]\nbytes = 1\n' >"$dir/library/fetched/model.conf"
printf '[model]\ntask = asr\n[output.o]\nkind = audio\n' >"$dir/library/cleans/model.conf"
for l in heard fetched cleans; do
    echo 'no graph' >"$dir/library/$l/graph.nnef"
done
cp -r "$digits" "$dir/library/"
is "who is at hand is not opened, and told once" "  rill-digits         Spoken English digits, written down as they are said|  heard               hears|" \
    sh -c "RILL_MODEL_PATH='$dir/library' XDG_DATA_HOME='$dir' '$rill' transcribe '$spoken' 2>&1 >/dev/null | sed 1,2d"
is "words alone on standard output" "three one four one five nine two six|" "$rill" transcribe "$spoken"
good "no word of it with a model" sh -c "'$rill' transcribe -m rill-digits '$spoken' 2>&1 >/dev/null | grep . && exit 1 || exit 0"
is "doubtful words too" "three four|" "$rill" transcribe -m rill-digits --confidence 0 "$dir/doubtful.wav"
is "none of them where the model says so" "" "$rill" transcribe -m rill-digits "$dir/doubtful.wav"
is "none in noisy speech" "" "$rill" transcribe -m rill-digits --confidence 0 "$(dirname "$spoken")/noisy.wav"
is "none that is not certain" "" "$rill" transcribe -m rill-digits --confidence 1 "$spoken"
# Speech that is no digits, in which some were heard once.
for natural in pairs/dutch_restaurant_clean.wav speech/sense_and_sensibility_01_austen_64kb-0890.wav silero_jfk.wav; do
    if [ -f "$RILL_SHARED/audio/$natural" ]; then
        is "no digits: $natural" "" "$rill" transcribe "$RILL_SHARED/audio/$natural"
    else
        skipped=$((skipped + 1))
        echo "skipped: $natural is not here"
    fi
done
is "keywords" "start_s,end_s,word,score|0.060,0.080,up,0.900000|0.340,0.360,yes,0.900000|" "$rill" keyword -m "$m" "$wav"
cp -r "$m" "$dir/labels"
printf 'no\nyes, "sir"\nup\ndown\nleft\nright\non\noff\n' >"$dir/labels/labels.txt"
sed 's/^words = .*/labels = labels.txt/' "$m/model.conf" >"$dir/labels/model.conf"
is "keywords in quotes" 'start_s,end_s,word,score|0.060,0.080,up,0.900000|0.340,0.360,"yes, ""sir""",0.900000|' \
    "$rill" keyword -m "$dir/labels" "$wav"
is "JSON" '"text": "one two one threes four"|' sh -c "'$rill' transcribe -m '$m' --json '$wav' | grep -o '\"text\": \"one two one.*\"'"
is "JSON has every word" "5" sh -c "'$rill' transcribe -m '$m' --json '$wav' | grep -c '^     \"text\"' | tr -d '\n'"
is "JSON has speech and keywords" "3 2" sh -c "'$rill' transcribe -m '$m' --json '$wav' >'$dir/j'
    echo \$(sed -n '/\"speech\"/,\$p' '$dir/j' | grep -c start_s) \$(sed -n '/\"keywords\"/,/\"speech\"/p' '$dir/j' | grep -c start_s) | tr -d '\n'"

# The audio of the same pass is what denoise makes alone.
"$rill" transcribe -m "$m" --audio "$dir/a.wav" -o "$dir/text" "$wav" && "$rill" denoise -m "$m" "$wav" "$dir/b.wav" >/dev/null
good "audio and text of one pass" sh -c 'cmp "$1/a.wav" "$1/b.wav" && [ "$(tr "\n" "|" <"$1/text")" = "$2" ]' - "$dir" "$text"
is "edges" "0.040,0.900000,start|0.140,0.000000,end|0.340,0.900000,start|0.480,0.000000,end|0.680,0.900000,start|" \
    sh -c "'$rill' vad -m '$m' '$wav' - | grep -E 'start|end'"

# A detector of another model takes the place of the model's own; what else the model gives stays.
cp -r "$m" "$dir/other"
sed 's/hangover_ms = 50/hangover_ms = 150/' "$m/model.conf" >"$dir/other/model.conf"
is "a detector in front of several outputs" "$text" "$rill" transcribe -m "$m" --vad "$dir/other" "$wav"
is "its edges alone are told" "3" sh -c "'$rill' transcribe -m '$m' --vad '$dir/other' --json '$wav' | sed -n '/\"speech\"/,\$p' |
    grep -c start_s | tr -d '\n'"
"$rill" transcribe -m "$m" --vad "$dir/other" --audio "$dir/v.wav" -o "$dir/text" "$wav"
good "and the audio of that pass" sh -c 'cmp "$1/v.wav" "$1/b.wav" && [ "$(tr "\n" "|" <"$1/text")" = "$2" ]' - "$dir" "$text"
is "its model's delay and pulse are its own" "$text" "$rill" transcribe -m "$m" -t 'pulse(symbol: S, pulse: 720)' --vad "$dir/other" "$wav"

# The parts are made behind as many transforms as a command takes, of which the last one counts.
full()
{
    last=$1 n=31
    set --
    while [ $n -gt 0 ]; do
        set -- "$@" -t 'select_outputs(speech, logp)'
        n=$((n - 1))
    done
    "$rill" transcribe -m "$m" "$@" -t "$last" "$wav"
}
ts="one t one t one t one t one t|one t one t one t one t one t one|one t one t|"
full 'patch(body: "logp = flat * 0.0;")' 2>"$dir/err" | tr '\n' '|' >"$dir/full"
good "the last of 32 transforms" test "$(cat "$dir/full")" = "$ts"
full 'pulse(symbol: S, pulse: 720)' 2>"$dir/err" | tr '\n' '|' >"$dir/full"
is "behind a detector, too" "" "$rill" transcribe -m "$m" -t 'select_outputs(speech, logp)' -t 'patch(body: "logp = flat * 0.0;")' \
    --confidence 0.9 "$wav"
good "a pulse as the last of 32 transforms" test "$(cat "$dir/full")" = "one two|one threes|four|"

# Every recogniser goes behind the detector: its own rules, here none, do not count.
cp -r "$m" "$dir/twice"
sed 's/, logp)/, logp, again)/; s/^}/    again = flat * 20.0;\n}/' "$m/graph.nnef" >"$dir/twice/graph.nnef"
printf '[output.again]\nkind = ctc\ntokens = tokens.txt\nscores = logits\nrule1_ms = 0\nrule2_ms = 0\n' >>"$dir/twice/model.conf"
twice="[up]|one two|one two|[yes]|one threes|one threes|four|four|"
is "two recognisers" "$twice" "$rill" transcribe -m "$dir/twice" "$wav"
is "two, behind another model's detector" "$twice" "$rill" transcribe -m "$dir/twice" --vad "$dir/other" "$wav"
is "their speech is told once" "3" sh -c "'$rill' transcribe -m '$dir/twice' --json '$wav' | sed -n '/\"speech\"/,\$p' | grep -c start_s | tr -d '\n'"
is "two that hear everything" "[up]|one two|[yes]|one threes|four|one two one threes four|" "$rill" transcribe -m "$dir/twice" --no-vad "$wav"

# A compiled plan keeps its sinks, and is not parted.
"$rill" compile "$m" -o "$dir/tones.rill" >/dev/null || fail "compile"
refused 3 "compiled with a recogniser and other outputs" "$rill" transcribe -m "$dir/tones.rill" "$wav"
refused 3 "compiled with a recogniser and other outputs" "$rill" transcribe -m "$dir/tones.rill" --vad "$m" "$wav"
is "compiled, without the detector" "$text" "$rill" transcribe -m "$dir/tones.rill" --no-vad "$wav"
"$rill" compile "$m" -t 'select_outputs(logp)' -o "$dir/logp.rill" >/dev/null || fail "compile one output"
is "compiled alone, behind a detector" "one two|one threes|four|" "$rill" transcribe -m "$dir/logp.rill" --vad "$m" "$wav"

is "kinds" "audio audio vad keyword ctc " sh -c "'$rill' inspect --json '$m' | sed -n 's/.*\"kind\": \"\([a-z]*\)\".*/\1/p' | tr '\n' ' '"
is "check" "  events: 350, the same for every pulse and in any cut|  2 passed, 0 failed|" \
    sh -c "'$rill' check '$m' --pulse 80 --length 800 | grep -E 'events|passed' | sed 's/^2/  2/'"

refused 3 "gives no words" "$rill" transcribe -m wiener "$wav"
refused 3 "gives no keywords" "$rill" keyword -m wiener "$wav"
refused 3 "gives no probability of speech" "$rill" transcribe -m "$m" --vad wiener "$wav"
refused 3 "no recogniser" "$rill" transcribe -m wiener --vad "$m" "$wav"
refused 3 "gives no audio" "$rill" transcribe -m "$m" -t 'select_outputs(logp)' --audio "$dir/x.wav" "$wav"
echo one >"$dir/phrases"
refused 3 "has no transducer, which hotwords" "$rill" transcribe -m "$m" --hotwords "$dir/phrases" "$wav"
refused 3 "has no transducer, which hotwords" "$rill" transcribe -m "$m" --no-vad --lm "$dir/phrases" "$wav"
refused 3 "has no transducer, which hotwords" "$rill" transcribe -m rill-digits --blank-penalty 1 "$wav"
refused 2 "beam is a whole number from 1 to 64" "$rill" transcribe -m "$m" --beam 65 "$wav"
for x in -0.1 1.5 nan much; do
    refused 2 "confidence is a number from 0 to 1, not '$x'" "$rill" transcribe -m "$m" --confidence=$x "$wav"
done
refused 2 "one of" "$rill" transcribe -m "$m" --srt --json "$wav"
refused 2 "model is missing" "$rill" keyword "$wav"
refused 4 "none.wav" "$rill" transcribe -m "$m" "$dir/none.wav"
refused 4 "nodir" "$rill" transcribe -m "$m" -o "$dir/nodir/x" "$wav"

# A transducer of random weights, also in the daemon.
tiny="$(dirname "$0")/../models/transducer"
nonsense="THE LAEDED THE ONNIRA ARA THERARA ONRA THE ARA ONRARA ON THE|"
is "a transducer" "$nonsense" "$rill" transcribe -m "$tiny" "$tiny/audio.wav"
"$rill" compile -o "$dir/tiny.rill" "$tiny" >/dev/null
is "a compiled transducer" "$nonsense" "$rill" transcribe -m "$dir/tiny.rill" "$tiny/audio.wav"

# ---- the example program
is "the example" "0.04 speech begins|0.06 [up] 0.90|0.10 speech ends|0.04 one two|0.34 speech begins|" \
    sh -c "'$4' '$m' <'$dir/said.f32' | head -n 5"

# ---- a microphone that is a file: what comes before the ring is full is whole
if [ -f /usr/share/alsa/alsa.conf ]; then
    cat >"$dir/asound.conf" <<ALSA
</usr/share/alsa/alsa.conf>
pcm.!default { type asym playback.pcm "rillsink" capture.pcm "rillmic" }
pcm.rillmic { type file slave.pcm "null" file "/dev/null" infile "$dir/said.f32" format "raw" }
pcm.rillsink { type file slave.pcm "null" file "$dir/speaker.raw" format "raw" }
ALSA
    # the sound system's plug-ins leak and are unloaded before anybody looks
    export ALSA_CONFIG_PATH="$dir/asound.conf" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
    is "live" "[up] 0.90|one two|[yes] 0.90|one threes|four|" \
        sh -c "'$rill' live -m '$m' --in-device rillmic --seconds 1 --out '$dir/live.wav' | head -n 5"
    # On a terminal of 30 columns partials show their end in one line, and finals are whole.
    cp -r "$dir/tones" "$dir/wide"
    e10=éééééééééé
    sed "s/one 1/$e10$e10${e10}one 1/; s/three 4/$e10$e10$e10$e10$e10$e10$e10$e10$e10$e10$e10${e10}three 4/" "$dir/tones/tokens.txt" >"$dir/wide/tokens.txt"
    sed '/output.prob/,/debounce/d' "$dir/tones/model.conf" >"$dir/wide/model.conf"
    if script -qec true /dev/null >/dev/null 2>&1; then     # where there are terminals to be had
        shown="...$e10${e10}éééone|...$e10${e10}éone t|...$e10éééééééééone two|$e10$e10${e10}one two||...$e10${e10}éééone|"
        is "live, on a terminal" "$shown...$e10${e10}éthree|" sh -c "script -qec \"stty cols 30; '$rill' live -m '$dir/wide' \
            --in-device rillmic --seconds 1 --out '$dir/live.wav'\" /dev/null </dev/null | tr -d '\033\n' | tr '\r' '\n' |
            sed 's/^\[K//' | sed 1d | head -n 7"
    else
        skipped=$((skipped + 1))
        echo "skipped: live, on a terminal: none is to be had"
    fi
    is "live, partials" "one|one t|one two|one|one three|one threes|four|" sh -c "'$rill' live -m '$m' --in-device rillmic --seconds 1 \
        --json --out '$dir/live.wav' | sed -n 's/.*\"partial\".*\"text\":\"\([a-z ]*\)\".*/\1/p' | head -n 7"
fi

# ---- the daemon
mkdir "$dir/models" "$dir/models/words"
cp -r "$tiny" "$dir/models/tiny"
mv "$dir/tones" "$dir/models"
cp "$dir/models/tones/graph.nnef" "$dir/models/tones/tokens.txt" "$dir/models/words"
sed '/output.clean/,/kind/d; /output.speech/,/preroll/d; /output.prob/,/debounce/d' "$dir/models/tones/model.conf" >"$dir/models/words/model.conf"
printf '[daemon]\nsocket = %s\ncontrol_socket = %s\n[models]\nmodel_path = %s\n' "$dir/s" "$dir/c" "$dir/models" >"$dir/conf"
daemon_start "$3" "$dir/conf"
is "words by the daemon" "one two|one threes|four|" "$rill" stream --socket "$dir/s" -m words "$wav" -
is "a transducer by the daemon" "$nonsense" "$rill" stream --socket "$dir/s" -m tiny "$tiny/audio.wav" -
# Phrases and n-grams of a stream's own, as of a command; what is wrong with them is told.
printf 'THE ARA :4\nONRA\n' >"$dir/phrases"
awk 'BEGIN { print "\\data\\\nngram 1=" ARGC - 1 "\n\n\\1-grams:"; for (i = 1; i < ARGC; i++) print -i * 3 % 7 - 0.5, ARGV[i]; print "\\end\\" }' \
    $(sed 's/ [0-9]*$//; /^</d' "$tiny/tokens.txt") >"$dir/grams.arpa"
biased() { sh -c "'$rill' transcribe -m '$tiny' $1 '$tiny/audio.wav'" | tr '\n' '|'; }
for opts in "--hotwords $dir/phrases" "--hotwords $dir/phrases --hotwords-score 6" "--lm $dir/grams.arpa --lm-scale 0.9"; do
    set_to=$(echo " $opts" | sed 's/ --hotwords / --opt hotwords=@/; s/ --hotwords-score / --opt hotwords_score=/; s/ --lm / --opt lm=@/; s/ --lm-scale / --opt lm_scale=/')
    want=$(biased "$opts")
    good "heard otherwise with $opts" test -n "$want" -a "$want" != "$nonsense"
    is "by the daemon: $opts" "$want" sh -c "'$rill' stream --socket '$dir/s' -m tiny $set_to '$tiny/audio.wav' -"
done
refused 5 "hotwords, line 1: 'quark' cannot be written in the tokens" "$rill" stream --socket "$dir/s" -m tiny --opt hotwords=quark "$tiny/audio.wav" -
refused 5 "lm, line 1: expected .data., as in an ARPA file" "$rill" stream --socket "$dir/s" -m tiny --opt lm=text "$tiny/audio.wav" -
refused 5 "hotwords and lm need a beam of 2 or more" "$rill" stream --socket "$dir/s" -m tiny --opt beam=1 --opt "hotwords=THE" "$tiny/audio.wav" -
printf 'THE\000quark\n' >"$dir/zero"
refused 3 "zero: a zero byte in a text" "$rill" transcribe -m "$tiny" --hotwords "$dir/zero" "$tiny/audio.wav"
refused 3 "zero: a zero byte in a text" "$rill" stream --socket "$dir/s" -m tiny --opt "hotwords=@$dir/zero" "$tiny/audio.wav" -
head -c 9000 /dev/zero | tr '\0' A >"$dir/long"
refused 5 "hotwords (up to 8192 bytes)" "$rill" stream --socket "$dir/s" -m tiny --opt "hotwords=@$dir/long" "$tiny/audio.wav" -
is "words, keywords and audio by the daemon" "one two|one threes|four|" sh -c "'$rill' stream --socket '$dir/s' -m tones '$wav' '$dir/c.wav' |
    grep -v '^\[\|^ \|audio through'"
is "keywords by the daemon" "[up]|[yes]|" sh -c "'$rill' stream --socket '$dir/s' -m tones '$wav' '$dir/d.wav' | grep '^\['"
good "the daemon's audio is the same" cmp "$dir/c.wav" "$dir/a.wav"
is "JSON alone by the daemon" "{|" sh -c "'$rill' stream --socket '$dir/s' -m words --json '$wav' - | head -n 1"
is "JSON by the daemon" "5|" sh -c "'$rill' stream --socket '$dir/s' -m tones --json '$wav' '$dir/e.wav' | grep -c '\"start_s\"'"
is "options by the daemon" "one two one threes four|" "$rill" stream --socket "$dir/s" -m words --opt rule2_ms=0 --opt beam=1 "$wav" -
refused 5 "beam (1 to 64)" "$rill" stream --socket "$dir/s" -m words --opt beam=65 "$wav" -
refused 2 "NAME=VALUE" "$rill" stream --socket "$dir/s" -m words --opt beam "$wav" -
mv "$dir/tones.rill" "$dir/logp.rill" "$dir/models"
refused 5 "MODEL_FAILED.*compiled with a detector and a recogniser in one plan" "$rill" stream --socket "$dir/s" -m tones.rill "$wav" -
is "compiled alone, by the daemon" "one two|one threes|four|" "$rill" stream --socket "$dir/s" -m logp.rill "$wav" -
mkdir "$dir/models/both"
cp "$dir/models/tones/graph.nnef" "$dir/models/tones/tokens.txt" "$dir/models/both"
sed '/output.clean/,/kind/d; /output.prob/,/debounce/d' "$dir/models/tones/model.conf" >"$dir/models/both/model.conf"
is "words and probabilities by the daemon" "time_s,probability,event,text|0.000,0.000000,,|0.040,,final,one two|0.340,,final,one threes|0.710,,final,four|" \
    sh -c "'$rill' stream --socket '$dir/s' -m both '$wav' - >'$dir/both.csv'; head -n 2 '$dir/both.csv'; grep final '$dir/both.csv'"
is "all the probabilities" "76|" sh -c "grep -c '^[0-9.]*,[0-9.]*,[a-z]*,$' '$dir/both.csv'"
is "and their edges" "start|end|" sh -c "cut -d, -f3 '$dir/both.csv' | grep -e start -e end | head -n 2"
is "words printed, the table in a file" "one two|one threes|four|  latency 10.0 ms beside a pulse of 20.0 ms|" \
    sh -c "'$rill' stream --socket '$dir/s' -m both '$wav' '$dir/b.csv' | grep -v 'audio through\|samples in' | sed 's/, real-time.*//'"
is "the same table" "" diff "$dir/both.csv" "$dir/b.csv"
is "latency of probabilities" '"latency_ms": 10.0|' sh -c "'$rill' stream --socket '$dir/s' -m both --json '$wav' '$dir/b.csv' | grep -o '\"latency_ms\": [0-9.]*'"
finish
