#!/bin/sh
# SPDX-License-Identifier: MIT
# with_library.sh RILL COMMAND...: runs COMMAND with RILL_MODEL_PATH and RILL_TEST_LIBRARY naming a fresh folder of
# models with weights, taken from RILL_SHARED; without RILL_SHARED the folder stays away.
rill=$1
shift
dir=$(mktemp -d /tmp/rill-test-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
if [ -n "$RILL_SHARED" ] && [ -d "$RILL_SHARED/models" ]; then
    "$rill" models get gtcrn dtln silero_v4 silero_v4_8k silero_v6 silero_v6_8k micro_okay_nabu --quiet \
        --from "$RILL_SHARED/models" --to "$dir" || { echo "0 passed, 1 failed"; exit 1; }
    export RILL_MODEL_PATH="$dir" RILL_TEST_LIBRARY="$dir"
fi
"$@"
