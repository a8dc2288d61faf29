#!/bin/sh
# SPDX-License-Identifier: MIT
# The training's shell scripts, with what they call played by small scripts.
# usage: scripts.sh SOURCE_FOLDER
. "$(dirname "$0")/../../lib.sh"
set -u
train=$1/models/train
folder_make
tmp=$dir skipped=0
real_path=$PATH

holds() { # WHAT COMMAND...
    what=$1
    shift
    if "$@"; then pass; else fail "$what" "$tmp/said"; fi
}

# Runs a command; what it says is in $tmp/said, its status in $status.
try() {
    timeout 60 "$@" >"$tmp/said" 2>&1 </dev/null
    status=$?
}

says() { # EXTENDED-REGULAR-EXPRESSION
    grep -qE -e "$1" "$tmp/said"
}

fake() { # FILE, script from stdin
    mkdir -p "$(dirname "$1")"
    { echo '#!/bin/sh'; cat; } >"$1"
    chmod +x "$1"
}

sum() {
    sha256sum <"$1" | cut -d ' ' -f 1
}

row() {
    printf '%s\t' "$@"
    echo
}

# ---- usage ----

for script in fetch.sh digits/train.sh denoise/train.sh; do
    try "$train/$script"
    holds "$script alone says how it is used" [ "$status" = 2 ]
    holds "$script alone names itself" says "^# usage: $(basename "$script") "
    holds "$script prints its usage and no more" [ "$(grep -vc '^#' "$tmp/said")" = 0 ]
done

# A device is told, and is one that train.py has, before anything is fetched.
for args in --device '--device tpu' '--device tpu x y' '--device=cuda x y' '--device  x y' '--what x y'; do
    try "$train/denoise/train.sh" $args
    holds "denoise/train.sh $args is refused" [ "$status" = 2 ]
    holds "denoise/train.sh $args says what is expected" says "^# usage: train.sh|^train.sh: --device '(tpu|x|)': cpu or cuda is expected"
done
try "$train/denoise/train.sh" --device ''  x y
holds "denoise/train.sh with an empty device is refused" [ "$status" = 2 ]
holds "denoise/train.sh with an empty device names it" says "^train.sh: --device ''"

for steps in 0 -1 1e3 ''; do
    try "$train/denoise/train.sh" --steps "$steps" x y
    holds "denoise/train.sh --steps '$steps' is refused by name" [ "$status" = 2 ]
    holds "denoise/train.sh --steps '$steps' says what is expected" says "^train.sh: --steps '$steps': a whole number"
done

# ---- fetch.sh: two packages; apt-get brings what $tmp/apt has ----

here=$tmp/fetch
mkdir -p "$here" "$tmp/apt"
cp "$train/fetch.sh" "$here/"
echo one >"$tmp/apt/one_1_all.deb"
echo two >"$tmp/apt/two_1_all.deb"
{ echo '# name'; row one 1 "$(sum "$tmp/apt/one_1_all.deb")" x; row two 1 "$(sum "$tmp/apt/two_1_all.deb")" x; } \
    >"$here/packages.tsv"
fake "$tmp/bin/apt-get" <<'END'
for last; do :; done
cp "$APT/${last%=*}"_*.deb . && echo "$last" >>"$APT/asked"
END
fake "$tmp/bin/dpkg" <<'END'
cp "$2" "$3/"
END
export APT="$tmp/apt" PATH="$tmp/bin:$real_path"

try "$here/fetch.sh" "$tmp/f" one nosuch
holds 'fetch.sh refuses a name that it does not know' [ "$status" = 2 ]
holds 'fetch.sh names it' says '^nosuch: '
holds 'fetch.sh has fetched nothing then' [ ! -e "$tmp/f" ]

try "$here/fetch.sh" "$tmp/f" one
holds 'fetch.sh fetches one' [ "$status" = 0 ]
holds 'fetch.sh unpacks one' [ -e "$tmp/f/unpacked/one/one_1_all.deb" ]
holds 'fetch.sh leaves the other' [ ! -e "$tmp/f/unpacked/two" ]

printf t >"$tmp/f/debs/two_1_all.deb"
try "$here/fetch.sh" "$tmp/f"
holds 'fetch.sh fetches a broken package again' [ "$status" = 0 ]
holds 'fetch.sh says which' says 'debs/two_1_all.deb: broken'
holds 'fetch.sh has the whole one then' cmp -s "$tmp/f/unpacked/two/two_1_all.deb" "$tmp/apt/two_1_all.deb"
holds 'fetch.sh asks no more than it must' [ "$(wc -l <"$tmp/apt/asked")" = 2 ]

rm -r "$tmp/f/unpacked/two.done" "$tmp/f/debs/two_1_all.deb"
printf t >"$tmp/apt/two_1_all.deb"
try "$here/fetch.sh" "$tmp/f"
holds 'fetch.sh refuses what apt has' [ "$status" != 0 ]
holds 'fetch.sh names it' says 'two_1_all.deb: its SHA-256 is not '
holds 'fetch.sh keeps no broken package' [ "$(ls "$tmp/f/debs")" = one_1_all.deb ]
echo two >"$tmp/apt/two_1_all.deb"
try "$here/fetch.sh" "$tmp/f"
holds 'fetch.sh has it once apt does' [ "$status" = 0 ]

export NET="$tmp/net"
mkdir -p "$NET"

# ---- digits/train.sh: mix.py and train.py fail, or not ----

here=$tmp/models/train/digits
mkdir -p "$here" "$tmp/models/library/rill-digits"
cp "$train/digits/train.sh" "$here/"
for file in graph.nnef model.conf tokens.txt digits.onnx; do
    echo committed >"$tmp/models/library/rill-digits/$file"
