#!/usr/bin/env bash
# Everything again under sanitizers:
#   tools/sanitize.sh [address|thread]      (both when none is named)
# address: AddressSanitizer and UndefinedBehaviorSanitizer over native/checks/check.c on all puzzles, then the core tests in
# Python that call into C themselves and those of the JAX adapter, then the torture. thread: ThreadSanitizer over batches,
# rollouts and sessions on several threads, then the tests of these, then pairs of calls from two threads. TORTURE=600
# tortures for so many seconds, 60 by default.
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
pytest=(-q -s -p no:cacheprovider -m "not slow")
# What is Python over calls that the other tests make: the command line, reports and recordings, words, published agents.
python_only="cli terminal evaluate ladder leaderboard verify recording published language language_rules"

checkers() { # kind
    cmake -G Ninja -S native -B build/$1 -DCHECKERS=ON -DSANITIZE=$1 -DCMAKE_C_COMPILER=$cc >/dev/null
    ninja -C build/$1 check
}

# The package once more, with a sanitized module, in a folder of its own: the installed one stays as it is. Python runs
# sitecustomize.py in every process, so those that the tests start load the sanitized module too.
module() { # kind
    cmake -G Ninja -S native -B build/$1-module -DSANITIZE=$1 -DCMAKE_C_COMPILER=$cc -DPython_EXECUTABLE="$python" >/dev/null
    ninja -C build/$1-module
    local root=build/$1-python
    rm -rf $root && mkdir -p $root/puzzleport
    cp -r core/. $root/puzzleport/
    cp -r adapters $root/puzzleport/
    cp build/$1-module/_native*.so $root/puzzleport/
    cat >$root/sitecustomize.py <<'START'
import signal, sys
sys.meta_path = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]  # the editable install
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell starts what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
START
    cat >$root/where.py <<'WHERE'
import os, subprocess, sys
import puzzleport._native
assert os.path.dirname(__file__) in puzzleport._native.__file__, puzzleport._native.__file__
if not sys.argv[1:]:
    subprocess.run([sys.executable, __file__, "inner"], check=True)
WHERE
}

sanitized() { # kind library environment command...
    local root=$PWD/build/$1-python library=$2 options=$3
    shift 3
    # The sanitizer looks for the C++ runtime when it starts, and pyarrow's exceptions need it.
    local preload="$($cc -print-file-name="$library") $($cc -print-file-name=libstdc++.so.6)"
    # shellcheck disable=SC2086
    env LD_PRELOAD="$preload" PYTHONPATH="$root" PYTHONMALLOC=malloc $options "$python" "$@"
}

for kind in ${1:-address thread}; do
    if [ $kind = address ]; then
        checkers address
        build/address/check all "${STEPS:-600}" 2 | grep -E "^(FAIL|note|[0-9]+ failures)"
        build/address/check threads 60
        module address
        # Python itself never frees all it has; what we leave behind is counted by the tests, and a test that looks at the
        # resident size should not see much of what the sanitizer keeps.
        run="sanitized address libasan.so ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0:quarantine_size_mb=8"
        $run build/address-python/where.py
        # The sanitizer itself ends the process where an address space is full, and takes many minutes for the largest board.
        # Its allocator does not go through forks, so a child may wait for ever: the torture below counts with that.
        # shellcheck disable=SC2086
        $run -m pytest "${pytest[@]}" -k "not fork" tests/native/test_experts.py tests/core --ignore tests/core/test_memory.py \
            --deselect "tests/core/test_torture.py::test_torture[memory]" \
            --deselect tests/core/test_deadlines.py::test_ctrl_c_ends_a_long_call_long_before_its_end \
            $(printf -- "--ignore tests/core/test_%s.py " $python_only)
        # What XLA calls: with JAX's threads above and ours below.
        $run -m pytest "${pytest[@]}" -k "not fork and not process" tests/adapters/test_jax.py
        $run -m tests.torture pairs forks signals exits deadlines forged --seconds "${TORTURE:-60}"
    else
        checkers thread
        # Unequal's generator counts in a static that nothing reads but its own debug output.
        echo "race:gg_solved" > build/thread/known
        known=suppressions=$PWD/build/thread/known
        TSAN_OPTIONS=halt_on_error=1:$known build/thread/check threads 60
        module thread
        run="sanitized thread libtsan.so TSAN_OPTIONS=halt_on_error=1:$known:report_signal_unsafe=0:ignore_noninstrumented_modules=1"
        $run build/thread-python/where.py
        $run -m pytest "${pytest[@]}" tests/core/test_batch.py tests/core/test_robustness.py tests/core/test_threads.py \
            -k "(batch or thread or rollout or session or search) and not fork and not processes and not exits"
        $run -m tests.torture pairs signals --seconds "${TORTURE:-60}"
    fi
done
echo "the sanitizers found nothing"
