// Tests the text of errors when a plugin fails: the function that was called, the line of the call,
// and texts of the plugin, which must be safe for a terminal.
#include "tests/support/catch.h"

#include "runtime/host/log.h"
#include "tests/runtime/plugin/spoiled.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

using namespace kiln;
using runtime::fake_path;
using test::Spoiled;
using testing::error_of;

namespace {

/// x + 1, and w + 1 as the new w.
struct Step {
  explicit Step(const std::string& name)
      : w(variable(Array{0.f, 0.f}, {.name = "w"})), x(placeholder({.shape = {None}})) {
    f = function({x}, {x + 1.0},
                 {.updates = {update_add(w, 1.0)}, .name = name, .backend = fake_path("spoiled")});
  }
  Tensor w, x;
  Function f;
};

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

/// How spoil::text spoils a text, and the text that the user sees.
const std::pair<const char*, const char*> kWays[] = {{"zero", "a\\x00b"},
                                                     {"control", "\\x1b[31m\\r\\n\\xc2\\x9b"}};

const std::string kHere = "hostile_texts_test.cpp:";

}  // namespace

TEST_CASE("plugin errors: those of buffers name the function and the user's line", "[plugin]") {
  const testing::Scratch scratch;
  const std::string path = scratch.path("w.safetensors");
  struct Row {
    const char* function;
    std::function<void(const Step&)> read;
  };
  const std::vector<Row> readers = {
      {"get_value", [](const Step& step) { get_value(step.w); }},
      {"batch_get_value", [](const Step& step) { batch_get_value({step.w}); }},
      {"save_weights", [&](const Step& step) { save_weights(path, {step.w}); }},
      {"eval", [](const Step& step) { eval(step.w + 1.0); }},
      {"eval", [](const Step& step) { variable(step.w + 1.0); }},
  };
  for (const std::string fault : {"copy.more", "throw:buffer_copy_to_host"}) {
    for (const Row& row : readers) {
      INFO(row.function << ", " << fault);
      const Step step("frames");
      step.f({Array{1.f, 2.f}});
      const Spoiled spoiled(fault);
      const std::string got = error_of<BackendError>([&] { row.read(step); });
      CHECK_THAT(got, Catch::Matchers::StartsWith(std::string(row.function) +
                                                  ": buffer_copy_to_host violated the plugin ABI"));
      CHECK_THAT(got, Catch::Matchers::ContainsSubstring(kHere));
    }
  }
}

TEST_CASE("plugin errors: those within a call name the function and the user's line", "[plugin]") {
  struct Row {
    std::string name, fault;
  };
  const std::vector<Row> rows = {
      {"frames", "throw:buffer_allocate"},
      {"frames", "throw:buffer_import_host"},
      {"frames", "null:buffer_allocate"},
      {"frames", "null:buffer_import_host"},
      {"frames", "allocate:dims"},
      {"frames", "import:size"},
      {"buffered", "throw:buffer_copy_to_host"},
      {"buffered", "copy.fewer"},
      {"later", "throw:event_wait"},
      {"later", "event.fails"},
      {"later", "event.never"},
  };
  for (const Row& row : rows) {
    INFO(row.name << ", " << row.fault);
    const Step step(row.name);
    const Spoiled spoiled(row.fault);
    const std::string got = error_of<BackendError>([&] { step.f({Array{1.f, 2.f}}); });
    CHECK_THAT(got, Catch::Matchers::StartsWith(row.name + ": "));
    CHECK_THAT(got, Catch::Matchers::ContainsSubstring(kHere));
  }
  const Step step("frames");
  const Spoiled spoiled("throw:executable_info");
  CHECK_THAT(error_of<BackendError>([&] { step.f.stats(); }),
             Catch::Matchers::StartsWith("stats: executable_info violated the plugin ABI"));
}

TEST_CASE("plugin errors: a function that a print sink calls is the one named", "[plugin]") {
  const Step step("frames");
  step.f({Array{1.f, 2.f}});
  const Function printing =
      function({}, {print_tensor(constant({1.}))}, {.name = "outer", .backend = "reference"});
  std::string inner;
  set_print_sink([&](std::string_view) {
    const Spoiled spoiled("copy.more");
    inner = error_of<BackendError>([&] { get_value(step.w); });
  });
  printing();
  set_print_sink({});
  CHECK_THAT(inner, Catch::Matchers::StartsWith("get_value: buffer_copy_to_host violated"));
}

