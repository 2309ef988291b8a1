// Tests traces: which events a file has, that they nest, and that no failure of a file reaches a
// call.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"
#include "tests/support/trace_events.h"

#include "backends/abi/kiln_backend_structs.h"
#include "runtime/host/host_services.h"
#include "runtime/host/log.h"
#include "runtime/host/thread_pool.h"
#include "runtime/host/trace.h"

#include <kiln/k.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace K = kiln;
using K::Array, K::Tensor;
using kiln::testing::contents_of, kiln::testing::error_text, kiln::testing::has,
    kiln::testing::Scratch, kiln::testing::TraceFileEvent, kiln::testing::TraceText;

namespace {

std::vector<std::string> log_lines;

/// Keeps log lines in log_lines in its scope.
struct KeptLog {
  KeptLog() {
    log_lines.clear();
    kiln::runtime::set_log_sink(
        [](kiln::runtime::LogLevel, std::string_view line) { log_lines.emplace_back(line); });
  }
  ~KeptLog() { kiln::runtime::set_log_sink(nullptr); }
};

/// A trace that ends with its scope, also if a check fails.
struct ScopedTrace {
  explicit ScopedTrace(const std::string& path) { K::start_trace(path); }
  ~ScopedTrace() {
    if (kiln::runtime::running_trace() != 0) K::stop_trace();
  }
};

/// A loop with a matmul, a kernel and an update.
struct Program {
  Tensor x = K::placeholder({.shape = {K::None, 4, 3}, .name = "x"});
  Tensor w = K::variable(Array(std::vector<float>(9, 0.5f), {3, 3}), {.name = "w"});

  K::Function function(const std::string& name) const {
    const auto step = [&](const Tensor& now, const std::vector<Tensor>& states) -> K::StepResult {
      const Tensor h = K::tanh(now + K::dot(states[0], w));
      return {h, {h}};
    };
    const Tensor last = K::rnn(step, x, {K::zeros_like(K::sum(x, {.axis = 1}))}).last_output;
    return K::function({x}, {K::sum(last)},
                       {.updates = {K::update_sub(w, K::constant(0.1f) * w)}, .name = name});
  }
  static Array feed(std::int64_t batch) {
    return Array(std::vector<float>(static_cast<std::size_t>(batch) * 12, 0.25f), {batch, 4, 3});
  }
};

/// The events of calls of the function.
std::vector<TraceFileEvent> calls_of(const TraceText& trace, const std::string& name) {
  std::vector<TraceFileEvent> found;
  for (const TraceFileEvent& one : trace.of("call")) {
    if (one.name == name) found.push_back(one);
  }
  return found;
}

/// Gives the host an item of the dump stage `trace`.
void give_rows(const std::string& rows, const std::string& name = "") {
  auto args = kiln::abi::fresh<kiln_dump_args>();
  args.stage = kiln::abi::string_of("trace");
  args.name = kiln::abi::string_of(name);
  args.bytes = {rows.data(), rows.size()};
  kiln::runtime::HostContext context{.backend = "fake"};
  kiln::runtime::host_api().dump(&context, &args);
}

}  // namespace

TEST_CASE("trace: compilations, calls and steps nest, and steps name their lines") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  {
    const ScopedTrace trace(path);
    const K::Function f = Program().function("roll");
    f({Program::feed(2)});
    f({Program::feed(5)});
  }
  const TraceText trace(path);
  CHECK(trace.fault() == "");
  const std::vector<TraceFileEvent> compiled = trace.named("compile roll");
  REQUIRE(compiled.size() == 1);
  CHECK(has(compiled[0].arguments.at("code"), "new code, as no earlier function is equal"));
  std::vector<std::string> parts;
  for (const TraceFileEvent& one : trace.inside(compiled[0], "compile")) parts.push_back(one.name);
  for (const char* part : {"simplify", "write module", "backend cpu", "build_plan"}) {
    if (std::string(part) == "build_plan" && K::backend() != "cpu") continue;
    const std::string wanted =
        std::string(part) == "backend cpu" ? "backend " + K::backend() : part;
    INFO(wanted);
    CHECK(std::find(parts.begin(), parts.end(), wanted) != parts.end());
  }
  const std::vector<TraceFileEvent> calls = calls_of(trace, "roll");
  REQUIRE(calls.size() == 2);
  for (const TraceFileEvent& call : calls) {
    const std::vector<TraceFileEvent> steps = trace.inside(call, "step");
    CHECK(steps.size() >= 3);
    const auto with_line = std::count_if(steps.begin(), steps.end(), [](const auto& step) {
      return has(step.arguments.at("source"), "trace_test.cpp:");
    });
    CHECK(with_line >= 2);
  }
  CHECK(trace.threads.size() == [&] {
    std::map<std::int64_t, int> used;
    for (const TraceFileEvent& one : trace.events) ++used[one.thread];
    return used.size();
  }());
}

