#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh SOURCE_ROOT BUILD_ROOT RILLD CFLAGS...: installs into a folder of its own, builds the example as a user of the
# library would, and streams through it; what the library exports is what its header says.
. "$(dirname "$0")/../lib.sh"
root=$1 build=$2 rilld=$3
shift 3
folder_make
skipped=0

good "meson install" meson install -C "$build" --no-rebuild --quiet --destdir "$dir/root"
pc=$(find "$dir/root" -name rill-client.pc) lib=$(find "$dir/root" -name librill-client.so.0)
export PKG_CONFIG_PATH="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$dir/root" LD_LIBRARY_PATH="$(dirname "$lib")"
good "a versioned name" sh -c "readelf -d '$lib' | grep -q 'SONAME.*librill-client.so.0\]'"
good "a version" pkg-config --exact-version="$(sed -n "s/.*version: '\([0-9.]*\)', license.*/\1/p" "$root/meson.build")" rill-client

cp "$root/examples/client.c" "$dir"
good "cc with pkg-config" sh -c "cc $* '$dir/client.c' \$(pkg-config --cflags --libs rill-client) -o '$dir/client'"
printf '#include <rill_client.h>\nint main() { return rill_client_free(0) != 0; }\n' >"$dir/x.cpp"
if command -v c++ >/dev/null; then
    good "C++" sh -c "c++ $* -Wall -Wextra -Wpedantic -Werror '$dir/x.cpp' \$(pkg-config --cflags --libs rill-client) -o '$dir/x' && '$dir/x'"
else
    echo "skipped: no c++"
    skipped=1
fi

printf '[daemon]\nsocket = %s\ncontrol_socket =\n' "$dir/s" >"$dir/rilld.conf"
daemon_start "$rilld" "$dir/rilld.conf"
tail -c +45 "$root/examples/audio/noisy.wav" | head -c 128000 >"$dir/in.f32"
good "the example streams" sh -c "'$dir/client' '$dir/s' <'$dir/in.f32' >'$dir/out.f32'"
good "as much comes back" test "$(wc -c <"$dir/out.f32")" = "$(wc -c <"$dir/in.f32")"
good "and it is other audio" sh -c "! cmp -s '$dir/in.f32' '$dir/out.f32'"
if "$dir/client" "$dir/nobody" </dev/null 2>"$dir/words"; then fail "nobody listens"; else pass; fi
good "words where nobody listens" grep -q "nobody: No such file" "$dir/words"

for f in bin/rill sbin/rilld include/rill_client.h include/rill.h lib/systemd/system/rilld.service lib/sysusers.d/rilld.conf \
    share/rill/models/wiener/model.conf share/bash-completion/completions/rill; do
    good "$f is installed" sh -c "ls '$dir'/root/*/$f '$dir'/root/usr/*/$f 2>/dev/null | grep -q ."
done
finish
