// The thread pool. A job is published in one word, epoch << 32 | next task; a thread takes a task by moving that word
// on, which fails when the job it read about is over. So the caller waits for tasks, never for threads: one that the
// system wakes late finds nothing to do and holds nobody up.
#include "pool.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "../core/error.h"

namespace vf {

namespace {

constexpr auto spin_time = std::chrono::microseconds(50);

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

// Spins until ready() or until spin_time is over; returns ready().
template <class Ready>
bool spin_until(const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  for (;;) {
    for (int i = 0; i < 32; i++) {
      if (ready()) return true;
      pause_cpu();
    }
    if (std::chrono::steady_clock::now() >= end) return ready();
  }
}

}  // namespace

struct Pool::State {
  std::atomic<uint64_t> word{0};
  std::atomic<int64_t> tasks{0};
  std::atomic<Call> call{nullptr};
  std::atomic<const void*> body{nullptr};
  std::atomic<int64_t> done{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> caller_sleeps{false};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable work, finished;
  std::vector<std::thread> threads;

  uint32_t epoch() const { return static_cast<uint32_t>(word.load() >> 32); }

  // Takes tasks of the current job until none is left.
  void take_tasks(int thread) {
    for (;;) {
      uint64_t w = word.load();
      // Read before the word is moved on: if that succeeds the job is unfinished, so these are its own fields.
      const int64_t n = tasks.load();
      const Call f = call.load();
      const void* b = body.load();
      const int64_t task = static_cast<int64_t>(w & 0xffffffffu);
      if (task >= n) return;
      if (!word.compare_exchange_weak(w, w + 1)) continue;
      f(b, task, thread);
      if (done.fetch_add(1) + 1 == n && caller_sleeps.load()) {
        std::lock_guard<std::mutex> lock(mutex);
        finished.notify_one();
      }
    }
  }

  void work_loop(int thread) {
    uint32_t seen = 0;
    for (;;) {
      const auto ready = [&] { return stop.load() || epoch() != seen; };
      if (!spin_until(ready)) {
        std::unique_lock<std::mutex> lock(mutex);
        sleepers.fetch_add(1);
        work.wait(lock, ready);
        sleepers.fetch_sub(1);
      }
      if (stop.load()) return;
      seen = epoch();
      take_tasks(thread);
    }
  }

  void end_threads() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stop.store(true);
    }
    work.notify_all();
    for (std::thread& t : threads) t.join();
  }
};

Pool::Pool(int threads) : threads_(threads < 1 ? 1 : threads), state_(new State) {
  try {
    for (int i = 1; i < threads_; i++) state_->threads.emplace_back([this, i] { state_->work_loop(i); });
  } catch (const std::system_error& e) {
    const size_t started = state_->threads.size() + 1;
    state_->end_threads();
    delete state_;
    throw Error("VF_THREADS", "Expected " + std::to_string(threads_) + " threads but the system granted " +
                                  std::to_string(started) + ": " + e.what());
  }
}

Pool::~Pool() {
  state_->end_threads();
  delete state_;
}

void Pool::run(int64_t tasks, Call call, const void* body) {
  if (threads_ == 1 || tasks <= 1) {
    for (int64_t i = 0; i < tasks; i++) call(body, i, 0);
    return;
  }
  State& s = *state_;
  const uint64_t epoch = s.epoch();
  s.word.store(epoch << 32 | 0xffffffffu);  // no task left: nobody can pair the old word with the new fields
  s.tasks.store(tasks);
  s.call.store(call);
  s.body.store(body);
  s.done.store(0);
  s.word.store((epoch + 1) << 32);
  if (s.sleepers.load() > 0) {
    { std::lock_guard<std::mutex> lock(s.mutex); }
    s.work.notify_all();
  }
  s.take_tasks(0);
  const auto finished = [&] { return s.done.load() == tasks; };
  if (spin_until(finished)) return;
  std::unique_lock<std::mutex> lock(s.mutex);
  s.caller_sleeps.store(true);
  s.finished.wait(lock, finished);
  s.caller_sleeps.store(false);
}

}  // namespace vf
