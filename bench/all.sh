#!/bin/sh
# SPDX-License-Identifier: MIT
# One table: rill, ONNX Runtime, tract, RNNoise-class nets, OpenBLAS and the roofline of this machine, in one run.
#
#   bench/all.sh [--rounds N] [--seconds S] [--only NAME].. [--markdown FILE] [--fetch] [--models DIR] [--rill BUILD]
#                [--work DIR] [--avx2]
#
# --avx2 compares as on a machine with AVX2 and nothing beyond: RILL_CPU=avx2, and then ONNX Runtime and LiteRT see no more (bench/avx2only.c).
# --models DIR holds gtcrn/, dtln/ and silero_v6/ with their ONNX files (RILL_SHARED/models). --rill is a build folder of
# rill, else one is made. All that is built or fetched lies in --work (default: rill-bench in TMPDIR).
# --fetch gets peers: ONNX Runtime 1.24.3 by npm and its C header by go, tract and nnnoiseless by cargo. Without it what
# is there already serves: RILL_BENCH_ORT_LIB (libonnxruntime.so), RILL_BENCH_ORT_HEADER (the folder of
# onnxruntime_c_api.h), RILL_BENCH_BLAS_LIB, RILL_BENCH_PYTHON (a python with ai_edge_litert or torch). Peers that are
# absent are skipped and named.
set -eu
here=$(cd "$(dirname "$0")" && pwd) root=$(dirname "$here")
work=${TMPDIR:-/tmp}/rill-bench build= fetch= models=${RILL_SHARED:+$RILL_SHARED/models} absent=
[ -n "$models" ] || models=$root/../shared/models
pass=

while [ $# -gt 0 ]; do
    case $1 in
    --rounds | --seconds | --only | --markdown) pass="$pass $1 $2"; shift ;;
    --models) models=$2; shift ;;
    --rill) build=$(realpath "$2"); shift ;;
    --work) work=$(realpath -m "$2"); shift ;;
    --fetch) fetch=1 ;;
    --avx2) export RILL_CPU=avx2 ;;
    *) sed -n '3,16s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
    shift
done
mkdir -p "$work/bin"
python3 -c '' 2>/dev/null || { echo "bench/all.sh needs python3 for the table"; exit 1; }

missing() { absent="$absent\"$1\", "; }

first_of() { for f in "$@"; do [ -e "$f" ] && { echo "$f"; return 0; }; done; return 0; }

