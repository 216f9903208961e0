#!/usr/bin/env bash
# Everything again under sanitizers:
#   tools/sanitize.sh [address|thread]      (both when none is named)
# address: AddressSanitizer and UndefinedBehaviorSanitizer over native/checks/check.c on all puzzles, then the native and core
# tests in Python. thread: ThreadSanitizer over batches, rollouts and sessions on several threads, then the tests of these.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
cc=${CC:-gcc}
for tool in "$cc" cmake ninja; do
    command -v "$tool" >/dev/null ||
        { echo "make sanitize needs $tool: apt-get install gcc, pip install -r requirements/build.txt" >&2; exit 2; }
done
for kind in address thread; do
    echo 'int main(void) { return 0; }' | $cc -x c -fsanitize=$kind - -o /dev/null 2>/dev/null ||
        { echo "make sanitize needs $cc with its $kind sanitizer: apt-get install libasan8 libtsan2 libubsan1" >&2; exit 2; }
done
python=$(command -v python)

checkers() { # kind
    cmake -G Ninja -S native -B build/$1 -DCHECKERS=ON -DSANITIZE=$1 -DCMAKE_C_COMPILER=$cc >/dev/null
    ninja -C build/$1 check
}

# The package once more, with a sanitized module, in a folder of its own: the installed one stays as it is.
module() { # kind
    cmake -G Ninja -S native -B build/$1-module -DSANITIZE=$1 -DCMAKE_C_COMPILER=$cc -DPython_EXECUTABLE="$python" >/dev/null
    ninja -C build/$1-module
    local root=build/$1-python
    rm -rf $root && mkdir -p $root/puzzleport
    cp -r core/. $root/puzzleport/
    cp -r adapters $root/puzzleport/
    cp build/$1-module/_native*.so $root/puzzleport/
}

tests() { # kind library environment tests...
    local root=$PWD/build/$1-python library=$2 options=$3
    shift 3
    # The sanitizer looks for the C++ runtime when it starts, and pyarrow's exceptions need it.
    local preload="$($cc -print-file-name="$library") $($cc -print-file-name=libstdc++.so.6)"
    # A file, because processes that the tests spawn run it again up to its last line.
    cat >"$root/run.py" <<'RUN'
import os, signal, sys
sys.path.insert(0, os.environ["PYTHONPATH"])
sys.meta_path = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
import puzzleport._native, pytest
assert "build" in puzzleport._native.__file__, puzzleport._native.__file__
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    sys.exit(pytest.main(["-q", "-x", "-s", "-p", "no:cacheprovider", "-m", "not slow", *sys.argv[1:]]))
RUN
    env LD_PRELOAD="$preload" PYTHONPATH="$root" PYTHONMALLOC=malloc $options "$python" "$root/run.py" "$@"
}

for kind in ${1:-address thread}; do
    if [ $kind = address ]; then
        checkers address
        build/address/check all "${STEPS:-600}" 2 | grep -E "^(FAIL|note|[0-9]+ failures)"
        build/address/check threads 60
        module address
        # Python itself never frees all it has; what we leave behind is counted by the tests, and a test that looks at the
        # resident size should not see much of what the sanitizer keeps.
        tests address libasan.so "ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0:quarantine_size_mb=8" tests/native tests/core \
            --deselect tests/core/test_memory.py --deselect tests/core/test_bench.py
    else
        checkers thread
        # Unequal's generator counts in a static that nothing reads but its own debug output.
        echo "race:gg_solved" > build/thread/known
        known=suppressions=$PWD/build/thread/known
        TSAN_OPTIONS=halt_on_error=1:$known build/thread/check threads 60
        module thread
        tests thread libtsan.so "TSAN_OPTIONS=halt_on_error=1:$known:report_signal_unsafe=0:ignore_noninstrumented_modules=1" \
            tests/core/test_batch.py tests/core/test_robustness.py \
            -k "(batch or thread or rollout) and not fork and not processes and not exits"
    fi
done
echo "the sanitizers found nothing"
