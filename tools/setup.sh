# SPDX-License-Identifier: MIT
# Sourced by the scripts at the top: installs the Debian packages that are missing, or says how to.
# Touches the network only when something is missing.

RILL_PACKAGES="
    meson ninja-build gcc libc6-dev pkg-config
    libuv1-dev libprotobuf-c-dev protobuf-c-compiler libsndfile1-dev portaudio19-dev libspeexdsp-dev
    libarchive-dev libinih-dev libmd-dev libcurl4-openssl-dev libjansson-dev libpng-dev
    libcmocka-dev libonnx-testdata systemd alsa-utils binutils ca-certificates scdoc"

# What some tests build with or run in; they are skipped without.
RILL_TEST_PACKAGES="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user haproxy g++ strace zsh"

# Prints those of the packages given that are not installed.
setup_missing()
{
    for p in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null) in
        installed*) ;;
        *) printf ' %s' "$p" ;;
        esac
    done
}

setup_packages()
{
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not a Debian system; rill needs what Debian calls:" $RILL_PACKAGES
        return 0
    fi
    missing=$(setup_missing $RILL_PACKAGES)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "Packages are missing. Run this as root, then try again:"
        echo "    apt-get install --no-install-recommends$missing"
        return 1
    fi
    echo "Installing:$missing"
    apt-get -q update &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
}

# Installs what only some tests need, where that can be had without waiting long.
setup_test_packages()
{
    command -v dpkg-query >/dev/null || return 0
    missing=$(setup_missing $RILL_TEST_PACKAGES)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "Tests are skipped for want of packages. To run them, as root:"
        echo "    apt-get install --no-install-recommends$missing"
        return 0
    fi
    echo "Installing:$missing"
    apt="apt-get -q -o Acquire::Retries=0 -o Acquire::http::Timeout=10"
    install="install -y --no-install-recommends $missing"
    { timeout 60 $apt update && timeout 300 $apt --download-only $install &&
        DEBIAN_FRONTEND=noninteractive $apt $install; } ||
        echo "Not to be had now:$missing. Tests that need them are skipped."
    return 0
}

# setup_build DIR OPTIONS...: a configured build folder; one of another meson or another place starts afresh.
setup_build()
{
    dir=$1
    shift
    [ -d ../shared ] && set -- "$@" "-Dshared_dir=$(cd ../shared && pwd)"
    if [ -f "$dir/build.ninja" ]; then
        meson configure "$dir" "$@" >/dev/null 2>&1 && return 0
        rm -rf "$dir"
    fi
    meson setup "$dir" "$@"
}
