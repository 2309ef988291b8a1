// A job that throws ends all later ones: its transfers may still run in the communicator.
#include "runtime/distributed/communication_thread.h"

#include "core/types/exception_text.h"

#include <signal.h>

#include <exception>
#include <mutex>
#include <utility>

namespace kiln::runtime::distributed {
namespace {

/// A thread that handles no signals: they are the program's.
std::thread quiet_thread(std::function<void()> body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(body));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (const std::exception&) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace

CommunicationThread::CommunicationThread(const CommunicatorLibrary& library,
                                         const CommunicatorOptions& options,
                                         const WaitLimits& limits, Clock clock)
    : waits_{.limits = limits, .clock = std::move(clock)} {
  const std::uint64_t opening = add("init", [&, this] {
    world_ = std::make_unique<World>(library, options);
    place_ = channels_.emplace_back(*world_, world_->group(), waits_).place();
  });
  thread_ = quiet_thread([this] { run_jobs(); });
  try {
    wait(opening);
  } catch (const std::exception&) {
    stop();
    throw;
  }
}

CommunicationThread::~CommunicationThread() { stop(); }

template <class Condition>
void CommunicationThread::wait_until(std::unique_lock<ForkMutex>& lock,
                                     const Condition& condition) {
  while (!condition()) {
    const std::uint32_t seen = changes_.load();
    lock.unlock();
    changes_.wait(seen);
    lock.lock();
  }
}

void CommunicationThread::notify() {
  ++changes_;
  changes_.notify_all();
}

void CommunicationThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    notify();
  }
  if (thread_.joinable()) thread_.join();
}

std::uint64_t CommunicationThread::add(std::string title, std::function<void()> body) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back({std::move(title), std::move(body)});
  notify();
  return ++added_;
}

std::uint64_t CommunicationThread::add(std::string title, Job job) {
  return add(std::move(title),
             std::function<void()>([this, job = std::move(job)] { job(channels_.front()); }));
}

void CommunicationThread::wait(std::uint64_t job) {
  ++waits_.waiting_threads;
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return ended_ >= job; });
  --waits_.waiting_threads;
  if (job >= broken_by_) throw CommunicatorError(broken_);
}

Channel& CommunicationThread::split(Channel& parent, std::int64_t color, std::int64_t key) {
  return channels_.emplace_back(*world_, parent.split(color, key), waits_);
}

void CommunicationThread::close() {
  wait(add("leave", std::function<void()>([this] { world_->close(); })));
  stop();
}

void CommunicationThread::abort(std::uint32_t exit_code) {
  {
    const std::lock_guard lock(mutex_);
    abort_code_ = exit_code;
  }
  stop();
}

void CommunicationThread::run_jobs() {
  std::unique_lock lock(mutex_);
  while (true) {
    wait_until(lock, [&] { return is_stopped_ || !jobs_.empty(); });
    if (jobs_.empty()) break;
    const Entry& entry = jobs_.front();
    std::string failure;
    if (broken_by_ == kNone) {
      lock.unlock();
      failure = run_one(entry);
      lock.lock();
    }
    jobs_.pop_front();
    ++ended_;
    if (!failure.empty()) {
      broken_ = std::move(failure);
      broken_by_ = ended_;
    }
    notify();
  }
  if (abort_code_ != 0 && world_ != nullptr) world_->abort(abort_code_);
}

std::string CommunicationThread::run_one(const Entry& entry) {
  try {
    waits_.title = entry.title;
    entry.body();
    return {};
  } catch (const std::exception& error) {
    return exception_text(error);
  }
}

}  // namespace kiln::runtime::distributed