TEST_CASE("plugin errors: texts of a plugin are one printable line", "[plugin]") {
  for (const auto& [way, shown] : kWays) {
    for (const std::string field : {"message", "location", "native_library", "key", "value"}) {
      INFO(field << ", " << way);
      const Step step("frames");
      const Spoiled spoiled("error." + field + ":" + way);
      const std::string got = error_of<ValueError>([&] { step.f({Array{1.f, 2.f}}); });
      CHECK(is_printable(got));
      CHECK_THAT(got, Catch::Matchers::ContainsSubstring(shown));
      CHECK_THAT(got, Catch::Matchers::ContainsSubstring(test::spoiled_suffix()));
      CHECK_THAT(got, Catch::Matchers::ContainsSubstring(kHere));
    }
    for (const std::string field : {"op", "reason", "location"}) {
      INFO(field << ", " << way);
      const Spoiled spoiled("check." + field + ":" + way);
      const std::string got = error_of<Error>([] { Step step("frames"); });
      CHECK(is_printable(got));
      CHECK_THAT(got, Catch::Matchers::ContainsSubstring(kHere));
    }
  }
}

TEST_CASE("plugin log: lines of a plugin are printable lines", "[plugin]") {
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // the log counts lines per second
  for (const auto& [way, shown] : kWays) {
    static NoDestructor<std::vector<std::string>> lines;
    lines->clear();
    runtime::set_log_sink(
        [](runtime::LogLevel, std::string_view line) { lines->emplace_back(line); });
    for (const std::string field : {"component", "message", "key", "value"}) {
      const Step step("frames");
      const Spoiled spoiled("log." + field + ":" + way);
      step.f({Array{1.f, 2.f}});
    }
    runtime::set_log_sink(nullptr);
    REQUIRE(lines->size() == 4);
    for (const std::string& line : *lines) {
      INFO(line);
      CHECK(is_printable(line));
      CHECK_THAT(line, Catch::Matchers::ContainsSubstring(shown));
    }
  }
}

TEST_CASE("plugin errors: texts of the user are shown whole", "[plugin]") {
  const Tensor x = placeholder({.shape = {2}, .name = std::string("a\0\x1b[31mb", 8)});
  const Function f = function({x}, {x + 1.0}, {.backend = fake_path("spoiled")});
  const std::string got = error_of<ValueError>([&] { f({Array{1.f, 2.f, 3.f}}); });
  CHECK(is_printable(got));
  CHECK_THAT(got, Catch::Matchers::ContainsSubstring("a\\x00\\x1b[31mb"));
  CHECK_THAT(got, Catch::Matchers::ContainsSubstring(kHere));
}

TEST_CASE("plugin errors: a type error shows the type that was checked", "[plugin]") {
  const Step step("buffered");
  const Spoiled spoiled("output:once");
  CHECK_THAT(error_of<BackendError>([&] { step.f({Array{1.f, 2.f}}); }),
             Catch::Matchers::ContainsSubstring("output 0 is int32[2] but must be float32[2]"));
}

TEST_CASE("plugin errors: buffers of a call whose host function threw are released", "[plugin]") {
  const auto count = reinterpret_cast<std::uint64_t (*)()>(
      runtime::backend_instance(fake_path("spoiled"))->api().get_proc({"test.live_buffers", 17}));
  REQUIRE(count != nullptr);
  for (const std::string name : {"buffered", "later", "frames"}) {
    INFO(name);
    const Tensor x = placeholder({.shape = {None}});
    const Function f =
        function({x}, {print_tensor(x)}, {.name = name, .backend = fake_path("spoiled")});
    f({Array{1.f, 2.f}});
    const std::uint64_t before = count();
    set_print_sink([](std::string_view) { throw ValueError("sink", "", "is full"); });
    {
      const Spoiled spoiled("host_call.ignored");
      CHECK(testing::error_text<ValueError>([&] { f({Array{1.f, 2.f}}); }) == "sink: is full");
    }
    set_print_sink({});
    CHECK(count() == before);
  }
}
