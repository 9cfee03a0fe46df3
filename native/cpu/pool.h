// A parked thread pool. Threads wait for work by a short bounded spin and then sleep, so an idle pool costs nothing.
#pragma once
#include <cstdint>

namespace vf {

class Pool {
 public:
  // threads >= 1 counts the caller; throws VF_THREADS when the system grants no thread.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  int threads() const { return threads_; }

  // Calls body(task, thread) for every task in [0, tasks), each once, thread in [0, threads()); returns when all are
  // done. Which thread takes which task is not defined: a result must depend on the task alone. Not to be nested;
  // the body must not throw.
  template <class Body>
  void parallel_for(int64_t tasks, const Body& body) {
    run(
        tasks, [](const void* b, int64_t task, int thread) { (*static_cast<const Body*>(b))(task, thread); }, &body);
  }

 private:
  struct State;
  using Call = void (*)(const void* body, int64_t task, int thread);
  void run(int64_t tasks, Call call, const void* body);
  int threads_;
  State* state_;
};

}  // namespace vf
