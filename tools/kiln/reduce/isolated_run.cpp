// A child writes its report to memory that it shares with its parent, so that a report is there up
// to the moment of a crash.
#include "tools/kiln/reduce/isolated_run.h"

#include "core/ir/traverse.h"
#include "core/types/text.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/plugin/instance_table.h"
#include "runtime/weights/safetensors.h"
#include "tools/kiln/child_process.h"
#include "tools/kiln/compare.h"
#include "tools/kiln/temporary_folder.h"

#include <kiln/error.h>

#include <cxxabi.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <typeinfo>

namespace kiln::tool {
namespace {

[[noreturn]] void fail(const char* what) {
  throw IoError("kiln reduce", "", text(what, ": ", std::strerror(errno)));
}

template <std::size_t Size>
void copy_text(std::array<char, Size>& to, std::string_view from) {
  const std::size_t length = std::min(from.size(), Size - 1);
  std::copy_n(from.data(), length, to.data());
  to[length] = '\0';
}

struct Report {
  struct Side {
    bool has_ended = false;
    std::array<char, 128> failure = {};
    std::array<char, 2048> message = {};
  };
  std::array<Side, 2> sides;
  double difference = 0;
};

/// An object in memory that child processes share. REQUIRES: zero bytes are a T.
template <class T>
class Shared {
 public:
  Shared()
      : memory_(
            ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) fail("no memory can be shared");
    ::new (memory_) T();
  }
  ~Shared() { ::munmap(memory_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* operator->() const { return static_cast<T*>(memory_); }

 private:
  void* memory_;
};

std::string type_name(const std::exception& error) {
  int status = 0;
  char* const name = ::abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status);
  const std::string result = name == nullptr ? typeid(error).name() : name;
  std::free(name);
  return result;
}

/// Runs work() and reports its end.
template <class Work>
void run_reported(Report::Side& side, const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    copy_text(side.failure, type_name(error));
    copy_text(side.message, error.what());
  }
  side.has_ended = true;
}

/// Runs the program and reports its end. Returns its results, none for a failure.
std::vector<Array> run_side(const module::Module& module, const std::vector<Array>& arguments,
                            const RunSettings& settings, Report::Side& side) {
  std::vector<Array> results;
  run_reported(side, [&] { results = run_module(module, arguments, settings).outputs; });
  return results;
}

double largest_difference(const std::vector<Array>& a, const std::vector<Array>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::fmax(largest, difference(a[i], b[i]));
  }
  return largest;
}

Ending ending_of(const Report::Side& side, std::string process) {
  if (process.empty()) process = "exits with status 0 before it has results";
  if (!side.has_ended) return {process, process};
  return {side.failure.data(), side.message.data()};
}

}  // namespace

RunSettings IsolatedRuns::settings(std::size_t i) const {
  return {.backend = runs_[i].backend, .passes = runs_[i].passes, .random_call = random_call_};
}

std::string IsolatedRuns::run(const std::function<void()>& work) {
  ++count_;
  ::signal(SIGCHLD, SIG_DFL);
  const pid_t child = ::fork();
  if (child < 0) fail("a process cannot be started");
  if (child > 0) return wait_for(child, limit_);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a program that hangs ends with its parent
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  ::unsetenv("KILN_RECORD");  // candidates that fail are no calls of the user's
  try {
    work();
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

void IsolatedRuns::require_usable() {
  for (const ComparedRun& one : runs_) {
    const Shared<Report> report;
    const std::string process = run([&] {
      run_reported(report->sides[0], [&] {
        static_cast<void>(runtime::backend_instance(one.backend, "kiln reduce"));
      });
    });
    const Ending ending = ending_of(report->sides[0], process);
    if (!ending.failure.empty()) throw BackendError("", "", ending.message);
  }
  count_ = 0;
}

Observation IsolatedRuns::observe(const Program& program) {
  const module::Module module = program.to_module();
  const std::vector<Array> arguments = program.arguments(module);
  const Shared<Report> report;
  const std::string process = run([&] {
    std::array<std::vector<Array>, 2> results;
    for (std::size_t i : {0, 1}) {
      results[i] = run_side(module, arguments, settings(i), report->sides[i]);
    }
    report->difference = largest_difference(results[0], results[1]);
  });
  Observation seen{.endings = {ending_of(report->sides[0], process), {}},
                   .difference = report->difference};
  if (report->sides[0].has_ended) {
    seen.endings[1] = ending_of(report->sides[1], process);
    return seen;
  }
  const std::string second =
      run([&] { run_side(module, arguments, settings(1), report->sides[1]); });
  seen.endings[1] = ending_of(report->sides[1], second);
  return seen;
}

std::string IsolatedRuns::compute_values(Program& program, std::size_t backend) {
  Program all{.name = program.name, .graph = program.graph, .values = program.values};
  all.graph.updates.clear();
  all.graph.outputs.clear();
  for (const ir::NodeRef& node : computing_nodes(program.graph, /*in_bodies=*/false)) {
    for (std::uint32_t i = 0; i < node->types.size(); ++i) {
      all.graph.outputs.push_back(node->result(i));
    }
  }
  const module::Module module = all.to_module();
  const std::vector<Array> arguments = all.arguments(module);
  const TemporaryFolder folder("kiln reduce");
  const std::string path = folder.path_of("values.safetensors");
  RunSettings plain = settings(backend);
  plain.passes = false;
  const Shared<Report> report;
  const std::string process = run([&] {
    const auto results = run_side(module, arguments, plain, report->sides[0]);
    std::vector<runtime::NamedArray> named;
    for (const Array& result : results) named.push_back({text(named.size()), result});
    runtime::write_safetensors(path, named);
  });
  const Ending ending = ending_of(report->sides[0], process);
  if (!ending.failure.empty()) return ending.message;
  if (!process.empty()) return process;
  const runtime::SafetensorsFile file(path);
  for (const runtime::TensorEntry& tensor : file.tensors()) {
    program.values.insert_or_assign(all.graph.outputs.at(std::stoul(tensor.name)),
                                    file.read(tensor));
  }
  return "";
}

}  // namespace kiln::tool
