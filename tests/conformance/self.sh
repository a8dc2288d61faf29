#!/bin/sh
# SPDX-License-Identifier: MIT
# self.sh TOOL: the runner sees a wrong output, counts what is listed, and says so in its exit status.
tool=$1
data=${RILL_CONFORMANCE_DATA:-/usr/include/onnx/backend/test/data}/node/test_add
passed=0 failed=0
if [ ! -d "$data" ]; then
    echo "skipped: no backend test data (package libonnx-testdata)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
dir=$(mktemp -d /tmp/rill-test-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
cp -r "$data" "$dir/good"
cp -r "$data" "$dir/bad"
chmod -R u+w "$dir"
out=$dir/bad/test_data_set_0/output_0.pb
size=$(wc -c < "$out")
# The highest byte of the last float: its sign and exponent.
printf '\177' | dd of="$out" bs=1 seek=$((size - 1)) conv=notrunc 2> /dev/null

# expect STATUS LAST-LINE ARGUMENTS...
expect()
{
    want=$1 line=$2
    shift 2
    last=$("$tool" conformance "$@" 2> /dev/null | tail -1)
    "$tool" conformance "$@" > /dev/null 2>&1
    status=$?
    if [ "$status" = "$want" ] && case $last in *"$line"*) true ;; *) false ;; esac; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: rill conformance $*: status $status, wants $want; says '$last', wants '$line'"
    fi
}

echo 'bad a reason' > "$dir/bad.txt"
echo 'good a reason' > "$dir/good.txt"
echo 'bad' > "$dir/empty.txt"
echo 'nowhere' > "$dir/must.txt"
expect 1 '1 passed, 1 failed, 0 skipped' "$dir"
expect 0 '1 passed, 0 failed, 0 skipped' --only good "$dir"
expect 0 '1 passed, 0 failed, 1 skipped' --unsupported "$dir/bad.txt" "$dir"
expect 1 '0 passed, 2 failed, 0 skipped' --strict --unsupported "$dir/good.txt" "$dir"
expect 1 '1 passed, 1 failed, 0 skipped' --unsupported "$dir/bad.txt" --must-pass "$dir/bad.txt" "$dir"
expect 1 '1 passed, 1 failed, 1 skipped' --unsupported "$dir/bad.txt" --must-pass "$dir/must.txt" "$dir"
expect 1 '"passed": 1, "failed": 1, "skipped": 0' --json "$dir"
expect 2 '' --unsupported "$dir/empty.txt" "$dir"
expect 2 '' --frobnicate "$dir"
expect 4 '' "$dir/nowhere"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
