#!/bin/sh
# The CUDA sources on the CPU: builds the shim, its own tests, the parity table and the end-to-end test into OUTDIR and runs
# them. native/test/cuda.sh OUTDIR [stage…]; stages: shim parity orders step bench sanitize races mutants nvcc, and
# addon (OUTDIR/vf.node with the device cuda-sim). Without stages: all but addon.
set -e
cd "$(dirname "$0")/../.."
out=${1:?usage: native/test/cuda.sh OUTDIR [stage...]}
shift
stages=${*:-shim parity orders step bench sanitize races mutants nvcc}
cxx=${CXX:-g++}
jobs=$(getconf _NPROCESSORS_ONLN)
model="rope weights network network_backward score stop generate train_step"

# build_with DIR FLAGS…: objects of the CUDA sources, the CPU backend, the model and the tests, and the programs.
build_with() {
  dir=$1
  source_root=${CUDA_ROOT:-native}
  shift
  mkdir -p "$dir/addon"
  {
    echo "cxxflags = -std=c++17 -g1 -fPIC -Wall -Wextra -ffp-contract=off -MMD -MP $*"
    echo "all: $dir/cuda_parity $dir/cuda_step $dir/cuda_memory $dir/cuda_shim_test"
    objects="" model_objects=""
    for source in $(cat native/cuda/sources.txt); do
      object="$dir/cu_$(basename "$source" .cu).o"
      objects="$objects $object"
      printf '%s: %s\n\t%s -x c++ $(cxxflags) -O2 -Wno-unknown-pragmas -DVF_CUDA_SHIM -c $< -o $@\n' "$object" "$source_root/${source#native/}" "$cxx"
    done
    for source in $(grep '^native/cpu/' native/sources.txt) native/core/packed.cpp $(for m in $model; do echo native/model/$m.cpp; done); do
      # the CPU's kernels are not what is under test: one build of them serves all
      case "$source" in
        *kernels_*) object="$out/$(basename "$source" .cpp).o" flags="-std=c++17 -fPIC -ffp-contract=off -MMD -MP -O2" ;;
        *) object="$dir/$(basename "$source" .cpp).o" flags='$(cxxflags) -O2' ;;
      esac
      case "$source" in
        native/model/* | native/core/*) model_objects="$model_objects $object" ;;
        *) objects="$objects $object" ;;
      esac
      case "$source" in
        *_avx512.cpp) isa="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma" ;;
        *_avx2.cpp) isa="-mavx2 -mfma" ;;
        *) isa="" ;;
      esac
      case "$(uname -m)" in x86_64) ;; *) isa="" ;; esac
      printf '%s: %s\n\t%s %s %s -c $< -o $@\n' "$object" "$source" "$cxx" "$flags" "$isa"
    done
    parity=""
    for source in native/test/cuda_parity*.cpp; do
      object="$dir/$(basename "$source" .cpp).o"
      parity="$parity $object"
      printf '%s: %s\n\t%s $(cxxflags) -O1 -c $< -o $@\n' "$object" "$source" "$cxx"
    done
    printf '%s/cuda_parity: %s %s\n\t%s $(cxxflags) $^ -o $@ -lpthread -ldl\n' "$dir" "$parity" "$objects" "$cxx"
    printf '%s/cuda_step: native/test/cuda_step.cpp %s\n\t%s $(cxxflags) -O1 $(filter %%.cpp %%.o,$^) -o $@ -lpthread -ldl\n' "$dir" "$objects $model_objects" "$cxx"
    printf '%s/cuda_shim_test: native/test/cuda_shim_test.cpp native/test/cuda_shim.h native/test/cuda_shim_runtime.h native/cuda/instructions.cuh native/cuda/reduce.cuh\n\t%s $(cxxflags) -O1 -Wno-unknown-pragmas -DVF_CUDA_SHIM $< -o $@ -lpthread\n' "$dir" "$cxx"
    printf '%s/cuda_memory: native/test/cuda_memory.cpp native/test/cuda_shim.h native/test/cuda_shim_runtime.h %s\n\t%s $(cxxflags) -O1 -Wno-unknown-pragmas -DVF_CUDA_SHIM $(filter %%.cpp %%.o,$^) -o $@ -lpthread -ldl\n' "$dir" "$objects" "$cxx"
    printf '%s/gpu_bench: native/bench/gpu_bench.cpp %s\n\t%s $(cxxflags) -O1 $(filter %%.cpp %%.o,$^) -o $@ -lpthread -ldl\n' "$dir" "$objects $model_objects" "$cxx"
    # vf.node with the device cuda-sim, for tests that come through Node
    addon=""
    for source in native/addon/*.cpp; do
      object="$dir/addon/$(basename "$source" .cpp).o"
      addon="$addon $object"
      printf '%s: %s\n\t%s $(cxxflags) -O1 -fvisibility=hidden -DNAPI_VERSION=8 -DNODE_ADDON_API_CPP_EXCEPTIONS -DVF_VERSION=\\"sim\\" -isystem node_modules/node-api-headers/include -isystem node_modules/node-addon-api -c $< -o $@\n' "$object" "$source" "$cxx"
    done
    printf '%s/vf.node: %s %s\n\t%s -shared $^ -o $@ -lpthread -ldl\n' "$dir" "$addon" "$objects $model_objects" "$cxx"
    echo "-include $dir/*.d $dir/addon/*.d"
  } > "$dir/Makefile"
  make -s -j "$jobs" -f "$dir/Makefile" ${TARGETS:-all}
}

# A barrier deleted from a kernel must show: builds one source of a copy whose nth __syncthreads is gone, with the objects
# of a build and its flags, and the table must end with the words `sign`.
# mutant HEADER NTH SOURCE FAMILY SIGN OBJECTS FLAGS…
mutant() {
  header=$1 nth=$2 source=$3 family=$4 sign=$5 objects=$6
  shift 6
  rm -rf "$out/mutant"
  mkdir -p "$out/mutant/native/test"
  cp -r native/ops native/core native/cuda "$out/mutant/native/"
  cp native/test/cuda_shim*.h "$out/mutant/native/test/"
  awk -v nth="$nth" '/__syncthreads\(\);/ && ++seen == nth { sub(/__syncthreads\(\);/, ";") } { print }' "native/cuda/$header" > "$out/mutant/native/cuda/$header"
  if cmp -s "native/cuda/$header" "$out/mutant/native/cuda/$header"; then echo "FAILED: $header has no barrier $nth"; exit 1; fi
  $cxx -x c++ -std=c++17 -O1 -g1 -fPIC -ffp-contract=off -Wno-unknown-pragmas -DVF_CUDA_SHIM "$@" -c "$out/mutant/native/cuda/$source.cu" -o "$out/mutant/$source.o"
  others=$(ls "$out"/kernels_*.o "$objects"/*.o | sort -u | grep -v "/cu_$source.o")
  $cxx "$@" "$out/mutant/$source.o" $others -o "$out/mutant/parity" -lpthread -ldl
  if TSAN_OPTIONS=halt_on_error=1 "$out/mutant/parity" "$family" > "$out/mutant/log" 2>&1 || ! grep -q "$sign" "$out/mutant/log"; then
    echo "FAILED: barrier $nth of $header is deleted and the table does not notice"
    tail -5 "$out/mutant/log"
    exit 1
  fi
  echo "barrier $nth of $header deleted: $sign, as it must"
}

for stage in $stages; do
  case "$stage" in
    shim | step) build_with "$out" ;;
    bench) TARGETS="$out/gpu_bench" build_with "$out" ;;
    parity | orders | mutants) TARGETS="$out/cuda_parity" build_with "$out" ;;
  esac
  case "$stage" in
    addon) TARGETS="$out/vf.node" build_with "$out" ;;
    shim) "$out/cuda_shim_test" ;;
    parity) "$out/cuda_parity" ;;
    orders)
      VF_SHIM_ORDER=1 "$out/cuda_parity"
      VF_SHIM_ORDER=12345 "$out/cuda_parity"
      ;;
    step)
      "$out/cuda_step"
      "$out/cuda_memory"
      ;;
    bench)
      # every stage of the GPU's bench at the size of a toy: its code runs, its figures say nothing
      rm -f "$out/gpu.jsonl"
      for part in train decode logprob step; do "$out/gpu_bench" "$part" "$out/gpu.jsonl" small; done
      ;;
    sanitize)
      build_with "$out/sanitize" -fsanitize=address,undefined -fno-sanitize-recover=undefined
      "$out/sanitize/cuda_shim_test"
      "$out/sanitize/cuda_parity"
      VF_SHIM_ORDER=12345 "$out/sanitize/cuda_step"
      ;;
    races)
      TARGETS="$out/races/cuda_parity $out/races/cuda_shim_test" build_with "$out/races" -fsanitize=thread -DVF_SHIM_THREADS
      "$out/races/cuda_shim_test"
      VF_PARITY_SMALL=1 "$out/races/cuda_parity"
      VF_PARITY_SMALL=1 mutant reduce.cuh 1 layers layers 'data race' "$out/races" -fsanitize=thread -DVF_SHIM_THREADS
      ;;
    mutants)
      mutant reduce.cuh 1 layers layers FAILED "$out"
      mutant gemm_mma.cuh 1 matmul matmul FAILED "$out"
      mutant attention_tiles.cuh 1 attention attention FAILED "$out"
      ;;
    nvcc) sh native/test/cuda_nvcc.sh "$out/nvcc" ;;
    *)
      echo "no stage $stage (addon shim parity orders step bench sanitize races mutants nvcc)"
      exit 2
      ;;
  esac
done
