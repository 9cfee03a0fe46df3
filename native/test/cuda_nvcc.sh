#!/bin/sh
# Compiles every CUDA source with nvcc for what a build carries (native/test/cuda_nvcc.sh OUTDIR) and reads what came out
# without a GPU: no hot kernel spills more than the stated bytes, and the PTX of each matrix and attention kernel holds at
# least the stated number of tensor-core instructions. Skips with a word where there is no nvcc.
set -e
cd "$(dirname "$0")/../.."
out=${1:?usage: native/test/cuda_nvcc.sh OUTDIR}
if ! command -v nvcc > /dev/null; then
  echo "nvcc is not here: the CUDA kernels were not compiled"
  exit 0
fi
mkdir -p "$out"
begin=$(date +%s)
newest=$(ls -t native/cuda/* native/ops/* native/core/*.h | head -1)
compile() {
  name=$(basename "$1" .cu)
  if [ -f "$out/$name.o" ] && [ "$out/$name.o" -nt "$newest" ]; then return; fi
  mkdir -p "$out/$name"
  nvcc -std=c++17 -O3 -Xcompiler=-fPIC -Xptxas -v -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
    -gencode arch=compute_90,code=compute_90 --keep --keep-dir "$out/$name" -c "$1" -o "$out/$name.o" > "$out/$name.log" 2>&1 ||
    { cat "$out/$name.log"; exit 1; }
}
running=0
for source in $(cat native/cuda/sources.txt); do
  compile "$source" &
  running=$((running + 1))
  if [ $((running % $(getconf _NPROCESSORS_ONLN))) -eq 0 ]; then wait; fi
done
wait
for source in $(cat native/cuda/sources.txt); do
  test -f "$out/$(basename "$source" .cu).o" || { echo "FAILED: $source did not compile"; cat "$out/$(basename "$source" .cu).log"; exit 1; }
done
echo "nvcc: $(wc -l < native/cuda/sources.txt) sources in $(($(date +%s) - begin)) s"

# kernel (part of the mangled name), most bytes of spilled stores
spills='gemm_mma 0
attention_tilesILi 0
attention_tiles_dq 16
attention_tiles_dkv 0
attention_rows 16
logprob_rows 0
logits_gradient 0
5adamw 0
7rmsnorm 0
3qkvI 0
6sample 0'
cat "$out"/*.log | awk -v list="$spills" '
  BEGIN { n = split(list, rows, "\n"); for (i = 1; i <= n; i++) { split(rows[i], f, " "); kernel[i] = f[1]; bound[i] = f[2] } }
  /Compiling entry function/ { name = $0; sub(/.*function ./, "", name); sub(/. for.*/, "", name); target = $NF }
  /bytes spill stores/ {
    bytes = $0; sub(/ bytes spill stores.*/, "", bytes); sub(/.*, /, "", bytes)
    for (i = 1; i <= n; i++) if (index(name, kernel[i])) {
      seen[i]++
      if (bytes + 0 > worst[i] + 0) worst[i] = bytes
      if (bytes + 0 > bound[i]) { printf "FAILED: %s for %s spills %d bytes, %d is the most\n", name, target, bytes, bound[i]; failed = 1 }
    }
  }
  END {
    for (i = 1; i <= n; i++) {
      if (!seen[i]) { printf "FAILED: no kernel %s was compiled\n", kernel[i]; failed = 1 }
      printf "spills %-22s %2d variants, %d bytes at most\n", kernel[i], seen[i], worst[i]
    }
    exit failed
  }'

# kernel (part of the mangled name), instruction, least number of it
wanted='gemm_mmaINS_8GemmTileILi128 mma.sync 32
gemm_mmaINS_8GemmTileILi64 mma.sync 16
gemm_mmaINS_8GemmTileILi16 mma.sync 8
gemm_mmaINS_8GemmTile cp.async.cg 4
gemm_mmaINS_8GemmTile ldmatrix 4
attention_tilesILi64 mma.sync 64
attention_tilesILi128 mma.sync 128
attention_tiles_dqILi64 mma.sync 96
attention_tiles_dqILi128 mma.sync 192
attention_tiles_dkvILi64 mma.sync 64
attention_tiles_dkvILi128 mma.sync 128'
find "$out" -name '*.ptx' | xargs awk -v list="$wanted" '
  BEGIN { n = split(list, rows, "\n"); for (i = 1; i <= n; i++) { split(rows[i], f, " "); kernel[i] = f[1]; what[i] = f[2]; least[i] = f[3] } }
  function close_entry() {
    if (name != "") for (i = 1; i <= n; i++) if (index(name, kernel[i])) {
      seen[i]++
      if (count[i] < least[i]) { printf "FAILED: %s has %d %s, %d is the least\n", name, count[i], what[i], least[i]; failed = 1 }
    }
    name = ""
  }
  /\.entry/ { close_entry(); name = $0; sub(/.*\.entry /, "", name); for (i = 1; i <= n; i++) count[i] = 0 }
  { for (i = 1; i <= n; i++) if (index($0, what[i])) count[i]++ }
  END {
    close_entry()
    for (i = 1; i <= n; i++) {
      if (!seen[i]) { printf "FAILED: no PTX of %s\n", kernel[i]; failed = 1 }
      printf "ptx %-32s %2d variants with at least %3d %s\n", kernel[i], seen[i], least[i], what[i]
    }
    exit failed
  }'
