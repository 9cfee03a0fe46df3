// A policy's verbs and its thread (policy.h).
#include "policy.h"

#include <chrono>
#include <new>

#include "../core/error.h"

namespace vf {

Napi::Function Policy::define(Napi::Env env) {
  return DefineClass(env, "Policy",
                     {InstanceMethod<&Policy::sample>("sample"), InstanceMethod<&Policy::score>("score"),
                      InstanceMethod<&Policy::step>("step"), InstanceMethod<&Policy::save>("save"),
                      InstanceMethod<&Policy::tensor>("tensor"), InstanceMethod<&Policy::progress>("progress"),
                      InstanceMethod<&Policy::cancel>("cancel"), InstanceMethod<&Policy::close>("close"),
                      InstanceAccessor<&Policy::info>("info")});
}

Policy::Policy(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Policy>(info) {}

Policy::~Policy() { stop_thread(); }

void Policy::stop_thread() {
  control_.cancelled = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Napi::Value Policy::open(Napi::Env env, LoadConfig config, MakeBackend make_backend) {
  config_ = std::move(config);
  report_ = Report::New(env, "vf policy", 0, 1, this);
  report_.Unref(env);
  thread_ = std::thread([this] { work(); });
  auto job = std::make_unique<Job>(env);
  job->run = [this, make_backend] {
    ops_ = make_backend(config_);
    weights_ = std::make_unique<Weights>(*ops_, config_.spec, config_.trainable);
    weights_->read(config_.tensors);
    network_ = std::make_unique<Network>(*weights_);
    config_.tensors.clear();
  };
  job->result = [this](Napi::Env) -> Napi::Value { return Value(); };
  return enqueue(env, std::move(job));
}

void Policy::require_open() const {
  require(!closed_, "VF_INVALID_STATE", "Expected an open policy but it was closed");
}

Napi::Value Policy::enqueue(Napi::Env env, std::unique_ptr<Job> job) {
  const Napi::Promise promise = job->deferred.Promise();
  if (pending_++ == 0) {
    report_.Ref(env);
    Ref();
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
  return promise;
}

void Policy::work() {
  for (;;) {
    std::unique_ptr<Job> job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    try {
      job->run();
    } catch (const Error& e) {
      job->error_code = e.code();
      job->error_message = e.what();
    } catch (const std::bad_alloc&) {
      job->error_code = "VF_OUT_OF_MEMORY";
      job->error_message = "Expected enough memory for the work but the system refused it";
    } catch (const std::exception& e) {
      job->error_code = "VF_ENGINE";
      job->error_message = e.what();
    }
    control_.cancelled = false;
    Job* raw = job.release();
    if (report_.BlockingCall(raw) != napi_ok) delete raw;  // the environment is going away
  }
}

void Policy::settle(Napi::Env env, Napi::Function, Policy* policy, Job* job) {
  const std::unique_ptr<Job> owned(job);
  if (env == nullptr) return;
  const Napi::HandleScope scope(env);
  if (--policy->pending_ == 0) {
    policy->report_.Unref(env);
    policy->Unref();
  }
  if (job->error_code.empty()) {
    job->deferred.Resolve(job->result(env));
    return;
  }
  Napi::Error error = Napi::Error::New(env, job->error_message);
  error.Set("code", Napi::String::New(env, job->error_code));
  job->deferred.Reject(error.Value());
}

Napi::Value Policy::sample(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    require_open();
    auto memory = std::make_shared<SampleJob>();
    sample_job(info[0].As<Napi::Object>(), *memory);
    auto out = std::make_shared<SampleOutput>();
    auto job = std::make_unique<Job>(info.Env());
    job->run = [this, memory, out] {
      memory->request.usable_vocab = config_.usable_vocab;
      memory->request.token_bytes = &config_.token_bytes;
      *out = generate(*network_, memory->request, control_);
    };
    job->result = [out](Napi::Env env) -> Napi::Value { return to_js(env, *out); };
    return enqueue(info.Env(), std::move(job));
  });
}

Napi::Value Policy::score(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    require_open();
    auto memory = std::make_shared<ScoreJob>();
    score_job(info[0].As<Napi::Object>(), *memory);
    auto out = std::make_shared<ScoreOutput>();
    auto job = std::make_unique<Job>(info.Env());
    job->run = [this, memory, out] {
      memory->request.usable_vocab = config_.usable_vocab;
      *out = vf::score(*network_, memory->request, control_);
    };
    job->result = [out](Napi::Env env) -> Napi::Value { return to_js(env, *out); };
    return enqueue(info.Env(), std::move(job));
  });
}

