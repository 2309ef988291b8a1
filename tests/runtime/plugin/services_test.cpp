// Tests the host's services for plugins: log lines, dumps, parallel loops, host functions.
#include "tests/support/catch.h"

#include "runtime/host/log.h"
#include "tests/runtime/plugin/fakes.h"

#include <iostream>
#include <sstream>

using namespace kiln;
using namespace kiln::runtime;

namespace {

std::vector<std::string> lines;
std::vector<std::string> dumps;

struct KeepLines {
  KeepLines() {
    lines.clear();
    set_log_sink([](LogLevel, std::string_view line) { lines.emplace_back(line); });
  }
  ~KeepLines() { set_log_sink(nullptr); }
};

struct KeepDumps {
  explicit KeepDumps(bool wanted) {
    dumps.clear();
    set_dump_receiver({wanted ? is_assembly : is_nothing, take});
  }
  ~KeepDumps() { set_dump_receiver({}); }
  static bool is_assembly(std::string_view stage) { return stage == "asm"; }
  static bool is_nothing(std::string_view) { return false; }
  static void take(const BackendDump& dump) {
    const std::string_view bytes(reinterpret_cast<const char*>(dump.bytes.data()),
                                 dump.bytes.size());
    dumps.push_back(text(dump.backend, " ", dump.label, " ", dump.stage, " ", dump.ordinal, " ",
                         dump.name, " ", dump.media_type, " ", bytes));
  }
};

/// Redirects std::cout into a string.
struct KeepOutput {
  std::ostringstream kept;
  std::streambuf* before = std::cout.rdbuf(kept.rdbuf());
  ~KeepOutput() { std::cout.rdbuf(before); }
};

std::vector<float> run(std::string_view op, const std::vector<float>& values,
                       HostCallContext* host_calls = nullptr) {
  const Executable program = compile_text(adder(), text("inputs 1\noutputs 1\nnode 1 ", op, "\n"));
  const Buffer input = floats(adder(), values);
  const Buffer* inputs[] = {&input};
  Buffer output;
  ExecuteCall call;
  call.inputs = inputs;
  call.outputs = std::span(&output, 1);
  call.host_calls = host_calls;
  call.label = "train";
  program.execute(call);
  return values_of(output);
}

}  // namespace

TEST_CASE("log service: lines carry the backend, the component and the fields", "[plugin]") {
  const KeepLines keep;
  run("log", {1});
  CHECK(lines == std::vector<std::string>{
                     "kiln: warning: backend adder/gears: slipping (teeth=32, rpm=900)"});
}

TEST_CASE("log service: the number of lines per second is bounded", "[plugin]") {
  const KeepLines keep;
  for (int i = 0; i < 1000; ++i) log_line(LogLevel::Warning, "flood", text(i));
  CHECK(lines.size() <= 201);  // the loop may span two seconds
  CHECK(lines.size() >= 1);
}

TEST_CASE("log service: lines below the level are not made", "[plugin]") {
  const KeepLines keep;
  CHECK_FALSE(log_enabled(LogLevel::Debug));
  log_line(LogLevel::Debug, "", "unseen");
  CHECK(lines.empty());
}

TEST_CASE("dump service: dumps reach a receiver that wants them", "[plugin]") {
  {
    const KeepDumps keep(true);
    run("dump", {1});
    CHECK(dumps == std::vector<std::string>{"adder train asm 3 kernel text/plain addps"});
  }
  {
    const KeepDumps keep(false);
    run("dump", {1});
    CHECK(dumps.empty());
  }
  run("dump", {1});
  CHECK(dumps.empty());
}

TEST_CASE("parallel_for service: every index once, and exceptions are passed on", "[plugin]") {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  CHECK(run("parallel", values) == values);
  CHECK(error_text<BackendError>([] { run("parallel_fail", {1}); }) ==
        text("train: a part failed (backend adder, ", fake_path("adder"), ")"));
}

TEST_CASE("host call service: print_tensor prints the message and the value", "[plugin]") {
  HostCallContext context{"train", nullptr};
  KeepOutput output;
  CHECK(run("print", {1, 2.5}, &context) == std::vector<float>{1, 2.5});
  CHECK(output.kept.str() == "msg [1.  2.5]\n");
}

TEST_CASE("host call service: an unknown function is an error that names it", "[plugin]") {
  HostCallContext context{"train", nullptr};
  CHECK(
      error_text<NotImplementedError>([&] { run("host_missing", {1}, &context); }) ==
      text("train: no host function 'no_such_function' (backend adder, ", fake_path("adder"), ")"));
}
