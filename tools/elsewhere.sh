#!/usr/bin/env bash
# Build and test in another Debian, with its compilers and its Python:
#   tools/elsewhere.sh SUITE [ARCH]      bookworm (Python 3.11), trixie (3.13), sid; arm64 needs qemu and a cross compiler
# It builds with gcc and with clang, every warning of ours an error, and runs the core tests below with each build. Another
# processor is emulated, where compilers would take an hour: for it the module is compiled here, with gcc.
# The root lands in build/elsewhere/SUITE-ARCH and is kept; a line for each compiler is added to build/elsewhere/results.
# COMPILERS="gcc" and TESTS="tests/core/test_save.py" choose, MIRROR is debootstrap's. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
# In a mount namespace of its own: what is mounted below is gone with this process, and nobody else sees it.
[ -n "${APART:-}" ] || APART=1 exec unshare --mount bash "tools/$(basename "$0")" "$@"
suite=${1:?usage: tools/elsewhere.sh SUITE [ARCH]}
here=$(dpkg --print-architecture)
arch=${2:-$here}
root=$PWD/build/elsewhere/$suite-$arch
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n 1p)}
[ -n "$mirror" ] || { echo "apt has no source here: MIRROR=URL names one" >&2; exit 2; }
tests=${TESTS:-$(echo tests/core/test_{session,batch,save,golden,threads,buffers}.py)}
command -v debootstrap >/dev/null || { echo "needs debootstrap: apt-get install debootstrap" >&2; exit 2; }
compilers=${COMPILERS:-gcc clang}
packages=gcc,clang,libc6-dev,python3-dev,python3-venv,cmake,ninja-build,ca-certificates
if [ "$arch" != "$here" ]; then
    cross=$(dpkg-architecture -a "$arch" -q DEB_HOST_GNU_TYPE)-gcc
    compilers=$cross
    packages=libc6-dev,python3-dev,python3-venv
    if ! arch-test "$arch" >/dev/null 2>&1; then
        echo "another architecture needs qemu: apt-get install qemu-user-static binfmt-support arch-test" >&2
        exit 2
    fi
    command -v "$cross" >/dev/null || { echo "needs $cross: apt-get install gcc-${cross%-gcc}" >&2; exit 2; }
fi
if [ ! -e "$root/.ready" ]; then
    rm -rf --one-file-system "$root" && mkdir -p "$root"
    # A debootstrap older than the suite has no script of its name; all of Debian's are the same.
    debootstrap --arch="$arch" --variant=minbase --include="$packages" "$suite" "$root" "$mirror" sid
    touch "$root/.ready"
fi

# What git knows of, and the engine that the build here found.
rm -rf "$root/puzzleport" "$root/engine"
mkdir -p "$root/puzzleport" "$root/engine"
git ls-files -z | xargs -0 tar cf - | tar xf - -C "$root/puzzleport"
cp -r "$(python3 native/engine.py)/." "$root/engine"
# How this machine reaches a package index.
for file in /etc/pip.conf /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e $file ] || cp -L $file "$root$file"
done

inside() { # command...
    chroot "$root" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 PATH=/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        PUZZLEPORT_ENGINE_SRC=/engine "$@"
}

# Threads and processes of the tests need these.
for place in proc dev dev/shm; do
    mkdir -p "$root/$place"
    mountpoint -q "$root/$place" || mount --bind "/$place" "$root/$place"
done

# The package with a module that was compiled here for the other processor, put where an installed one would be.
cross_build() {
    export PATH="$PWD/.venv/bin:$PATH"
    local build=build/elsewhere/$suite-$arch-module to
    cmake -G Ninja -S native -B "$build" -DSTRICT=ON -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_C_COMPILER="$cross" \
        -DCMAKE_SYSROOT="$root" -DPython_EXECUTABLE="$(command -v python)" \
        -DPython_INCLUDE_DIR="$(echo "$root"/usr/include/python3.*)" && ninja -C "$build" || return
    to=$root$(inside python -c "import sysconfig; print(sysconfig.get_path('platlib'))")/puzzleport
    rm -rf "$to" && mkdir -p "$to" && cp -r core/. adapters "$to" &&
        cp "$build"/_native*.so "$to/_native$(inside python -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")"
}

version_of() { # compiler
    { [ "$arch" != "$here" ] && "$1" --version || inside "$1" --version; } | head -1
}

build_with() { # compiler
    if [ "$arch" != "$here" ]; then
        cross_build
    else
        inside CC="$1" python -m pip install --no-build-isolation --no-deps --force-reinstall \
            --config-settings=cmake.define.STRICT=ON /puzzleport
    fi
}

inside python3 -m venv /venv
inside python -m pip install --quiet scikit-build-core cffi numpy click rich pillow pytest pytest-timeout hypothesis
failed=0
for compiler in $compilers; do
    log=$root/$compiler.log
    result="did not build"
    rm -rf "$root/puzzleport/build"
    if build_with "$compiler" >"$log" 2>&1; then
        # The tests alone, so that they find the package that was installed.
        rm -rf "$root/tested" && mkdir "$root/tested" && cp -r tests pyproject.toml "$root/tested"
        # shellcheck disable=SC2086
        inside bash -c "cd /tested && exec python -m pytest -q -p no:cacheprovider $tests" >>"$log" 2>&1 || failed=1
        result=$(tail -1 "$log")
    else
        failed=1
    fi
    printf '%s | %s %s | %s | %s | %s\n' "$(date -u +%F)" "$suite" "$arch" "$(version_of "$compiler")" "$(inside python --version)" "$result" | tee -a build/elsewhere/results
done
exit $failed
