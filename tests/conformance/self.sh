#!/bin/sh
# SPDX-License-Identifier: MIT
# self.sh TOOL: the runner sees a wrong output, counts what is listed, and says so in its exit status.
. "$(dirname "$0")/../lib.sh"
tool=$1
data=${RILL_CONFORMANCE_DATA:-/usr/include/onnx/backend/test/data}/node/test_add
if [ ! -d "$data" ]; then
    echo "skipped: no backend test data (package libonnx-testdata)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
folder_make
cp -r "$data" "$dir/good"
cp -r "$data" "$dir/bad"
chmod -R u+w "$dir"
out=$dir/bad/test_data_set_0/output_0.pb
size=$(wc -c < "$out")
# The highest byte of the last float: its sign and exponent.
printf '\177' | dd of="$out" bs=1 seek=$((size - 1)) conv=notrunc 2> /dev/null

# ends STATUS LAST-LINE ARGUMENTS...
ends()
{
    want=$1 line=$2
    shift 2
    last=$("$tool" conformance "$@" 2> /dev/null | tail -1)
    "$tool" conformance "$@" > /dev/null 2>&1
    status=$?
    if [ "$status" = "$want" ] && case $last in *"$line"*) true ;; *) false ;; esac; then
        pass
    else
        fail "rill conformance $*: status $status, wants $want; says '$last', wants '$line'"
    fi
}

echo 'bad a reason' > "$dir/bad.txt"
echo 'good a reason' > "$dir/good.txt"
echo 'bad' > "$dir/empty.txt"
echo 'nowhere' > "$dir/must.txt"
ends 1 '1 passed, 1 failed, 0 skipped' "$dir"
ends 0 '1 passed, 0 failed, 0 skipped' --only good "$dir"
ends 0 '1 passed, 0 failed, 1 skipped' --unsupported "$dir/bad.txt" "$dir"
ends 1 '0 passed, 2 failed, 0 skipped' --strict --unsupported "$dir/good.txt" "$dir"
ends 1 '1 passed, 1 failed, 0 skipped' --unsupported "$dir/bad.txt" --must-pass "$dir/bad.txt" "$dir"
ends 1 '1 passed, 1 failed, 1 skipped' --unsupported "$dir/bad.txt" --must-pass "$dir/must.txt" "$dir"
ends 1 '"passed": 1, "failed": 1, "skipped": 0' --json "$dir"
# Of opset 99; with ops that nobody knows; with one that opset 14 has not yet.
rm -r "$dir/bad"
change() { cp -r "$dir/good" "$dir/$1" && LC_ALL=C sed -i "$2" "$dir/$1/model.onnx"; }
change newer '$s/.$/c/'
change unknown 's/Add/Adq/'
change later 's/Add/Shr/'
change early 's/Add/DFT/'
echo 'newer a reason' > "$dir/newer.txt"
ends 0 '1 passed, 0 failed, 0 skipped, 4 refused' --unsupported "$dir/bad.txt" "$dir"
ends 0 '1 passed, 0 failed, 1 skipped, 3 refused' --unsupported "$dir/newer.txt" "$dir"
ends 0 '"refused": 4, "refused_opset": 1, "refused_op": 3' --json "$dir"
ends 0 '0 passed, 0 failed, 0 skipped, 1 refused' --only newer "$dir"
ends 1 '1 passed, 4 failed, 0 skipped, 0 refused' --strict "$dir"
ends 1 '1 passed, 1 failed, 0 skipped, 3 refused' --unsupported "$dir/bad.txt" --must-pass "$dir/newer.txt" "$dir"
"$tool" conformance "$dir" >"$dir/said"
check 'the reasons are told apart' "$(grep -q '^refused: 1 of an opset newer than 28, 3 with an op ' "$dir/said" || cat "$dir/said")"
# of lists: nothing where the one that comes with rill is of other cases, else one line
printf 'good a reason\nnowhere a reason\nfar/* a reason\n' >"$dir/some.txt"
note() { "$tool" conformance "$@" "$dir" 2>&1 | sed -n '/^note:/,/ ran as a plan/ { / ran as a plan/d; p; }'; }
check 'of cases of other lists nothing' "$(note)"
expect 1 'note: 2 of the 3 patterns of .*/some.txt match no case (--verbose names them)$' \
    sh -c "'$tool' conformance -u '$dir/some.txt' --must-pass '$dir/must.txt' '$dir'"
check 'one line' "$(note -u "$dir/some.txt" | tail -n +2)"
check 'nothing where only some cases run' "$(note -u "$dir/some.txt" --only good)"
check 'names on demand' \
    "$([ "$(note -v -u "$dir/some.txt" | tail -n +2 | tr -d ' \n')" = 'nowherefar/*' ] || note -v -u "$dir/some.txt")"
expect 1 'note: 1 of the 1 patterns of .*/must.txt match no case' sh -c "echo 'nowhere a reason' >'$dir/must.txt'
    '$tool' conformance -u '$dir/must.txt' --strict '$dir'"
expect 2 "no folder below '$dir' of a name like nowhere holds model.onnx" "$tool" conformance --only nowhere "$dir"
mkdir "$dir/none"
expect 2 "no folder below '$dir/none' holds model.onnx" "$tool" conformance "$dir/none"
ends 2 '' --unsupported "$dir/empty.txt" "$dir"
ends 2 '' --frobnicate "$dir"
ends 4 '' "$dir/nowhere"
finish
