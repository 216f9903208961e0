#!/usr/bin/env bash
# Build and run native/check.c for one puzzle under AddressSanitizer and UndefinedBehaviorSanitizer (all: tools/sanitize.sh):
#   native/check.sh NAME [steps] [seeds] [params...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
engine=$(python3 "$here/engine.py")
name=$1
shift
out=${PUZZLEPORT_CHECK_DIR:-$here/../build/check}
mkdir -p "$out"
cc=${CC:-cc}
flags="-std=gnu11 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -DPZ_PLAIN_MALLOC -I$here/include -I$engine"
ours="batch guard layout memory pages session save text spec draw canvas glyphs picture plan search"
theirs="combi divvy draw-poly drawing dsf findloop grid latin laydomino loopgen matching misc penrose penrose-legacy sort
    tdq tree234 hat spectre"
prelude="-include $here/include/prelude.h -w"
build() { # source object flags...
    [ "$2" -nt "$1" ] && [ -z "$(find "$here/include" -newer "$2")" ] && return
    $cc $flags "${@:3}" -c "$1" -o "$2"
}
objects=
for file in $ours; do
    build "$here/$file.c" "$out/our-$file.o" -Wall -Wextra
    objects="$objects $out/our-$file.o"
done
for file in $theirs; do
    build "$engine/$file.c" "$out/engine-$file.o" $prelude
    objects="$objects $out/engine-$file.o"
done
build "$here/random.c" "$out/random.o" $prelude
$cc $flags $prelude -Wunused-function -c "$here/puzzles/$name.c" -o "$out/puzzle-$name.o"
$cc $flags -DPZ_ONLY="$name" -o "$out/check-$name" "$here/registry.c" "$here/check.c" $objects "$out/random.o" \
    "$out/puzzle-$name.o" -lm -lpthread
exec "$out/check-$name" "$name" "$@"
