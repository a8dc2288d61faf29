#!/bin/sh
# SPDX-License-Identifier: MIT
# rill verify on every stored reference; and that it fails when a reference is wrong.
. "$(dirname "$0")/../lib.sh"
rill=$1
if [ -z "$RILL_SHARED" ] || [ ! -d "$RILL_SHARED/models" ]; then
    echo "stored references need shared_dir"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
skipped=0
for case in "$RILL_SHARED"/models/*/ref/*.json; do
    if ! grep -q '"onnx"' "$case"; then
        echo "$case names no model: a recording's reference, not a network's"
        skipped=$((skipped + 1))
    elif "$rill" verify "$case"; then pass; else fail "$case"; fi
done
folder_make
mkdir -p "$dir/models/dtln/ref"
cp "$RILL_SHARED"/models/dtln/*.onnx "$dir/models/dtln"
cp "$RILL_SHARED"/models/dtln/ref/model_2.* "$dir/models/dtln/ref"
chmod -R u+w "$dir"
printf '\000\000\200\077' | dd of="$dir/models/dtln/ref/model_2.out.conv1d_3.f32" bs=1 seek=4096 conv=notrunc 2>/dev/null
"$rill" verify "$dir/models/dtln/ref/model_2.json"
if [ $? = 1 ]; then pass; else fail "a wrong reference passes"; fi
finish