TEST_CASE("trace: a function that was compiled before the trace, and a second trace") {
  const Scratch scratch;
  const K::Function f = Program().function("early");
  f({Program::feed(2)});
  for (const char* name : {"first.json", "second.json"}) {
    const ScopedTrace trace(scratch.path(name));
    f({Program::feed(2)});
  }
  f({Program::feed(2)});
  for (const char* name : {"first.json", "second.json"}) {
    const TraceText trace(scratch.path(name));
    const std::vector<TraceFileEvent> calls = calls_of(trace, "early");
    REQUIRE(calls.size() == 1);
    CHECK_FALSE(trace.inside(calls[0], "step").empty());
    CHECK(trace.of("compile").empty());
  }
}

TEST_CASE("trace: copies of variables, and calls that throw") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  const Tensor x = K::placeholder({.shape = {K::None}, .name = "x"});
  const Tensor i = K::placeholder({.shape = {}, .dtype = "int32", .name = "i"});
  const K::Function f = K::function({x, i}, {K::gather(x, i)}, {.name = "pick"});
  {
    const ScopedTrace trace(path);
    const K::Variable v = K::variable(Array(std::vector<float>(64, 1.f), {64}));
    K::set_value(v, Array(std::vector<float>(64, 2.f), {64}));
    K::eval(K::update_add(v, 1));
    K::get_value(v);
    CHECK_THROWS_AS(f({Array{1.f, 2.f}, Array(7)}), K::Error);
  }
  const TraceText trace(path);
  CHECK(trace.fault() == "");
  CHECK_FALSE(trace.of("copy").empty());
  CHECK(calls_of(trace, "pick").size() == 1);
}

TEST_CASE("trace: texts of all kinds are strings of JSON, %p is the process") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  {
    const ScopedTrace trace(scratch.path("trace-%p.json"));
    kiln::runtime::TraceSpan span("call", "a \"name\"\\ of\nlines \xff \u20ac");
    span.add("key\t", [] { return std::string("\"\x01"); });
  }
  const std::string own = scratch.path("trace-" + std::to_string(::getpid()) + ".json");
  const TraceText trace(own);
  REQUIRE(trace.events.size() == 1);
  CHECK(trace.events[0].process == ::getpid());
  CHECK(trace.events[0].name == "a \"name\"\\ of\\nlines \\xff \u20ac");
  CHECK(trace.events[0].arguments.at("key\\t") == "\"\\x01");
}

TEST_CASE("trace: rows of a backend") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  const KeptLog log;
  {
    const ScopedTrace trace(path);
    give_rows("step\t7\t1000\t3500\tmatmul\tsource\tdot at m.cpp:3\n", "worker");
    give_rows("step\t0\t2000\t2001\tkernel\ncopy\t0\t5000\t6000\tcopy\n", "stream 1");
    for (const char* broken : {"step\tx\t1\t2\tname\n", "step\t1\t-1\t2\tname\n", "step\t1\t2\n",
                               "step\t1\t2\t3\n", "step\t1\t2\t3\tname\tkey\n", "\n\t\n"}) {
      log_lines.clear();
      give_rows(broken);
      INFO(broken);
      REQUIRE(log_lines.size() == 1);
      CHECK(has(log_lines[0], "dump was called with invalid arguments: a row of a trace has"));
    }
  }
  const TraceText trace(path);
  REQUIRE(trace.events.size() == 3);
  CHECK(trace.events[0].begin == 1000);
  CHECK(trace.events[0].end == 3500);
  CHECK(trace.events[0].arguments.at("source") == "dot at m.cpp:3");
  CHECK(trace.threads.at(7) == "worker");
  CHECK(trace.events[1].thread == trace.events[2].thread);
  CHECK(trace.threads.at(trace.events[1].thread) == "stream 1");
}

TEST_CASE("trace: errors of starting and stopping") {
  const Scratch scratch;
  K::stop_trace();  // none is running
  CHECK(error_text<K::IoError>([&] { K::start_trace(scratch.path("none/trace.json")); }) ==
        "start_trace: cannot write the trace " + scratch.path("none/trace.json") +
            ": No such file or directory");
  const ScopedTrace trace(scratch.path("one.json"));
  CHECK(has(error_text<K::ValueError>([&] { K::start_trace(scratch.path("two.json")); }),
            "start_trace: cannot start the trace " + scratch.path("two.json") +
                " while another one is written"));
  CHECK(scratch.files() == 1);
}

