#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh CHROOT [DEBS]: builds the packages (or takes those of the folder DEBS), installs them into a Debian of its own in the
# folder CHROOT, which is made by debootstrap if it is not there, uses them, and removes them again. As root; fetches packages.
# What it needs itself is named if it is not here.
# CHROOT is left behind; /proc is mounted in it only for the processes of this script.
cd "$(dirname "$0")/.." || exit 1
chroot=${1:?usage: debian/check.sh CHROOT [DEBS]} debs=$2
passed=0 failed=0 made=
trap '[ -z "$made" ] || rm -rf "$made"' EXIT

# needs WORDS COMMAND...: ends with these words where the command fails.
needs()
{
    local words=$1
    shift
    "$@" >/dev/null 2>&1 && return
    echo "debian/check.sh needs $words"
    exit 1
}
needs "to be root" [ "$(id -u)" = 0 ]
[ -d "$chroot/etc" ] || needs "debootstrap: apt-get install debootstrap" command -v debootstrap
if [ -z "$debs" ]; then
    needs "dpkg-buildpackage: apt-get install dpkg-dev" command -v dpkg-buildpackage
    lacks=$(dpkg-checkbuilddeps 2>&1 | sed 's/.*: //')
    needs "what the packages are built with, $lacks: apt-get build-dep ./" [ -z "$lacks" ]
fi

# good WORDS COMMAND...
good()
{
    local words=$1
    shift
    if "$@" >/tmp/debian-check.$$ 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $words"
        tail -20 /tmp/debian-check.$$
    fi
    rm -f /tmp/debian-check.$$
}

inside()
{
    LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive unshare --mount sh -c \
        'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -c "$1"' "$chroot" "$1"
}

if [ -z "$debs" ]; then
    made=$(mktemp -d)
    debs=$made
    mkdir "$made/rill" && git archive HEAD | tar -x -C "$made/rill" || exit 1
    (cd "$made/rill" && DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" good "dpkg-buildpackage" dpkg-buildpackage -us -uc -b
        exit $failed) && passed=$((passed + 1)) || { echo "0 passed, 1 failed"; exit 1; }
fi
if [ ! -d "$chroot/etc" ]; then
    debootstrap --variant=minbase bookworm "$chroot" http://deb.debian.org/debian >/dev/null || exit 1
fi
cp /etc/resolv.conf "$chroot/etc/"
cp /etc/apt/apt.conf.d/* "$chroot/etc/apt/apt.conf.d/"
rm -rf "$chroot/tmp/debs"
mkdir -p "$chroot/tmp/debs"
find "$debs" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec cp {} "$chroot/tmp/debs/" \;
cp examples/audio/noisy.wav examples/audio/digits.wav examples/client.c "$chroot/tmp/"

names="rilld rill librill0 librill-dev librill-client0 librill-client-dev librill-common python3-rill-client"
good "apt-get update" inside "apt-get -q update"
good "installing" inside "apt-get -q -y --no-install-recommends install /tmp/debs/*.deb"
good "all packages are there" inside "dpkg -s $names | grep -c 'Status: install ok installed' | grep -qx $(echo $names | wc -w)"
good "rill models" inside "rill models | grep -q '^rill-denoise .*built in'"
good "rill models lists those to fetch" inside "rill models | grep -q '^gtcrn .*to fetch'"
good "rilld --check-config" inside "rilld --check-config"
good "the settings are those that rilld prints" inside "rilld --print-config | cmp - /etc/rilld/rilld.conf"
good "a wrong setting is found" inside "mkdir -p /etc/rilld/conf.d; echo nonsense=1 >/etc/rilld/conf.d/x.conf; ! rilld --check-config; s=\$?;
    rm -r /etc/rilld/conf.d; exit \$s"
good "the group of clients" inside "getent group rills"
good "units are enabled" inside "ls /etc/systemd/system/sockets.target.wants/rilld.socket /etc/systemd/system/multi-user.target.wants/rilld.service"
good "those of HTTP are not" inside "! ls /etc/systemd/system/*.wants | grep -E 'rilld-(metrics|health)'"
good "units verify" inside "systemd-analyze verify --man=no rilld.service rilld.socket rilld-control.socket rilld-metrics.socket rilld-health.socket"
good "a recording, in the tool's process" inside "rill denoise /tmp/noisy.wav /tmp/a.wav"
good "and through the daemon, the same bits" inside "mkdir -p /run/rilld; rilld 2>/tmp/rilld.log & p=\$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -S /run/rilld/rilld.sock ] && break; sleep 0.5; done
    rill stream /tmp/noisy.wav /tmp/b.wav && cmp /tmp/a.wav /tmp/b.wav && rill ctl status && rill transcribe /tmp/digits.wav -m rill-digits
    s=\$?; kill \$p; wait \$p; exit \$s"
good "Python" inside "mkdir -p /run/rilld; rilld 2>/tmp/rilld.log & p=\$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -S /run/rilld/rilld.sock ] && break; sleep 0.5; done
    python3 -c 'import rill_client as r; assert r.Client().health().ok'; s=\$?; kill \$p; wait \$p; exit \$s"
good "pages" inside "for p in man1/rill.1 man5/rilld.conf.5 man5/model.conf.5 man7/rill-protocol.7 man8/rilld.8; do
    [ -f /usr/share/man/\$p.gz ] || grep -q 'path-exclude.*man' /etc/dpkg/dpkg.cfg.d/* || exit 1; done"
good "compiler for the example" inside "apt-get -q -y --no-install-recommends install gcc libc6-dev pkg-config"
good "the example builds as its first lines say" inside "cd /tmp && cc client.c \$(pkg-config --cflags --libs rill-client) -o client"
good "purging" inside "apt-get -q -y purge $names"
good "nothing is left" inside "! ls -d /etc/rilld /usr/share/rill /usr/lib/python3/dist-packages/rill_client"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
