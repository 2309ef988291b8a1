// A job is owned by its thread and by the caller that waits; after a fatal error it is leaked.
#include "backends/cpu/llvm/jit/compile_thread.h"
#include "core/types/no_destructor.h"

#include <llvm/Support/ErrorHandling.h>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace kiln::cpu {
namespace {

constexpr std::size_t kStackBytes = 16u << 20;

struct Job {
  explicit Job(const std::function<void()>& given) : work(given) {}

  void finish() {
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done; });
  }

  const std::function<void()>& work;  // lives as long as the caller waits
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false, fatal = false, no_memory = false;
  std::string text;           // of the fatal error
  std::exception_ptr thrown;  // what work threw
};

/// Initial-exec: thread-local data is allocated with each thread. Otherwise a new thread allocates
/// it on first use, and glibc aborts the process where there is no memory for it.
[[gnu::tls_model("initial-exec")]] thread_local std::shared_ptr<Job>* t_job = nullptr;

/// Parks the thread: LLVM expects its handlers neither to return nor to throw.
[[noreturn]] void sleep_after_fatal(const char* reason, bool no_memory) {
  Job& job = **std::exchange(t_job, nullptr);
  job.fatal = true;
  job.no_memory = no_memory;
  try {
    if (reason != nullptr) job.text = reason;
  } catch (const std::exception&) {  // no memory for the text
  }
  job.finish();
  while (true) ::pause();
}

void on_fatal_error(void*, const char* reason, bool) {
  if (t_job != nullptr) sleep_after_fatal(reason, false);
}

/// Throws std::bad_alloc on threads that are not compile threads, such as a thread that unloads
/// code: there LLVM propagates the std::bad_alloc of operator new, too.
void on_bad_alloc(void*, const char* reason, bool) {
  if (t_job == nullptr) throw std::bad_alloc();
  sleep_after_fatal(reason, true);
}

// ---- Exhausted memory ----

std::atomic<std::new_handler> handler_before{nullptr};

void on_no_memory() {
  if (t_job != nullptr) sleep_after_fatal("no memory", true);
  const std::new_handler before = handler_before;
  if (before == nullptr) throw std::bad_alloc();
  before();
}

/// Installs on_no_memory while at least one object lives.
class ScopedNewHandler {
 public:
  ScopedNewHandler() {
    const std::lock_guard lock(mutex());
    if (users()++ != 0) return;
    const std::new_handler before = std::get_new_handler();
    if (before != on_no_memory) handler_before = before;
    std::set_new_handler(on_no_memory);
  }
  ~ScopedNewHandler() {
    const std::lock_guard lock(mutex());
    // A handler that the program has set meanwhile stays.
    if (--users() == 0 && std::get_new_handler() == on_no_memory) {
      std::set_new_handler(handler_before);
    }
  }
  ScopedNewHandler(const ScopedNewHandler&) = delete;
  ScopedNewHandler& operator=(const ScopedNewHandler&) = delete;

 private:
  static std::mutex& mutex() {
    static NoDestructor<std::mutex> instance;
    return *instance;
  }
  static int& users() {
    static int count = 0;
    return count;
  }
};

void install_handlers() {
  static const bool installed = [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_bad_alloc);
    return true;
  }();
  static_cast<void>(installed);
}

void* run_job(void* argument) {
  const std::unique_ptr<std::shared_ptr<Job>> job(static_cast<std::shared_ptr<Job>*>(argument));
  t_job = job.get();
  ::pthread_setname_np(::pthread_self(), "kiln-llvm");
  try {
    (*job)->work();
  } catch (...) {
    (*job)->thrown = std::current_exception();
  }
  (*job)->finish();
  return nullptr;
}

/// Starts the thread with the host's signals blocked, which its own threads handle. Returns 0 or
/// the error.
int start(std::unique_ptr<std::shared_ptr<Job>> job) {
  pthread_attr_t attributes;
  if (const int error = pthread_attr_init(&attributes)) return error;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all, before;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, run_job, job.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error == 0) static_cast<void>(job.release());  // the thread's now
  return error;
}

void rethrow_failure(const Job& job) {
  if (job.fatal) {
    const auto code = job.no_memory ? KILN_CODE_RESOURCE_EXHAUSTED : KILN_CODE_INTERNAL;
    const char* const reason = job.no_memory ? "no memory" : "a fatal error without a description";
    throw sdk::Failure(code, "compiling kernels: LLVM: " + (job.text.empty() ? reason : job.text));
  }
  if (job.thrown) std::rethrow_exception(job.thrown);
}

}  // namespace

NoCompileThread::NoCompileThread()
    : Failure(KILN_CODE_RESOURCE_EXHAUSTED, "compiling kernels: cannot start a thread") {}

void on_compile_thread(const std::function<void()>& work) { on_compile_threads(1, work); }

void on_compile_threads(std::size_t count, const std::function<void()>& work) {
  install_handlers();
  const ScopedNewHandler handler;
  std::vector<std::shared_ptr<Job>> jobs, started;
  for (std::size_t i = 0; i < count; ++i) jobs.push_back(std::make_shared<Job>(work));
  started.reserve(count);
  // Nothing may throw until all threads have ended: they use `work`.
  for (const std::shared_ptr<Job>& job : jobs) {
    auto* const shared = new (std::nothrow) std::shared_ptr<Job>(job);
    if (!shared || start(std::unique_ptr<std::shared_ptr<Job>>(shared)) != 0) break;
    started.push_back(job);
  }
  if (started.empty()) throw NoCompileThread();
  for (const std::shared_ptr<Job>& job : started) job->wait();
  for (const std::shared_ptr<Job>& job : started) rethrow_failure(*job);
}

}  // namespace kiln::cpu