TEST_CASE("trace: a file that cannot grow ends the trace, not the program") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  // The limit is of the whole process, so of a child.
  CHECK(kiln::testing::in_child([&] {
          ::signal(SIGXFSZ, SIG_IGN);
          const rlimit limit{.rlim_cur = 1000, .rlim_max = 1000};
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
          const KeptLog log;
          K::start_trace(path);
          for (int i = 0; i < 2000; ++i) kiln::runtime::TraceSpan("call", "some event of a trace");
          if (kiln::runtime::running_trace() != 0 || log_lines.size() != 1) return 2;
          const std::string wanted = "kiln: warning: trace: cannot write the trace " + path +
                                     ": File too large; the trace ends here";
          if (log_lines[0] != wanted) return 3;
          K::start_trace(path);
          for (int i = 0; i < 20; ++i) kiln::runtime::TraceSpan("call", "some event of a trace");
          const std::string error = error_text<K::IoError>([] { K::stop_trace(); });
          return error == "stop_trace: cannot write the trace " + path + ": File too large" ? 0 : 4;
        }) == 0);
  CHECK(TraceText(path).events.size() == 1);
}

TEST_CASE("trace: a path that is no regular file is an error, and nothing waits") {
  const Scratch scratch;
  const std::string fifo = scratch.path("fifo"), link = scratch.path("link");
  const std::string target = scratch.write("target", "kept");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  REQUIRE(::symlink(target.c_str(), link.c_str()) == 0);
  const auto error_of = [](const std::string& path) {
    return error_text<K::IoError>([&] { K::start_trace(path); });
  };
  const std::string head = "start_trace: cannot write the trace ";
  CHECK(error_of(fifo) == head + fifo + ": it is not a regular file");
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  CHECK(error_of(fifo) == head + fifo + ": it is not a regular file");
  ::close(reader);
  CHECK(error_of("/dev/null") == head + "/dev/null: it is not a regular file");
  CHECK(error_of(link) == head + link + ": it is a symbolic link");
  CHECK(contents_of(target) == "kept");
  CHECK(error_text<K::ValueError>([] { K::start_trace(""); }) ==
        "start_trace: path is '' but must name the file to write");
}

TEST_CASE("trace: two processes do not write one file") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  {
    const ScopedTrace trace(path);
    {
      const kiln::runtime::TraceSpan span("call", "of the parent");
    }
    CHECK(kiln::testing::in_child([&] {
            const std::string error = error_text<K::IoError>([&] { K::start_trace(path); });
            return has(error, "another process writes a trace to it") ? 0 : 1;
          }) == 0);
    CHECK(kiln::testing::in_new_process("[.traced]", "KILN_TRACE", path.c_str()) == 0);
  }
  CHECK(TraceText(path).of("call").size() == 1);
  REQUIRE(scratch.files() == 2);
  for (const auto& file : std::filesystem::directory_iterator(scratch.folder())) {
    if (file.path() == path) continue;
    CHECK(file.path().string().starts_with(path + "."));
    CHECK(calls_of(TraceText(file.path().string()), "program").size() == 1);
  }
}

TEST_CASE("trace: a fork does not wait for the file, and the child leaves it alone") {
  const Scratch scratch;
  const ScopedTrace trace(scratch.path("trace.json"));
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) kiln::runtime::TraceSpan("call", "an event");
  });
  for (int i = 0; i < 20; ++i) {
    CHECK(kiln::testing::in_child([&] {
            K::start_trace(scratch.path("child.json"));
            K::stop_trace();
            return 0;
          }) == 0);
  }
  done = true;
  writer.join();
}

TEST_CASE("trace: many threads and tracks cost the memory of few") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  constexpr int kTracks = 10000;
  {
    const ScopedTrace trace(path);
    for (int i = 1; i <= kTracks; ++i) {
      give_rows("step\t" + std::to_string(i) + "\t1000\t2000\tname\n", "worker");
      give_rows("step\t0\t1000\t2000\tname\n", "stream " + std::to_string(i));
    }
    give_rows("step\t1\t3000\t4000\tname\n", "worker");
  }
  const TraceText trace(path);
  CHECK(trace.fault() == "");
  CHECK(trace.events.size() == 2 * kTracks + 1);
  CHECK(trace.threads.size() == 2 * kTracks);
}

TEST_CASE("trace: a forked child has none and leaves the parent's file alone") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  {
    const ScopedTrace trace(path);
    {
      const kiln::runtime::TraceSpan span("call", "before");
    }
    CHECK(kiln::testing::in_child([&] {
            if (kiln::runtime::running_trace() != 0) return 1;
            {
              const kiln::runtime::TraceSpan span("call", "of the child");
            }
            K::start_trace(scratch.path("child.json"));
            {
              const kiln::runtime::TraceSpan span("call", "of the child");
            }
            return 0;  // exit completes the file
          }) == 0);
    {
      const kiln::runtime::TraceSpan span("call", "after");
    }
  }
  CHECK(TraceText(path).of("call").size() == 2);
  CHECK(TraceText(path).named("child").empty());
  CHECK(TraceText(scratch.path("child.json")).named("of the child").size() == 1);
}

