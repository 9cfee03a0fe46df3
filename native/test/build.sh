#!/bin/sh
# Builds the op tests without Node: native/test/build.sh OUTDIR [compiler flags]; then runs nothing. Objects are rebuilt
# when a source or header is newer.
set -e
cd "$(dirname "$0")/../.."
out=${1:?usage: native/test/build.sh OUTDIR [compiler flags]}
shift
mkdir -p "$out"
cxx=${CXX:-g++}
flags="-O3 -std=c++17 -ffp-contract=off -fPIC -Wall -Wextra $*"
objects=""
newest=$(find native -name '*.h' -o -name '*.inc' | xargs ls -t | head -1)
for source in $(grep '^native/cpu/' native/sources.txt); do
  object="$out/$(basename "$source" .cpp).o"
  objects="$objects $object"
  if [ -f "$object" ] && [ "$object" -nt "$source" ] && [ "$object" -nt "$newest" ]; then continue; fi
  case "$source" in
    *_avx512.cpp) isa="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma" ;;
    *_avx2.cpp) isa="-mavx2 -mfma" ;;
    *) isa="" ;;
  esac
  case "$(uname -m)" in x86_64) ;; *) isa="" ;; esac
  $cxx $flags $isa -c "$source" -o "$object"
done
for test in native/test/test_*.cpp; do
  $cxx $flags -O1 "$test" $objects -o "$out/$(basename "$test" .cpp)" -lpthread
done
