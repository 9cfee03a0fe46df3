#!/bin/sh
# `vf build --cuda` in a copy of the package, OUTDIR/tree (native/test/cuda_nvcc.sh OUTDIR), over a build for the CPU as a
# user would; then reads what came out without a GPU: no hot kernel spills more than the stated bytes, and the PTX of each
# matrix and attention kernel holds at least the stated number of tensor-core instructions. test/install/cuda.test.ts goes
# on from OUTDIR/tree. Skips with a word where there is no nvcc.
set -e
cd "$(dirname "$0")/../.."
out=${1:?usage: native/test/cuda_nvcc.sh OUTDIR}
if ! command -v nvcc > /dev/null; then
  echo "nvcc is not here: the CUDA kernels were not compiled"
  exit 0
fi
mkdir -p "$out/tree" "$out/keep"
out=$(cd "$out" && pwd)
tree=$out/tree
for part in bin dist native scripts assets CMakeLists.txt package.json; do
  rm -rf "${tree:?}/$part"
  cp -Rp "$part" "$tree/$part"
done
rm -rf "$tree/native/test" "$tree/native/bench"
ln -sfn "$PWD/node_modules" "$tree/node_modules"
newest=$(ls -t native/cuda/* native/ops/* native/core/*.h CMakeLists.txt | head -1)
if [ ! -f "$out/done" ] || [ "$newest" -nt "$out/done" ]; then
  rm -rf "$tree/build" "$out/keep" "$out/done"
  mkdir "$out/keep"
  (cd "$tree" && node bin/vf.js build) > "$out/cpu.log" 2>&1 || { tail -40 "$out/cpu.log"; exit 1; }
  begin=$(date +%s)
  (
    cd "$tree"
    CUDAFLAGS="-Xptxas=-v --keep --keep-dir=$out/keep" node bin/vf.js build --cuda > "$out/nvcc.log" 2>&1 ||
      { grep -v -e 'ptxas info' -e 'bytes stack frame' "$out/nvcc.log" | tail -60; exit 1; }
    times > "$out/times"
  )
  # the children's line: user and system time, as 1m2.3s
  awk -v wall=$(($(date +%s) - begin)) 'NR == 2 {
    for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); cpu += 60 * t[1] + t[2] }
    printf "vf build --cuda: %d s, %d s of CPU\n", wall, cpu
    if (cpu > 480) { print "FAILED: that is more than 4 minutes on 2 cores"; exit 1 }
  }' "$out/times"
  touch "$out/done"
else
  (cd "$tree" && node bin/vf.js build) > "$out/again.log" 2>&1 || { tail -40 "$out/again.log"; exit 1; }
fi

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
awk -v list="$spills" '
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
  }' "$out/nvcc.log"

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
find "$out/keep" -name '*.ptx' | xargs awk -v list="$wanted" '
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
