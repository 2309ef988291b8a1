// Child processes try a scenario for one request after another and report in shared memory; where a
// child dies, the next child continues after that request.
#include "tests/support/child.h"
#include "tests/process/fault_injection/scenario.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <sys/mman.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <sstream>

namespace fault_injection {
namespace {

constexpr int kMaxFaults = 8;
constexpr unsigned kSeconds = 20;  // per try, which a lock that stays held would exceed

enum class Stage : int { Preparing, Trying, Checking, Retrying, Done };
constexpr const char* kStages[] = {"preparing", "trying", "checking", "retrying", "done"};

/// The report of a child to its parent.
struct Shared {
  InjectionLog log;
  std::int64_t nth;
  Stage stage;
  bool finished;  // the last try reached no request that was to fail
  std::uint64_t expected;
  std::int64_t requests;  // of a run without failures
  std::int64_t tried, threw, unnoticed, in_program, in_libraries;
  int fault_count;
  char faults[kMaxFaults][4096];
};

class SharedMemory {
 public:
  SharedMemory()
      : shared_(static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (shared_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedMemory() { ::munmap(shared_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared& operator*() const { return *shared_; }
  Shared* operator->() const { return shared_; }

 private:
  Shared* shared_;
};

std::uint64_t hash_of(const Values& values) {
  std::uint64_t hash = 1469598103934665603u;
  const auto add = [&](const void* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211u;
    }
  };
  for (const kiln::Array& array : values.arrays) {
    const int dtype = static_cast<int>(array.dtype());
    add(&dtype, sizeof(dtype));
    for (const std::int64_t dim : array.dims()) add(&dim, sizeof(dim));
    add(array.data(), array.bytes());
  }
  add(values.text.data(), values.text.size());
  return hash;
}

std::uint64_t hash_of(const std::vector<kiln::Tensor>& variables) {
  Values values;
  for (const kiln::Tensor& variable : variables) values.arrays.push_back(kiln::get_value(variable));
  return hash_of(values);
}

/// The functions on the stack, of libraries whose files still have their symbols.
std::string stack_of(const FailedRequest& request) {
  std::ostringstream text;
  text << "  failed: " << request.operation << " " << request.path << "\n";
  for (int i = 0; i < request.depth; ++i) {
    const std::string module = request.modules[i];
    std::string file;
    for (const char* folder : {KILN_BINARY_DIR "/lib/", KILN_BINARY_DIR "/bin/"}) {
      if (std::filesystem::exists(folder + module)) file = folder + module;
    }
    std::ostringstream line;
    line << module << "+0x" << std::hex << request.offsets[i];
    if (!file.empty()) {
      std::ostringstream command;
      command << "addr2line -Cfe " << file << " 0x" << std::hex << request.offsets[i] - 1
              << " | head -1";
      const std::string name = kiln::testing::run_shell(command.str()).text;
      line << " " << name.substr(0, name.find('\n'));
    }
    text << "    " << line.str().substr(0, 140) << "\n";
  }
  return text.str();
}

class Child {
 public:
  Child(const Scenario& scenario, const std::string& backend, const Plan& plan, Shared& shared)
      : scenario_(scenario), backend_(backend), plan_(plan), shared_(shared) {}

  /// Runs without failures, to measure the expected values and the number of requests.
  void measure() {
    ::alarm(kSeconds);
    const kiln::testing::Scratch scratch;
    const Prepared prepared = scenario_.prepare({backend_, scratch.folder()});
    arm(plan_.requests, -1, plan_.repeat, shared_.log);
    const Values values = prepared.run();
    disarm();
    shared_.requests = shared_.log.requests;
    shared_.expected = hash_of(values);
  }

  /// Fails one request; returns whether there was such a request.
  bool try_request(std::int64_t nth) {
    ::alarm(kSeconds);
    shared_.nth = nth;
    shared_.stage = Stage::Preparing;
    const kiln::testing::Scratch scratch;
    const Prepared prepared = scenario_.prepare({backend_, scratch.folder()});
    const std::uint64_t before = hash_of(prepared.variables);
    const std::optional<Values> values = attempt(prepared, nth);
    if (shared_.log.failed == 0) return false;
    shared_.stage = Stage::Checking;
    ++shared_.tried;
    ++(values ? shared_.unnoticed : shared_.threw);
    if (values && hash_of(*values) != shared_.expected) fault("gave other values");
    if (!values && hash_of(prepared.variables) != before) fault("threw and changed a variable");
    check_files(prepared, !values);
    if (values) return true;
    shared_.stage = Stage::Retrying;
    retry(prepared);
    return true;
  }

 private:
  std::optional<Values> attempt(const Prepared& prepared, std::int64_t nth) {
    shared_.stage = Stage::Trying;
    arm(plan_.requests, nth, plan_.repeat, shared_.log, plan_.fault);
    try {
      Values values = prepared.run();
      disarm();
      return values;
    } catch (const kiln::Error& error) {
      disarm();
      require_kind(error);
    } catch (const std::bad_alloc&) {
      disarm();
      if (own_request()) ++shared_.in_program;
      if (!own_request()) fault("threw std::bad_alloc");
    } catch (const std::exception& error) {
      disarm();
      fault(std::string("threw no kiln::Error but: ") + error.what());
    } catch (...) {
      disarm();
      fault("threw what is no std::exception");
    }
    return std::nullopt;
  }

  /// Whether this program itself made the request: an argument of the scenario.
  bool own_request() const {
    return plan_.requests == Requests::Memory && *owner_of(shared_.log.last) == '\0';
  }

  /// Requires OutOfMemory for lack of memory, and an error with a path for a file's fault. dlopen
  /// reports its faults as text.
  void require_kind(const kiln::Error& error) {
    const std::string what = error.what();
    if (plan_.requests == Requests::Memory) {
      if (dynamic_cast<const kiln::OutOfMemory*>(&error) != nullptr) return;
      const bool is_file = dynamic_cast<const kiln::BackendError*>(&error) != nullptr ||
                           dynamic_cast<const kiln::IoError*>(&error) != nullptr;
      if (is_file && what.find("cannot ") != std::string::npos) return;
      return fault("threw another error than OutOfMemory: " + what);
    }
    const bool kind = dynamic_cast<const kiln::IoError*>(&error) != nullptr ||
                      dynamic_cast<const kiln::ConfigError*>(&error) != nullptr ||
                      dynamic_cast<const kiln::BackendError*>(&error) != nullptr;
    if (!kind || what.find('/') == std::string::npos) fault("threw: " + what);
  }

  void check_files(const Prepared& prepared, bool failed) {
    if (!prepared.check_files) return;
    const std::string problem = prepared.check_files(failed);
    if (!problem.empty()) fault(problem);
  }

  void retry(const Prepared& prepared) {
    try {
      if (hash_of(prepared.run()) != shared_.expected) fault("gave other values when tried again");
      check_files(prepared, false);
    } catch (const kiln::OutOfMemory& error) {
      // Only LLVM's initialisation may fail for good, since LLVM may keep its locks.
      const bool in_setup = std::strstr(error.what(), "while LLVM was initialised") != nullptr;
      if (in_setup) ++shared_.in_libraries;
      if (!in_setup) fault(std::string("threw when tried again: ") + error.what());
    } catch (const std::exception& error) {
      fault(std::string("threw when tried again: ") + error.what());
    }
  }

  void fault(const std::string& what) {
    if (shared_.fault_count == kMaxFaults) return;
    std::snprintf(shared_.faults[shared_.fault_count++], sizeof(shared_.faults[0]),
                  "%s [%s], request %lld: %s\n%s", scenario_.name, backend_.c_str(),
                  static_cast<long long>(shared_.nth), what.c_str(),
                  stack_of(shared_.log.last).c_str());
  }

  const Scenario& scenario_;
  const std::string& backend_;
  const Plan& plan_;
  Shared& shared_;
};

/// As in tests/support/child.h, without exit handlers, since the process may be in any state.
template <class Action>
int in_child(const Action& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int end : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(end, SIG_DFL);
    action();
    ::_exit(0);
  }
  return kiln::testing::status_of(child);
}

/// Whether the process ended after a failed request of oneDNN, or of the dynamic loader (for a
/// library, or for a thread's variables of one).
bool is_of_a_library(const FailedRequest& request) {
  return is_of_the_loader(request) || std::strstr(owner_of(request), "libdnnl") != nullptr;
}

std::vector<std::int64_t> samples_of(std::int64_t requests, int samples) {
  std::vector<std::int64_t> chosen;
  for (int i = 0; i < samples; ++i) {
    const std::int64_t nth = requests * i / samples + i % 3;
    if (nth < requests && (chosen.empty() || chosen.back() < nth)) chosen.push_back(nth);
  }
  return chosen;
}

class Trials {
 public:
  Trials(const Scenario& scenario, const std::string& backend, const Plan& plan)
      : scenario_(scenario),
        backend_(backend),
        plan_(plan),
        child_(scenario, backend, plan, *shared_) {}

  Outcome run() {
    std::memset(&*shared_, 0, sizeof(Shared));
    const int status = in_child([&] { child_.measure(); });
    if (status != 0) {
      outcome_.faults.push_back(std::string(scenario_.name) + ": ends undisturbed with " +
                                std::to_string(status));
      return outcome_;
    }
    if (plan_.samples != 0) {
      for (const std::int64_t nth : samples_of(shared_->requests, plan_.samples)) one(nth, nth + 1);
    } else {
      for (std::int64_t nth = 0; !shared_->finished; nth = shared_->nth + 1) {
        one(nth, scenario_.cold ? nth + 1 : INT64_MAX);
        if (outcome_.faults.size() > kMaxFaults) break;
      }
    }
    outcome_.tried += shared_->tried;
    outcome_.threw = shared_->threw;
    outcome_.unnoticed = shared_->unnoticed;
    outcome_.in_program = shared_->in_program;
    outcome_.in_libraries += shared_->in_libraries;
    for (int i = 0; i < shared_->fault_count; ++i) outcome_.faults.push_back(shared_->faults[i]);
    return outcome_;
  }

 private:
  /// Tries the requests [begin, end), as far as a child gets.
  void one(std::int64_t begin, std::int64_t end) {
    shared_->nth = begin;
    const int status = in_child([&] {
      for (std::int64_t nth = begin; nth < end && !shared_->finished; ++nth) {
        if (!child_.try_request(nth)) shared_->finished = true;
      }
    });
    if (status == 0) return;
    ++outcome_.tried;
    const std::string stack = stack_of(shared_->log.last);
    if (is_of_a_library(shared_->log.first) || is_of_a_library(shared_->log.last)) {
      ++outcome_.in_libraries;
      return;
    }
    std::ostringstream text;
    text << scenario_.name << " [" << backend_ << "], request " << shared_->nth << ": ended with "
         << status << " while " << kStages[static_cast<int>(shared_->stage)] << "\n"
         << stack;
    outcome_.faults.push_back(text.str());
  }

  const Scenario& scenario_;
  const std::string& backend_;
  const Plan& plan_;
  SharedMemory shared_;
  Child child_;
  Outcome outcome_;
};

}  // namespace

Outcome outcome_of(const Scenario& scenario, const std::string& backend, const Plan& plan) {
  return Trials(scenario, backend, plan).run();
}

}  // namespace fault_injection
