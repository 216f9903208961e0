#!/usr/bin/env bash
# Build and run checks/check.c for one puzzle under AddressSanitizer and UndefinedBehaviorSanitizer (all: tools/sanitize.sh):
#   native/checks/check.sh NAME [steps] [seeds] [params...]
set -eu
native=$(cd "$(dirname "$0")/.." && pwd)
engine=$(python3 "$native/engine.py")
name=$1
shift
out=${PUZZLEPORT_CHECK_DIR:-$native/../build/check}
mkdir -p "$out"
cc=${CC:-cc}
flags="-std=gnu11 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -DPZ_PLAIN_MALLOC -I$native/include -I$native -I$engine"
theirs="combi divvy draw-poly drawing dsf findloop grid latin laydomino loopgen matching misc penrose penrose-legacy sort
    tdq tree234 hat spectre"
as_engine="-I$native/host/shadow -include $native/host/prelude.h -w"
objects=
build() { # source object flags...
    objects="$objects $out/$2"
    [ "$out/$2" -nt "$1" ] && [ -z "$(find "$native" -name '*.h' -newer "$out/$2")" ] && return
    $cc $flags "${@:3}" -c "$1" -o "$out/$2"
}
for folder in session batch planning planning/experts drawing host; do
    for source in "$native/$folder"/*.c; do
        case $source in
        */host/random.c) build "$source" random.o $as_engine ;;
        */session/spec.c) build "$source" "spec-$name.o" -Wall -Wextra -DPZ_ONLY="$name" ;;
        *) build "$source" "our-${folder//\//-}-$(basename "$source" .c).o" -Wall -Wextra ;;
        esac
    done
done
for file in $theirs; do build "$engine/$file.c" "engine-$file.o" $as_engine; done
build "$native/puzzles/$name.c" "puzzle-$name.o" $as_engine -Wunused-function
build "$native/checks/bench.c" our-bench.o -Wall -Wextra
build "$native/checks/check.c" our-check.o -Wall -Wextra
$cc $flags -o "$out/check-$name" $objects -lm -lpthread
exec "$out/check-$name" "$name" "$@"