done
fake "$tmp/models/train/fetch.sh" </dev/null
fake "$here/corpus.py" <<'END'
echo corpus >"$3"
END
fake "$here/sentences.py" <<'END'
echo "sentences of $1" >"$2"
END
fake "$here/mix.py" <<'END'
[ ! -e "$NET/mix" ] || . "$NET/mix"
mkdir -p "$3"
cat "$1" "$2" >"$3/made"
END
fake "$here/train.py" <<'END'
[ ! -e "$NET/train" ] || . "$NET/train"
while [ ! -e "$1/made" ]; do sleep 1; done
mkdir -p "$2"
echo "$3 $4 ${5##*/}" >>"$2/net.pt"
END
fake "$here/export.py" <<'END'
cp "$1" "$2"
END
fake "$here/evaluate.py" <<'END'
echo "with $4: $(ls "$5" | tr '\n' ' ')"
END

echo 'exit 3' >"$NET/mix"
try "$here/train.sh" digits.tar archives "$tmp/d" rill
holds 'train.sh fails at once when mix.py does' [ "$status" = 1 ]
holds 'train.sh says that mix.py has failed' says 'mix.py has failed'
echo 'kill -9 $$' >"$NET/mix"
try "$here/train.sh" digits.tar archives "$tmp/d" rill
holds 'train.sh fails when mix.py is killed' [ "$status" = 1 ]

echo 'exec sleep 100' >"$NET/mix"
echo 'exit 3' >"$NET/train"
try "$here/train.sh" digits.tar archives "$tmp/d" rill
holds 'train.sh fails at once when train.py does' [ "$status" = 1 ]
holds 'train.sh says that train.py has failed' says 'train.py has failed'

rm "$NET/mix" "$NET/train"
try "$here/train.sh" digits.tar archives "$tmp/d" rill
holds 'train.sh comes to its end' [ "$status" = 0 ]
holds 'train.sh trains once, and goes on from the first net' \
    [ "$(cat "$tmp/d/model/digits.onnx")" = '4500 1 first.onnx' ]
holds 'train.sh mixes digits and sentences' \
    [ "$(cat "$tmp/d/shards/made")" = "$(printf 'corpus\nsentences of archives')" ]
holds 'train.sh measures the new model' says 'with rill: digits.onnx graph.nnef model.conf tokens.txt'
holds 'train.sh leaves the library as it is' \
    [ "$(cat "$tmp/models/library/rill-digits/digits.onnx")" = committed ]

# ---- what the Python scripts say; skipped where Debian's Python has not what they need ----

refuses() { # NEEDED-MODULES EXTENDED-REGULAR-EXPRESSION SCRIPT ARGUMENT...
    needed=$1 words=$2 script=$3
    shift 3
    if ! /usr/bin/python3 -c "import $needed" 2>/dev/null; then
        skipped=$((skipped + 1))
        return
    fi
    try /usr/bin/python3 "$train/$script" "$@"
    [ "$status" = 1 ] && says "$words" && ! says Traceback
    holds "$script $* says $words" [ $? = 0 ]
}

export PATH="$real_path" PYTHONDONTWRITEBYTECODE=1
mkdir -p "$tmp/p/unpacked" "$tmp/p/shards"
printf PK >"$tmp/p/broken.npz"
refuses numpy '^usage: recordings.py' recordings.py --help
refuses numpy 'without .*, 0ad-data,' recordings.py "$tmp/p"
refuses numpy,soundfile '^5 to 3: no shards' digits/mix.py "$tmp/p/broken.npz" "$tmp/p/broken.npz" "$tmp/p/shards" 5 3
refuses numpy,soundfile '^x: not a number' digits/mix.py "$tmp/p/broken.npz" "$tmp/p/broken.npz" "$tmp/p/shards" 0 x
refuses numpy,soundfile 'broken.npz: broken .*delete it' digits/mix.py "$tmp/p/broken.npz" "$tmp/p/broken.npz" "$tmp/p/shards" 0 1
refuses numpy,soundfile 'installed|nothing of asterisk-core-sounds-en' digits/corpus.py x "$tmp/p" "$tmp/p/out.npz"
refuses numpy,torch,onnx '^x: not a number' digits/train.py "$tmp/p/shards" "$tmp/p/out" x
refuses numpy,torch,soundfile 'broken.npz: broken' digits/evaluate.py "$tmp/p/broken.npz" "$tmp/p/broken.npz" "$tmp/p/test" sh model
refuses numpy,torch 'no pairs/NAME_clean.wav' denoise/evaluate.py sh - "$tmp/p" wiener
mkdir -p "$tmp/p/audio/pairs"
for name in pairs/a_clean pairs/a_mixture synth_speech_clean_48k synth_speech_pink_snr5_48k synth_speech_clean_16k; do
    : >"$tmp/p/audio/$name.wav"
done
refuses numpy,torch '/none: no folder; recordings.py' denoise/evaluate.py sh "$tmp/p/none" "$tmp/p/audio" wiener
refuses numpy,torch 'speech_en.npz: no such file; recordings.py' denoise/evaluate.py sh "$tmp/p" "$tmp/p/audio" wiener
refuses numpy,torch '^/none.so: no library of RNNoise: ' denoise/evaluate.py sh - "$tmp/p/audio" wiener R=/none.so
refuses sys 'it needs numpy, onnxruntime, ai-edge-litert and pymicro-features|a.wav: not taken' keywords/compare.py "$tmp/p/net" a.wav

finish
