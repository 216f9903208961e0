#!/usr/bin/env bash
# Coverage-guided fuzzing of the C side under AddressSanitizer and UndefinedBehaviorSanitizer, for a bounded time:
#   tools/fuzz.sh [seconds per puzzle] [puzzles...]      (15 seconds, all 40: about ten minutes)
# What it finds lands in build/fuzz/found; the exit code says whether there is anything. For each puzzle it tells the cases,
# the edges of the program that they reached, and the processor time.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-15}
[ $# -gt 0 ] && shift
export PATH="$PWD/.venv/bin:$PATH"
cc=${CC:-clang}
if ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
        $cc -x c -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; then
    echo "make fuzz needs clang with its sanitizer runtime: apt-get install clang libclang-rt-dev (or CC=your-clang)" >&2
    exit 2
fi
for tool in cmake ninja; do
    command -v $tool >/dev/null || { echo "make fuzz needs $tool: pip install -r requirements/build.txt" >&2; exit 2; }
done
build=build/fuzzer
out=build/fuzz
cmake -G Ninja -S native -B $build -DCHECKERS=ON -DSANITIZE=fuzzer -DCMAKE_C_COMPILER=$cc >/dev/null
ninja -C $build fuzz
mkdir -p $out/seeds $out/found
PZ_FUZZ_SEEDS=$out/seeds $build/fuzz
puzzles=${*:-$(basename -as .c native/puzzles/*.c)}

one() {
    mkdir -p $out/corpus/$1
    cp -n $out/seeds/$1-* $out/corpus/$1/ 2>/dev/null || true
    local log=$out/$1.log TIMEFORMAT="%U %S" ended=0
    # Pools are counted by the harness itself; libFuzzer's own leak check would stop at the engine's known small ones. A
    # case ends itself after a quarter of a second; libFuzzer looks at the clock, which runs while a busy machine waits.
    { time PZ_FUZZ_PUZZLE=$1 ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 $build/fuzz $out/corpus/$1 \
        -max_total_time=$seconds -timeout=12000 -rss_limit_mb=3000 -max_len=8000 -print_final_stats=1 \
        -artifact_prefix=$out/found/$1- >$log 2>&1; } 2>$out/$1.time || ended=$?
    if [ $ended = 0 ]; then
        echo "$1: $(sed -n 's/^stat::number_of_executed_units: *//p' $log) cases," \
            "$(grep -o 'cov: [0-9]*' $log | tail -1 | cut -d' ' -f2) edges," \
            "$(awk '{ printf "%.0f", $1 + $2 }' $out/$1.time) seconds of processor time"
    else
        echo "$1: FOUND $(grep -m1 -E 'runtime error|ERROR: |interrupted' $log) (see $log)"
        return 1
    fi
}
export -f one
export out build seconds
echo "$puzzles" | tr ' ' '\n' | xargs -P "${JOBS:-$(nproc)}" -I {} bash -c 'one {}' && echo "no findings"
