// The shim's own tests: every instruction wrapper's fragment layout against the PTX manual's, the order of asynchronous
// copies, and that what is wrong in a kernel is seen: a deleted barrier, a divergent one, a deadlock, a misaligned
// address.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "../cuda/reduce.cuh"

namespace {

using namespace vf;

void check(bool ok, const std::string& what) {
  if (ok) return;
  std::printf("FAILED: %s\n", what.c_str());
  std::exit(1);
}

float number(int i) { return static_cast<float>((i * 37) % 23 - 11) / 4; }

// PTX ISA, m16n8k16: a holds rows (g, g + 8), columns (2t, 2t + 1) and eight later; b rows (2t, 2t + 1), column g.
__global__ void product(const float* a, const float* b, float* d) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const auto pair = [](float low, float high) { return pack_bf16(low, high); };
  const uint32_t fa[4] = {pair(a[g * 16 + 2 * t], a[g * 16 + 2 * t + 1]),
                          pair(a[(g + 8) * 16 + 2 * t], a[(g + 8) * 16 + 2 * t + 1]),
                          pair(a[g * 16 + 2 * t + 8], a[g * 16 + 2 * t + 9]),
                          pair(a[(g + 8) * 16 + 2 * t + 8], a[(g + 8) * 16 + 2 * t + 9])};
  const uint32_t fb[2] = {pair(b[2 * t * 8 + g], b[(2 * t + 1) * 8 + g]),
                          pair(b[(2 * t + 8) * 8 + g], b[(2 * t + 9) * 8 + g])};
  float sums[4] = {1, 2, 3, 4};
  mma_bf16(sums, fa, fb);
  d[g * 8 + 2 * t] = sums[0];
  d[g * 8 + 2 * t + 1] = sums[1];
  d[(g + 8) * 8 + 2 * t] = sums[2];
  d[(g + 8) * 8 + 2 * t + 1] = sums[3];
}

void test_mma() {
  float a[256], b[128], d[128];
  for (int i = 0; i < 256; i++) a[i] = number(i);
  for (int i = 0; i < 128; i++) b[i] = number(3 * i + 1);
  const float *pa = a, *pb = b;
  float* pd = d;
  VF_LAUNCH((product), dim3(1), dim3(32), 0, nullptr, pa, pb, pd);
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      double sum = (i < 8 ? 1 : 3) + j % 2;
      for (int k = 0; k < 16; k++) sum += static_cast<double>(a[i * 16 + k]) * b[k * 8 + j];
      check(std::fabs(sum - d[i * 8 + j]) < 1e-4, "mma_bf16 at " + std::to_string(i) + "," + std::to_string(j));
    }
}

__global__ void matrices(uint32_t* plain, uint32_t* turned) {
  alignas(16) __shared__ bf16_t tile[32 * 8];
  for (int i = threadIdx.x; i < 256; i += 32) tile[i] = static_cast<bf16_t>(i);
  __syncthreads();
  uint32_t r[4];
  ldmatrix(r, tile + threadIdx.x * 8);
  for (int m = 0; m < 4; m++) plain[threadIdx.x * 4 + m] = r[m];
  ldmatrix_transposed(r, tile + threadIdx.x * 8);
  for (int m = 0; m < 4; m++) turned[threadIdx.x * 4 + m] = r[m];
}

void test_ldmatrix() {
  uint32_t plain[128], turned[128], *p = plain, *t = turned;
  VF_LAUNCH((matrices), dim3(1), dim3(32), 0, nullptr, p, t);
  for (int l = 0; l < 32; l++)
    for (int m = 0; m < 4; m++) {
      const auto at = [&](int row, int column) { return static_cast<uint32_t>((m * 8 + row) * 8 + column); };
      check(plain[l * 4 + m] == (at(l / 4, l % 4 * 2) | at(l / 4, l % 4 * 2 + 1) << 16), "ldmatrix");
      check(turned[l * 4 + m] == (at(l % 4 * 2, l / 4) | at(l % 4 * 2 + 1, l / 4) << 16), "ldmatrix_transposed");
    }
}

// What a thread sees of its copies: before the wait, after the first group's, after all.
__global__ void copies(const bf16_t* from, bf16_t* seen) {
  alignas(16) __shared__ bf16_t tile[24];
  if (threadIdx.x == 0) {
    cp_async(tile, from, true);
    cp_async_commit();
    cp_async(tile + 8, from + 8, true);
    cp_async(tile + 16, from, false);
    cp_async_commit();
    seen[0] = tile[0];
    cp_async_wait<1>();
    seen[1] = tile[0];
    seen[2] = tile[8];
    cp_async_wait<0>();
    seen[3] = tile[8];
    seen[4] = tile[16];
  }
}