TEST_CASE("trace: in a forked child, a call that the backend rejects is that error alone") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {2}});
  const K::Function f = K::function({x}, {x + 1}, {.name = "f", .backend = "cpu"});
  CHECK(kiln::testing::in_child([&] {
          const KeptLog log;
          K::start_trace(scratch.path("child.json"));
          const std::string error = error_text<K::BackendError>([&] { f({Array{1.f, 2.f}}); });
          return has(error, "before it forked") && log_lines.empty() ? 0 : 1;
        }) == 0);
}

TEST_CASE("trace: with %p in KILN_TRACE, a forked child has a trace of its own") {
  const Scratch scratch;
  const std::string path = scratch.path("trace-%p.json");
  CHECK(kiln::testing::in_new_process("[.traced_fork]", "KILN_TRACE", path.c_str()) == 0);
  REQUIRE(scratch.files() == 2);
  for (const auto& file : std::filesystem::directory_iterator(scratch.folder())) {
    CHECK(calls_of(TraceText(file.path().string()), "forks").size() == 1);
  }
}

TEST_CASE("child: a program that forks", "[.traced_fork]") {
  const KeptLog log;
  const Tensor x = K::placeholder({.shape = {2}});
  const K::Function f = K::function({x}, {x + 1}, {.name = "forks", .backend = "reference"});
  f({Array{1.f, 2.f}});
  CHECK(kiln::testing::in_child([&] {
          f({Array{1.f, 2.f}});
          return log_lines.empty() ? 0 : 1;
        }) == 0);
}

TEST_CASE("trace: KILN_TRACE traces a program that does not know of it") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  CHECK(kiln::testing::in_new_process("[.traced]", "KILN_TRACE", path.c_str()) == 0);
  const TraceText trace(path);
  CHECK(trace.fault() == "");
  CHECK(calls_of(trace, "program").size() == 1);
  const std::string missing = scratch.path("none/trace.json");
  CHECK(kiln::testing::in_new_process("[.untraced]", "KILN_TRACE", missing.c_str()) == 0);
}

TEST_CASE("child: a program", "[.traced]") {
  const Tensor x = K::placeholder({.shape = {2}});
  K::function({x}, {x + 1}, {.name = "program"})({Array{1.f, 2.f}});
}

TEST_CASE("child: a trace that cannot be written", "[.untraced]") {
  const KeptLog log;
  const Tensor x = K::placeholder({.shape = {2}});
  K::function({x}, {x + 1})({Array{1.f, 2.f}});
  K::function({x}, {x * 2})({Array{1.f, 2.f}});
  REQUIRE(log_lines.size() == 1);
  CHECK(has(log_lines[0], "warning: trace: cannot write the trace "));
  CHECK(has(log_lines[0], "No such file or directory (KILN_TRACE)"));
}

TEST_CASE("trace: pool threads show the parts that they run", "[concurrency]") {
  const Scratch scratch;
  const std::string path = scratch.path("trace.json");
  K::set_threads(2);
  {
    const ScopedTrace trace(path);
    // Each of two parts waits for the other, so that two threads run them.
    std::atomic<int> inside{0};
    const auto body = [](void* context, std::uint64_t, std::uint64_t) -> std::uint32_t {
      auto& count = *static_cast<std::atomic<int>*>(context);
      ++count;
      while (count < 2) std::this_thread::yield();
      return 0;
    };
    CHECK(kiln::runtime::parallel_for(2, body, &inside) == 0);
  }
  const TraceText trace(path);
  const std::vector<TraceFileEvent> loops = trace.of("pool");
  REQUIRE(loops.size() == 1);
  CHECK(trace.threads.at(loops[0].thread) == "kiln-1");
  CHECK(loops[0].arguments.at("parts") == "1 of 2");
}

TEST_CASE("trace: threads call while traces start and stop", "[concurrency]") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {2}});
  const K::Function f = K::function({x}, {K::tanh(x) + 1}, {.name = "shared"});
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!done) f({Array{1.f, 2.f}});
    });
  }
  for (int i = 0; i < 20; ++i) {
    const std::string path = scratch.path("trace.json");
    K::start_trace(path);
    f({Array{1.f, 2.f}});
    K::stop_trace();
    CHECK_FALSE(calls_of(TraceText(path), "shared").empty());
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}