fetch_ort()
{
    ort=$work/ort
    mkdir -p "$ort/go"
    [ -e "$ort/lib/libonnxruntime.so.1" ] || (
        cd "$ort" && npm pack --silent onnxruntime-node@1.24.3 >/dev/null && mkdir -p lib &&
        tar xzf onnxruntime-node-1.24.3.tgz -C lib --strip-components=5 "package/bin/napi-v6/linux/$(npm_cpu)" &&
        rm onnxruntime-node-1.24.3.tgz) || echo "no ONNX Runtime by npm" >&2
    [ -e "$ort/include/onnxruntime_c_api.h" ] || (
        cd "$ort/go" && { [ -e go.mod ] || go mod init bench 2>/dev/null; } &&
        GOPATH=$ort/go/path GOFLAGS=-modcacherw go mod download github.com/yalue/onnxruntime_go@v1.27.0 &&
        mkdir -p "$ort/include" && cp "$ort"/go/path/pkg/mod/github.com/yalue/*/*.h "$ort/include/" &&
        rm -rf "$ort/go") || echo "no C header of ONNX Runtime by go" >&2
}

npm_cpu() { case $(uname -m) in aarch64) echo arm64 ;; *) echo x64 ;; esac }

# PROGRAM FLAGS..: compiled anew only when its source is newer
program()
{
    name=$1
    shift
    [ "$work/bin/$name" -nt "$here/$name.c" ] && [ "$work/bin/$name" -nt "$here/timing.h" ] && return 0
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O3 -Wall -Wextra "$@" -o "$work/bin/$name" "$here/$name.c" -ldl -lm
}

# ---- rill ----
if [ -z "$build" ]; then
    build=$work/rill
    [ -e "$build/build.ninja" ] || meson setup "$build" "$root" >"$work/rill-setup.log"
fi
ninja -C "$build" tools/rill daemon/rilld >"$work/rill-build.log" || { tail -20 "$work/rill-build.log"; exit 1; }
rill=$build/tools/rill

library=$work/data/rill/models
for name in gtcrn dtln silero_v6; do
    XDG_DATA_HOME=$work/data "$rill" models get --from "$models" "$name" >"$work/models.log" 2>&1 ||
        missing "weights of $name"
done

# ---- peers ----
[ -z "$fetch" ] || fetch_ort
ort_lib=${RILL_BENCH_ORT_LIB:-$(first_of "$work"/ort/lib/libonnxruntime.so.1)}
ort_header=${RILL_BENCH_ORT_HEADER:-$(first_of "$work"/ort/include)}
ortbench=
if [ -n "$ort_lib" ] && [ -n "$ort_header" ] && program ortbench -isystem "$ort_header"; then
    ortbench=$work/bin/ortbench
else
    missing "ONNX Runtime (library '$ort_lib', header '$ort_header'; --fetch gets both)"
fi
avx2only=
if [ "${RILL_CPU:-}" = avx2 ]; then
    avx2only=$work/bin/avx2only.so
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -shared -fPIC -o "$avx2only" "$here/avx2only.c"
    LD_PRELOAD=$avx2only true || { avx2only=; missing "ONNX Runtime and LiteRT held to AVX2 (a processor whose cpuid can trap): they run with all that there is"; }
fi
blas=${RILL_BENCH_BLAS_LIB:-$(ldconfig -p 2>/dev/null | awk '/libopenblas\.so/ { print $NF; exit }')}
[ -n "$blas" ] || missing "OpenBLAS (libopenblas.so)"
tract=$work/tract/release/tractbench
if [ -n "$fetch" ] && command -v cargo >/dev/null; then
    cp -r "$here/tractbench" "$work/tractbench.src" 2>/dev/null || :
    start=$(date +%s)
    cargo build -q --release --manifest-path "$work/tractbench.src/Cargo.toml" --target-dir "$work/tract" \
        >"$work/tract.log" 2>&1 && echo "tract: built in $(($(date +%s) - start)) s" >&2
fi
[ -x "$tract" ] || { tract=; missing "tract and nnnoiseless (cargo; --fetch builds them)"; }

# The first python that has a module.
python_with()
{
    for python in ${RILL_BENCH_PYTHON:-} python3 /usr/bin/python3; do
        "$python" -c "import $1" 2>/dev/null && { echo "$python"; return 0; }
    done
    return 0
}

litert=$(python_with ai_edge_litert)
[ -n "$litert" ] || missing "LiteRT (a python with ai_edge_litert; RILL_BENCH_PYTHON)"
torch=$(python_with torch.onnx)
[ -n "$torch" ] || missing "nets as PyTorch exports them (python3 with torch)"

program roofline
program blasbench
program sigpath -march=native -ffast-math

cat >"$work/tools.json" <<END
{ "rill": "$rill", "rilld": "$build/daemon/rilld", "ortbench": "$ortbench", "ort_lib": "$ort_lib", "blas_lib": "$blas",
  "blasbench": "$work/bin/blasbench", "roofline": "$work/bin/roofline", "sigpath": "$work/bin/sigpath",
  "tractbench": "$tract", "torch": "$torch", "litert": "$litert", "avx2only": "$avx2only", "models": "$models", "library": "$library", "work": "$work", "root": "$root",
  "absent": [${absent%, }] }
END
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/table.py" "$work/tools.json" $pass
