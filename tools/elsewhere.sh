#!/usr/bin/env bash
# Build and test in another Debian, with its compiler and its Python:
#   tools/elsewhere.sh SUITE [ARCH]      bookworm (Python 3.11), trixie (3.13, gcc 14), ...; arm64 needs qemu-user-static
# The root lands in build/elsewhere/SUITE-ARCH and is kept. CC=clang takes that compiler, MIRROR is debootstrap's. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${1:?usage: tools/elsewhere.sh SUITE [ARCH]}
here=$(dpkg --print-architecture)
arch=${2:-$here}
root=$PWD/build/elsewhere/$suite-$arch
cc=${CC:-gcc}
command -v debootstrap >/dev/null || { echo "needs debootstrap: apt-get install debootstrap" >&2; exit 2; }
if [ "$arch" != "$here" ] && ! command -v qemu-aarch64-static >/dev/null; then
    echo "another architecture needs qemu: apt-get install qemu-user-static binfmt-support" >&2
    exit 2
fi
if [ ! -e "$root/.ready" ]; then
    mkdir -p "$root"
    debootstrap --arch="$arch" --variant=minbase \
        --include="$cc,libc6-dev,python3-dev,python3-venv,python3-pip,cmake,ninja-build,ca-certificates" \
        "$suite" "$root" ${MIRROR:+"$MIRROR"}
    touch "$root/.ready"
fi

# What git knows of, and the engine that the build here found.
rm -rf "$root/puzzleport" "$root/engine"
mkdir -p "$root/puzzleport" "$root/engine"
git ls-files -z | xargs -0 tar cf - | tar xf - -C "$root/puzzleport"
cp -r "$(python3 native/engine.py)/." "$root/engine"
# What this machine uses to reach a package index, which may be one of its own.
for file in /etc/pip.conf /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e $file ] || cp -L $file "$root$file"
done

chroot "$root" /usr/bin/env PUZZLEPORT_ENGINE_SRC=/engine CC="$cc" bash -euc '
    cd /puzzleport
    python3 -m venv /venv
    . /venv/bin/activate
    python -m pip install --quiet -r requirements/build.txt numpy pillow pytest pytest-xdist pytest-timeout hypothesis
    python -m pip install --quiet --no-build-isolation --no-deps .
    python --version
    $CC --version | head -1
    python -m pytest -q -n 2 tests/core tests/native
'