Napi::Value Policy::step(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    require_open();
    auto memory = std::make_shared<StepJob>();
    step_job(info[0].As<Napi::Object>(), *memory);
    auto out = std::make_shared<StepOutput>();
    auto seconds = std::make_shared<double>(0);
    auto job = std::make_unique<Job>(info.Env());
    job->run = [this, memory, out, seconds] {
      const auto start = std::chrono::steady_clock::now();
      memory->request.usable_vocab = config_.usable_vocab;
      *out = train_step(*network_, memory->request, control_);
      *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    job->result = [out, seconds](Napi::Env env) -> Napi::Value { return to_js(env, *out, *seconds); };
    return enqueue(info.Env(), std::move(job));
  });
}

Napi::Value Policy::save(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    require_open();
    auto memory = std::make_shared<SaveJob>(save_job(info[0].As<Napi::Object>()));
    auto job = std::make_unique<Job>(info.Env());
    job->run = [this, memory] { weights_->write(memory->file, memory->header, memory->tensors); };
    job->result = [](Napi::Env env) -> Napi::Value { return env.Undefined(); };
    return enqueue(info.Env(), std::move(job));
  });
}

Napi::Value Policy::tensor(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    require_open();
    const Arena arena = arena_named(info[0].As<Napi::String>().Utf8Value());
    const std::string name = info[1].As<Napi::String>().Utf8Value();
    auto out = std::make_shared<std::vector<float>>();
    auto job = std::make_unique<Job>(info.Env());
    job->run = [this, arena, name, out] { *out = weights_->tensor(arena, name); };
    job->result = [out](Napi::Env env) -> Napi::Value { return to_js(env, *out); };
    return enqueue(info.Env(), std::move(job));
  });
}

Napi::Value Policy::progress(const Napi::CallbackInfo& info) {
  Napi::Object o = Napi::Object::New(info.Env());
  o.Set("tokens", static_cast<double>(control_.tokens.load()));
  o.Set("tracesDone", static_cast<double>(control_.traces_done.load()));
  o.Set("tracesTotal", static_cast<double>(control_.traces_total.load()));
  return o;
}

Napi::Value Policy::info(const Napi::CallbackInfo& info) {
  Napi::Object o = Napi::Object::New(info.Env());
  o.Set("device", ops_ ? ops_->name() : "none");
  o.Set("isa", config_.isa);
  o.Set("threads", config_.threads);
  o.Set("products", ops_ ? ops_->products() : "none");
  o.Set("parameters", weights_ ? static_cast<double>(weights_->parameters()) : 0);
  o.Set("weightBytes", weights_ ? static_cast<double>(weights_->arena_count() * 4) : 0);
  return o;
}

void Policy::cancel(const Napi::CallbackInfo&) { control_.cancelled = true; }

Napi::Value Policy::close(const Napi::CallbackInfo& info) {
  if (closed_) {
    const auto done = Napi::Promise::Deferred::New(info.Env());
    done.Resolve(info.Env().Undefined());
    return done.Promise();
  }
  closed_ = true;
  auto job = std::make_unique<Job>(info.Env());
  job->run = [this] {
    network_.reset();
    weights_.reset();
    ops_.reset();
  };
  job->result = [](Napi::Env env) -> Napi::Value { return env.Undefined(); };
  return enqueue(info.Env(), std::move(job));
}

}  // namespace vf
