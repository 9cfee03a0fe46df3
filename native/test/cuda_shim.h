// Runs the CUDA sources on the CPU, for tests: the language's keywords and the runtime calls that native/cuda uses, a
// fiber for every CUDA thread of a block (blocks run one after another), and warp collectives. A missing or divergent
// barrier, a lane outside its warp's collective and a deadlock end the program with the place. With VF_SHIM_THREADS
// every CUDA thread is a thread of its own, so that the thread sanitizer sees races in shared memory.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>
#if defined(VF_SHIM_THREADS)
#include <condition_variable>
#include <thread>
#elif !defined(__x86_64__)
#include <ucontext.h>
#endif

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// Shared variables stand in a section of their own, so that every block finds them poisoned. g++ ignores the section
// inside a template: kernels that are templates take their shared memory at the launch (VF_DYNAMIC_SHARED).
#define __shared__ static __attribute__((section("vf_shared")))
extern "C" __attribute__((weak, visibility("hidden"))) unsigned char __start_vf_shared[], __stop_vf_shared[];

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }

namespace vf_shim {

// 0: threads and blocks run in order, 1: in reverse, else: shuffled with this seed. VF_SHIM_ORDER sets it from outside.
inline unsigned order =
    std::getenv("VF_SHIM_ORDER") ? static_cast<unsigned>(std::atoi(std::getenv("VF_SHIM_ORDER"))) : 0;
// Kernels are not run, memory is not touched: what a call of any size allocates shows at once.
inline bool dry = false;
constexpr unsigned full_mask = 0xffffffffu;
constexpr size_t most_shared = 227 * 1024;

// With threads every barrier has a lock of its own: one lock for a block would order threads that no barrier orders.
struct Barrier {
  int arrived = 0;
  unsigned generation = 0;
  const char* where = nullptr;
#if defined(VF_SHIM_THREADS)
  std::mutex mutex;
  std::condition_variable changed;
#endif
};

struct Warp {
  Barrier barrier;
  int lanes = 0, alive = 0;
  alignas(16) unsigned char in[32][64], out[32][64];
};

// A copy that cp.async started: done when its group is waited for, so that reading too early shows.
struct AsyncCopy {
  void* to;
  const void* from;
  unsigned bytes;
};

struct Fiber {
  uint3 index{};
  int lane = 0, warp = 0;
  bool done = false;
  const Barrier* waits_at = nullptr;
  unsigned waits_for = 0;
  std::vector<AsyncCopy> open_group;
  std::vector<std::vector<AsyncCopy>> groups;
#if !defined(VF_SHIM_THREADS) && defined(__x86_64__)
  void* stack_pointer = nullptr;
#elif !defined(VF_SHIM_THREADS)
  ucontext_t context;
#endif
};

struct Block {
  dim3 grid, size;
  uint3 index{};
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  Barrier barrier;
  int alive = 0;
  std::vector<unsigned char> shared;
  std::function<void()> body;
#if !defined(VF_SHIM_THREADS) && defined(__x86_64__)
  void* main_stack = nullptr;
#elif !defined(VF_SHIM_THREADS)
  ucontext_t main;
#endif
};

#if defined(VF_SHIM_THREADS)
inline Block* block;
#else
inline thread_local Block* block;
#endif
inline thread_local Fiber* current;

[[noreturn]] inline void die(const char* what, const char* where) {
  std::fprintf(stderr, "cuda shim: %s at %s, block (%u,%u,%u) thread (%u,%u,%u)\n", what, where, block->index.x,
               block->index.y, block->index.z, current->index.x, current->index.y, current->index.z);
  std::abort();
}

inline void arrive(Barrier& b, const char* where) {
  if (b.arrived > 0 && b.where != where) die("threads reached different barriers", where);
  b.where = where;
  b.arrived++;
}
inline void open(Barrier& b) {
  b.arrived = 0;
  b.generation++;
#if defined(VF_SHIM_THREADS)
  b.changed.notify_all();
#endif
}

#if defined(VF_SHIM_THREADS)
template <class Done>
void wait(Barrier& b, const int& alive, const char* where, const Done& done) {
  std::unique_lock<std::mutex> lock(b.mutex);
  arrive(b, where);
  if (b.arrived >= alive) {
    done();
    open(b);
    return;
  }
  const unsigned generation = b.generation;
  b.changed.wait(lock, [&] { return b.generation != generation; });
}
#else
#if defined(__x86_64__)
// Saves the callee-saved registers on the running stack and goes on on another one: no system call.
extern "C" __attribute__((visibility("hidden"))) void vf_shim_switch(void** save, void* to);
asm(".text\n.weak vf_shim_switch\n.hidden vf_shim_switch\nvf_shim_switch:\n push %rbp\n push %rbx\n push %r12\n push "
    "%r13\n"
    " push %r14\n push %r15\n mov %rsp,(%rdi)\n mov %rsi,%rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n"
    " pop %rbp\n ret\n");
inline void leave() { vf_shim_switch(&current->stack_pointer, block->main_stack); }
#else
inline void leave() {
  Fiber* me = current;
  swapcontext(&me->context, &block->main);
}
#endif
template <class Done>
void wait(Barrier& b, const int& alive, const char* where, const Done& done) {
  arrive(b, where);
  if (b.arrived >= alive) {
    done();
    open(b);
    return;
  }
  current->waits_at = &b;
  current->waits_for = b.generation;
  leave();
  current->waits_at = nullptr;
}
#endif

inline void sync_block(const char* where) {
  wait(block->barrier, block->alive, where, [] {});
}

// Every lane gives In and gets Out; `all` makes out[32] of in[32] once all have come.
template <class In, class Out, class All>
Out collective(const In& value, const char* where, const All& all) {
  static_assert(sizeof(In) <= 64 && sizeof(Out) <= 64, "a lane's part is at most 64 bytes");
  Warp& w = block->warps[current->warp];
  if (w.lanes != 32) die("a warp collective without all 32 lanes", where);
  std::memcpy(w.in[current->lane], &value, sizeof value);
  wait(w.barrier, w.alive, where, [&] {
    if (w.alive != 32) die("a warp collective without all 32 lanes", where);
    In in[32];
    Out out[32];
    for (int i = 0; i < 32; i++) std::memcpy(static_cast<void*>(&in[i]), w.in[i], sizeof(In));
    all(in, out);
    for (int i = 0; i < 32; i++) std::memcpy(w.out[i], &out[i], sizeof(Out));
  });
  Out mine;
  std::memcpy(static_cast<void*>(&mine), w.out[current->lane], sizeof mine);
  return mine;
}

template <class T>
T shuffle(unsigned mask, T value, int source, const char* where) {
  if (mask != full_mask) die("a shuffle with other than all lanes", where);
  struct Ask {
    T value;
    int source;
  };
  return collective<Ask, T>({value, source}, where, [](const Ask* in, T* out) {
    for (int i = 0; i < 32; i++) out[i] = in[in[i].source & 31].value;
  });
}
inline unsigned ballot(unsigned mask, int predicate, const char* where) {
  if (mask != full_mask) die("a ballot with other than all lanes", where);
  return collective<int, unsigned>(predicate, where, [](const int* in, unsigned* out) {
    unsigned bits = 0;
    for (int i = 0; i < 32; i++) bits |= in[i] ? 1u << i : 0;
    for (int i = 0; i < 32; i++) out[i] = bits;
  });
}

inline void left_kernel() {
  for (const auto& group : current->groups)
    if (!group.empty()) die("a cp.async that nobody waited for", "the kernel's end");
  if (!current->open_group.empty()) die("a cp.async outside any group", "the kernel's end");
  current->done = true;
  Warp& w = block->warps[current->warp];
  {
#if defined(VF_SHIM_THREADS)
    const std::lock_guard<std::mutex> lock(w.barrier.mutex);
#endif
    w.alive--;
    if (w.barrier.arrived > 0) die("a lane left the kernel while its warp waits", w.barrier.where);
  }
#if defined(VF_SHIM_THREADS)
  const std::lock_guard<std::mutex> lock(block->barrier.mutex);
#endif
  block->alive--;
  if (block->barrier.arrived > 0 && block->barrier.arrived >= block->alive) open(block->barrier);
}

inline std::vector<int> make_order(int count) {
  std::vector<int> list(static_cast<size_t>(count));
  for (int i = 0; i < count; i++) list[i] = order == 1 ? count - 1 - i : i;
  unsigned state = order;
  if (order > 1)
    for (int i = count - 1; i > 0; i--) {
      state = state * 1664525u + 1013904223u;
      std::swap(list[i], list[(state >> 8) % static_cast<unsigned>(i + 1)]);
    }
  return list;
}

#if defined(VF_SHIM_THREADS)
// Threads that run one block after another: under the sanitizer it costs more to start one than to run a small block.
// Start and end have a lock each, so that a thread that ended is not ordered before one that begins.
class Crew {
 public:
  ~Crew() {
    {
      const std::lock_guard<std::mutex> lock(start_);
      leaving_ = true;
    }
    started_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  void run(Block& b) {
    running_ = b.fibers.size();
    {
      const std::lock_guard<std::mutex> lock(start_);
      block_ = &b;
      count_ = b.fibers.size();
      round_++;
    }
    while (threads_.size() < b.fibers.size()) threads_.emplace_back([this, i = threads_.size()] { work(i); });
    started_.notify_all();
    std::unique_lock<std::mutex> lock(end_);
    ended_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  void work(size_t index) {
    unsigned seen = 0;
    while (true) {
      Block* b = nullptr;
      {
        std::unique_lock<std::mutex> lock(start_);
        started_.wait(lock, [&] { return leaving_ || round_ != seen; });
        if (leaving_) return;
        seen = round_;
        b = index < count_ ? block_ : nullptr;
      }
      if (!b) continue;
      current = &b->fibers[index];
      b->body();
      left_kernel();
      const std::lock_guard<std::mutex> lock(end_);
      if (--running_ == 0) ended_.notify_all();
    }
  }
  std::mutex start_, end_;
  std::condition_variable started_, ended_;
  std::vector<std::thread> threads_;
  Block* block_ = nullptr;
  unsigned round_ = 0;
  size_t count_ = 0, running_ = 0;
  bool leaving_ = false;
};

inline void run_fibers(Block& b) {
  static Crew crew;
  crew.run(b);
}
#else
inline void enter_fiber() {
  block->body();
  left_kernel();
  leave();
}

constexpr size_t stack_bytes = 256 * 1024;
inline thread_local std::vector<std::unique_ptr<char[]>> stacks;

inline void prepare(Fiber& f, char* stack) {
#if defined(__x86_64__)
  void** top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(stack + stack_bytes) & ~uintptr_t{15});
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&enter_fiber);
  for (int i = 0; i < 6; i++) *--top = nullptr;
  f.stack_pointer = top;
#else
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = stack;
  f.context.uc_stack.ss_size = stack_bytes;
  f.context.uc_link = nullptr;
  makecontext(&f.context, enter_fiber, 0);
#endif
}

inline void run_fibers(Block& b) {
  while (stacks.size() < b.fibers.size()) stacks.emplace_back(new char[stack_bytes]);
  for (size_t i = 0; i < b.fibers.size(); i++) prepare(b.fibers[i], stacks[i].get());
  const std::vector<int> turns = make_order(static_cast<int>(b.fibers.size()));
  while (b.alive > 0) {
    bool moved = false;
    for (const int i : turns) {
      Fiber& f = b.fibers[i];
      if (f.done || (f.waits_at != nullptr && f.waits_at->generation == f.waits_for)) continue;
      moved = true;
      current = &f;
#if defined(__x86_64__)
      vf_shim_switch(&b.main_stack, f.stack_pointer);
#else
      swapcontext(&b.main, &f.context);
#endif
    }
    if (moved) continue;
    for (Fiber& f : b.fibers) {
      if (f.done) continue;
      current = &f;
      die("deadlock: some threads wait at a barrier that the others never reach", f.waits_at ? f.waits_at->where : "?");
    }
  }
}
#endif

inline void run_block(Block& b) {
  const unsigned count = b.size.x * b.size.y * b.size.z;
  b.alive = static_cast<int>(count);
  b.fibers = std::vector<Fiber>(count);
  b.warps = std::vector<Warp>((count + 31) / 32);
  b.barrier.arrived = 0;
  b.barrier.generation = 0;
  // NaN where nobody wrote
  std::fill(b.shared.begin(), b.shared.end(), 0xff);
  std::fill(__start_vf_shared, __stop_vf_shared, 0xff);
  for (unsigned i = 0; i < count; i++) {
    Fiber& f = b.fibers[i];
    f.index = {i % b.size.x, i / b.size.x % b.size.y, i / (b.size.x * b.size.y)};
    f.lane = static_cast<int>(i % 32);
    f.warp = static_cast<int>(i / 32);
    b.warps[f.warp].lanes = ++b.warps[f.warp].alive;
  }
  Block* outer = block;
  block = &b;
  run_fibers(b);
  block = outer;
}

// What a stream capture keeps instead of doing it, with the arguments as they were.
using Graph = std::vector<std::function<void()>>;
inline Graph* captured = nullptr;

// Ends the program where a captured stream is used for what a graph can't hold.
inline void refuse_in_capture(const char* what) {
  if (!captured) return;
  std::fprintf(stderr, "cuda shim: %s while a stream is captured\n", what);
  std::abort();
}
inline void do_or_capture(std::function<void()> work) {
  if (captured) {
    captured->push_back(std::move(work));
  } else {
    work();
  }
}

inline std::mutex launching;

inline void run_grid(dim3 grid, dim3 size, size_t shared_bytes, const std::function<void()>& body) {
  const std::lock_guard<std::mutex> one_at_a_time(launching);
  Block b;
  b.grid = grid;
  b.size = size;
  b.shared.resize(shared_bytes + 128);
  b.body = body;
  for (const int i : make_order(static_cast<int>(grid.x * grid.y * grid.z))) {
    const unsigned at = static_cast<unsigned>(i);
    b.index = {at % grid.x, at / grid.x % grid.y, at / (grid.x * grid.y)};
    run_block(b);
  }
}

inline void launch(dim3 grid, dim3 size, size_t shared_bytes, void* /*stream*/, std::function<void()> body) {
  if (size.x * size.y * size.z > 1024 || shared_bytes > most_shared || grid.y > 65535 || grid.z > 65535 ||
      grid.x == 0 || grid.y == 0 || grid.z == 0) {
    std::fprintf(
        stderr,
        "cuda shim: a launch outside the device's limits: grid (%u,%u,%u), block (%u,%u,%u), %zu bytes shared\n",
        grid.x, grid.y, grid.z, size.x, size.y, size.z, shared_bytes);
    std::abort();
  }
  if (!dry) do_or_capture([=] { run_grid(grid, size, shared_bytes, body); });
}

inline void* dynamic_shared() {
  return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(block->shared.data()) + 127) & ~uintptr_t{127});
}

}  // namespace vf_shim

