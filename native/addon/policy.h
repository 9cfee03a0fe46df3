// One loaded model: a JavaScript object whose verbs queue on a thread of its own, so that the event loop never waits.
#pragma once
#include <napi.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "convert.h"

namespace vf {

using MakeBackend = std::unique_ptr<Ops> (*)(const LoadConfig&);

class Policy : public Napi::ObjectWrap<Policy> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit Policy(const Napi::CallbackInfo& info);
  ~Policy() override;
  // Starts the thread and loads the model there; the promise gives this object.
  Napi::Value open(Napi::Env env, LoadConfig config, MakeBackend make_backend);

 private:
  struct Job {
    explicit Job(Napi::Env env) : deferred(Napi::Promise::Deferred::New(env)) {}
    Napi::Promise::Deferred deferred;
    std::function<void()> run;                     // on the policy's thread
    std::function<Napi::Value(Napi::Env)> result;  // on the JavaScript thread
    std::string error_code, error_message;
  };

  Napi::Value sample(const Napi::CallbackInfo& info);
  Napi::Value score(const Napi::CallbackInfo& info);
  Napi::Value step(const Napi::CallbackInfo& info);
  Napi::Value save(const Napi::CallbackInfo& info);
  Napi::Value tensor(const Napi::CallbackInfo& info);
  Napi::Value progress(const Napi::CallbackInfo& info);
  Napi::Value info(const Napi::CallbackInfo& info);
  void cancel(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);

  Napi::Value enqueue(Napi::Env env, std::unique_ptr<Job> job);
  void work();
  void stop_thread();
  void require_open() const;
  static void settle(Napi::Env env, Napi::Function, Policy* policy, Job* job);
  using Report = Napi::TypedThreadSafeFunction<Policy, Job, &Policy::settle>;

  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<Network> network_;
  LoadConfig config_;
  Control control_;
  Report report_;
  int pending_ = 0;      // jobs not settled yet; JavaScript thread only
  bool closed_ = false;  // JavaScript thread only

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Job>> queue_;
  bool stopping_ = false;
};

}  // namespace vf