void test_cp_async() {
  alignas(16) bf16_t from[16], seen[5];
  for (int i = 0; i < 16; i++) from[i] = static_cast<bf16_t>(100 + i);
  const bf16_t* f = from;
  bf16_t* s = seen;
  VF_LAUNCH((copies), dim3(1), dim3(32), 0, nullptr, f, s);
  check(seen[0] == 0xffff && seen[1] == 100 && seen[2] == 0xffff && seen[3] == 108 && seen[4] == 0,
        "cp.async lands when waited for, and zero-fills");
}

void test_rounding() {
  // ties go to the even neighbour; the largest float rounds up to infinity; a NaN stays one
  check(to_bf16(1.00390625f) == 0x3f80 && to_bf16(1.01171875f) == 0x3f82 && to_bf16(-1.00390625f) == 0xbf80,
        "ties to even");
  check(to_bf16(3.4e38f) == 0x7f80 && from_bf16(to_bf16(NAN)) != from_bf16(to_bf16(NAN)), "infinity and NaN");
  check(pack_bf16(1.0f, 2.0f) == (0x3f80u | 0x4000u << 16), "low half first");
}

#if !defined( \
    VF_SHIM_THREADS)  // threads of the system run in no order of ours, and a dead one takes the others' locks along
__global__ void reverse_block(bool with_barrier, const float* x, float* y) {
  __shared__ float tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  if (with_barrier) __syncthreads();
  y[threadIdx.x] = tile[127 - threadIdx.x];
}

bool reverses(bool with_barrier) {
  float x[128], y[128];
  for (int i = 0; i < 128; i++) x[i] = number(i);
  const float* px = x;
  float* py = y;
  VF_LAUNCH((reverse_block), dim3(1), dim3(128), 0, nullptr, with_barrier, px, py);
  for (int i = 0; i < 128; i++)
    if (!(y[i] == x[127 - i])) return false;
  return true;
}

void test_deleted_barrier() {
  for (const unsigned order : {0u, 1u, 12345u}) {
    vf_shim::order = order;
    check(reverses(true), "a right kernel is right in every order");
    check(!reverses(false), "a deleted __syncthreads shows in order " + std::to_string(order));
  }
  vf_shim::order = 0;
}

__global__ void divergent_barrier() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void lonely_barrier(int* spin) {
  if (threadIdx.x < 32) __syncthreads();
  while (threadIdx.x >= 32 && *spin == 0) __syncwarp();
}
__global__ void half_warp() {
  if (threadIdx.x < 16) return;
  __shfl_xor_sync(all_lanes, 1, 1);
}
__global__ void forgotten_copy(const bf16_t* from) {
  alignas(16) __shared__ bf16_t tile[8];
  cp_async(tile, from, true);
  cp_async_commit();
}
__global__ void misaligned(const float* x) { load_float4(x + 1); }

template <class Launch>
void dies(const char* what, const Launch& launch) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    alarm(20);
    launch();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, std::string(what) + " ends the program");
}

void test_deaths() {
  alignas(16) static float x[8];
  static int spin = 1;
  const bf16_t* from = reinterpret_cast<const bf16_t*>(x);
  const float* px = x;
  int* ps = &spin;
  dies("a divergent barrier", [&] { VF_LAUNCH((divergent_barrier), dim3(1), dim3(64), 0, nullptr); });
  dies("a shuffle of half a warp", [&] { VF_LAUNCH((half_warp), dim3(1), dim3(32), 0, nullptr); });
  dies("a copy that nobody waits for", [&] { VF_LAUNCH((forgotten_copy), dim3(1), dim3(32), 0, nullptr, from); });
  dies("a misaligned load", [&] { VF_LAUNCH((misaligned), dim3(1), dim3(32), 0, nullptr, px); });
  dies("too much shared memory", [&] { VF_LAUNCH((lonely_barrier), dim3(1), dim3(32), 300000, nullptr, ps); });
}

#endif

__global__ void sums(float* out) {
  __shared__ float parts[32];
  const float total = block_reduce(static_cast<float>(threadIdx.x), SumOf(), 0.0f, parts);
  const float largest = block_reduce(static_cast<float>(threadIdx.x), LargerOf(), -INFINITY, parts);
  out[2 * threadIdx.x] = total;
  out[2 * threadIdx.x + 1] = largest;
}

void test_reduce() {
  for (const int threads : {32, 96, 256}) {
    std::vector<float> out(512);
    float* p = out.data();
    VF_LAUNCH((sums), dim3(1), dim3(static_cast<unsigned>(threads)), 0, nullptr, p);
    for (int i = 0; i < threads; i++)
      check(out[2 * i] == threads * (threads - 1) / 2 && out[2 * i + 1] == threads - 1,
            "block_reduce gives every thread the result");
  }
}

}  // namespace

int main() {
  test_mma();
  test_ldmatrix();
  test_cp_async();
  test_rounding();
  test_reduce();
#if !defined(VF_SHIM_THREADS)
  test_deleted_barrier();
  test_deaths();
#endif
  std::printf("cuda shim: ok\n");
  return 0;
}
