#!/bin/sh
# What only a GPU can show, in stages of at most two minutes each: native/bench/gpu.sh DIR [stage…], stages parity train
# decode logprob step (all without one). `native/bench/gpu.sh DIR build` makes DIR beforehand (no GPU or Node needed, nvcc
# and g++ are); on the machine with the GPU only what is missing is built. Rows go to the screen as they come and as JSON to
# DIR/gpu.jsonl. Exit 3: no GPU.
set -e
cd "$(dirname "$0")/../.."
dir=${1:?usage: native/bench/gpu.sh DIR [build|parity|train|decode|logprob|step...]}
shift
stages=${*:-parity train decode logprob step}
jobs=$(getconf _NPROCESSORS_ONLN)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)

build() {
  mkdir -p "$dir/objects"
  objects="" cuda_objects=""
  {
    echo "all: $dir/gpu_bench $dir/cuda_parity $dir/cuda_step"
    for source in $(cat native/cuda/sources.txt); do
      object="$dir/objects/cu_$(basename "$source" .cu).o"
      objects="$objects $object"
      printf '%s: %s\n\t%s -std=c++17 -O3 -Xcompiler=-fPIC -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90 -c $< -o $@\n' \
        "$object" "$source" "$nvcc"
    done
    for source in $(grep '^native/cpu/' native/sources.txt) $(grep '^native/model/' native/sources.txt) native/core/packed.cpp; do
      object="$dir/objects/$(basename "$source" .cpp).o"
      objects="$objects $object"
      case "$source" in
        *_avx512.cpp) isa="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma" ;;
        *_avx2.cpp) isa="-mavx2 -mfma" ;;
        *) isa="" ;;
      esac
      printf '%s: %s\n\tg++ -std=c++17 -O2 -fPIC -ffp-contract=off %s -c $< -o $@\n' "$object" "$source" "$isa"
    done
    # nvcc links: it knows where its runtime lies
    link="-cudart static -Xcompiler=-static-libstdc++,-static-libgcc -lpthread -ldl -lrt"
    for program in native/bench/gpu_bench.cpp native/test/cuda_step.cpp; do
      printf '%s: %s %s\n\t%s -std=c++17 -O2 $^ -o $@ %s\n' "$dir/$(basename "$program" .cpp)" "$program" "$objects" "$nvcc" "$link"
    done
    printf '%s: %s %s\n\t%s -std=c++17 -O1 $^ -o $@ %s\n' "$dir/cuda_parity" "$(ls native/test/cuda_parity*.cpp | tr '\n' ' ')" "$objects" "$nvcc" "$link"
  } > "$dir/Makefile"
  make -s -j "$jobs" -f "$dir/Makefile" all
}

if [ "$stages" = build ]; then
  build
  rm -rf "$dir/objects"
  du -sh "$dir"
  exit 0
fi
for program in gpu_bench cuda_parity cuda_step; do
  if [ ! -x "$dir/$program" ]; then build && break; fi
done
json="$dir/gpu.jsonl"
"$dir/gpu_bench" probe || exit $?
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2> /dev/null || true
failed=0

# within SECONDS COMMAND…: a stage's part, cut when its time is up; what fails is named and the stages go on.
within() {
  limit=$1 status=0
  shift
  timeout "$limit" "$@" || status=$?
  if [ "$status" = 124 ]; then echo "cut after $limit s: $*"; fi
  if [ "$status" != 0 ]; then failed=1; fi
}
# The last lines of a sanitizer's report; being too slow for its time is no failure.
sanitizer() {
  status=0
  VF_PARITY_SMALL=1 timeout 20 compute-sanitizer --tool "$1" --error-exitcode 9 "$dir/cuda_parity" > "$dir/$1.log" 2>&1 || status=$?
  tail -3 "$dir/$1.log"
  case "$status" in
    0) echo "parity   compute-sanitizer $1: clean" ;;
    124) echo "parity   compute-sanitizer $1: cut after 20 s" ;;
    *) echo "parity   compute-sanitizer $1: FAILED" && failed=1 ;;
  esac
}

for stage in $stages; do
  echo "== $stage"
  case "$stage" in
    parity)
      VF_PARITY_LARGE=1 within 50 "$dir/cuda_parity"
      within 20 "$dir/cuda_step"
      if command -v compute-sanitizer > /dev/null; then
        sanitizer memcheck
        sanitizer racecheck
      else
        echo "parity   compute-sanitizer is not here"
      fi
      if command -v cuobjdump > /dev/null; then
        echo "parity   $(cuobjdump --dump-sass -arch sm_90 "$dir/gpu_bench" | grep -cE 'HMMA|HGMMA') tensor-core instructions in the machine code"
      else
        echo "parity   cuobjdump is not here"
      fi
      ;;
    logprob)
      within 25 "$dir/gpu_bench" logprob "$json"
      if python3 -c 'import torch' 2> /dev/null; then timeout 65 python3 native/bench/logprob_torch.py "$json" || echo "logprob  torch: ended early"; fi
      within 25 "$dir/gpu_bench" logprob "$json"
      ;;
    train | decode | step) within 110 "$dir/gpu_bench" "$stage" "$json" ;;
    *)
      echo "no stage $stage (build, or parity train decode logprob step)"
      exit 2
      ;;
  esac
done
exit "$failed"