#define VF_SHIM_TEXT2(x) #x
#define VF_SHIM_TEXT(x) VF_SHIM_TEXT2(x)
#define VF_SHIM_HERE __FILE__ ":" VF_SHIM_TEXT(__LINE__)
#define threadIdx (vf_shim::current->index)
#define blockIdx (vf_shim::block->index)
#define blockDim (vf_shim::block->size)
#define gridDim (vf_shim::block->grid)
#define __syncthreads() vf_shim::sync_block(VF_SHIM_HERE)
#define __syncwarp() static_cast<void>(vf_shim::ballot(vf_shim::full_mask, 0, VF_SHIM_HERE))
#define __shfl_sync(mask, value, lane) vf_shim::shuffle(mask, value, lane, VF_SHIM_HERE)
#define __shfl_xor_sync(mask, value, bits) vf_shim::shuffle(mask, value, vf_shim::current->lane ^ (bits), VF_SHIM_HERE)
#define __ballot_sync(mask, predicate) vf_shim::ballot(mask, predicate, VF_SHIM_HERE)
#define __popc(x) __builtin_popcount(x)
#define __ffs(x) __builtin_ffs(static_cast<int>(x))

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline uint32_t __float_as_uint(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}
inline float __uint_as_float(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
template <class T>
T atomicAdd(T* to, T value) {
  static_assert(std::is_integral<T>::value, "only whole numbers may be added in any order");
  return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

#include "cuda_shim_runtime.h"
