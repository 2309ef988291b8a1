// Tests backends that cannot be used or that fail, in every call that names one, and settings that
// cannot be used: keras.json, the environment. tests/runtime/plugin tests the reasons for which a
// plugin is rejected, tests/runtime/config the defects of a keras.json.
#include "tests/support/catch.h"
#include "tests/runtime/config/home.h"
#include "tests/support/misuse.h"
#include "tests/runtime/plugin/fakes.h"
#include "tests/runtime/plugin/scratch.h"
#include "test_folders.h"

#include "backends/abi/kiln_backend.h"
#include "core/passes/pipeline.h"
#include "core/types/text.h"

#include <kiln/backend.h>

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kiln::test {
namespace {

using testing::Bystanders;
using testing::throws;
using testing::KerasHome;
using testing::Scratch;

const std::string kNoTanh = KILN_BINARY_DIR "/lib/tests/libkiln_no_tanh.so";

/// Checks the error of each call for this backend, at its own line; nothing in use changes.
void check_rejected(const std::string& backend, const std::string& message) {
  const std::string before = kiln::backend();
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  testing::run({
      {throws<BackendError>(), [&] { function({x}, {x * 2}, {.backend = backend}); },
       "function: " + message},
      {throws<BackendError>(), [&] { set_backend(backend); }, "set_backend: " + message},
      {throws<BackendError>(), [&] { load_backend(backend); }, "load_backend: " + message},
  });
  CHECK(kiln::backend() == before);
}

/// The message for the name of a backend that does not exist.
std::string missing_backend(const std::string& name) {
  return text("no backend '", name, "'; found: ", runtime::describe_files(),
              "; looked for libkiln_", name, ".so in ", join_text(runtime::plugin_directories()));
}

}  // namespace

TEST_CASE("backends: plugins that cannot be used are rejected by every call that names one") {
  const Scratch scratch;
  const std::string plain = scratch.write("plain.so", "not a library");
  const auto plugin = [](const std::string& path) { return "backend plugin '" + path + "' "; };
  const auto fake = [&](const char* stem, const std::string& why) {
    check_rejected(runtime::fake_path(stem), plugin(runtime::fake_path(stem)) + why);
  };
  check_rejected("/no/such/plugin.so", plugin("/no/such/plugin.so") + "does not exist");
  check_rejected("./plugin.so",
                 "backend path './plugin.so' is relative; give an absolute path or a name");
  check_rejected(scratch.folder(), plugin(scratch.folder()) + "is a directory");
  check_rejected(plain, plugin(plain) + "is not an ELF file");
  fake("no_entry", "is not a Kiln backend: it does not export kiln_backend_query");
  fake("newer_major", text("has ABI 7.2 but Kiln (", runtime::host_path(), ") has 0.",
                           KILN_ABI_MINOR, "; build the plugin with the headers of this Kiln"));
  fake("throws", "violated the plugin ABI: kiln_backend_query threw an exception (no luck today)");
  fake("rejects", "rejected the host: no GPU in this machine");
  check_rejected("no_such_backend", missing_backend("no_such_backend"));
}

TEST_CASE("backends: missing ones of the environment or of keras.json") {
  Bystanders::here();
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const auto rejected = [&](const std::string& name, const std::string& by) {
    testing::run({
        {throws<BackendError>(), [&] { function({x}, {x * 2}); },
         text("function: ", missing_backend(name), " (requested by: ", by, ")")},
        {throws<BackendError>(), [&] { backend(); },
         text("backend: ", missing_backend(name), " (requested by: ", by, ")")},
    });
  };
  {
    const runtime::KerasBackend environment("nowhere");
    rejected("nowhere", "KERAS_BACKEND=nowhere");
  }
  const KerasHome home(R"({"backend": "elsewhere"})");
  const runtime::KerasBackend environment(std::nullopt);
  rejected("elsewhere", "backend \"elsewhere\" in " + home.path());
  home.write(R"({"backend": "reference"})");
  CHECK(function({x}, {x * 2})({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
}

TEST_CASE("backends: ops that one lacks are named with their lines") {
  Bystanders& by = Bystanders::here();
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const auto at = [](unsigned line) { return text(__FILE__, ":", line); };
  const unsigned first = __LINE__ + 1;
  const Tensor once = tanh(x), twice = tanh(once * 2);
  testing::run({
      {throws<NotImplementedError>(), [&] { function({x}, {twice}, {.backend = kNoTanh}); },
       text("function: backend no_tanh cannot run tanh (no hyperbolic functions here) at ",
            at(first), "; tanh (no hyperbolic functions here) at ", at(first))},
      {throws<BackendError>(), [&] { function({x}, {x * 2}, {.backend = kNoTanh}); },
       text("function: its compiler is not there (backend no_tanh, ", kNoTanh, ")")},
  });
  const unsigned sine = __LINE__ + 1;
  const Tensor circle = sin(x) + cos(x);
  const Tensor cosine = cos(x + 1) * 2;
  testing::run({
      {throws<NotImplementedError>(), [&] { function({x}, {circle}, {.backend = kNoTanh}); },
       text("function: backend no_tanh cannot run sin (no circles here) at ", at(sine))},
      {throws<BackendError>(), [&] { function({x}, {cosine}, {.backend = kNoTanh}); },
       text("function: its compiler is not there; node 4 at ", at(sine + 1), " (backend no_tanh, ",
            kNoTanh, ")")},
  });
  const std::string before = backend();
  set_backend(kNoTanh);
  testing::run({
      {throws<NotImplementedError>(), [&] { eval(tanh(random_uniform({2}))); },
       text("function: backend no_tanh cannot run tanh (no hyperbolic functions here) at ",
            at(__LINE__ - 2))},
      {throws<BackendError>(), [&] { eval(random_uniform({2}) + 0.5); },
       text("function: its compiler is not there (backend no_tanh, ", kNoTanh, ")")},
  });
  set_backend(before);
  const Function works = function({x}, {twice + by.weights}, {.backend = "reference"});
  CHECK(works({Array{0.f, 0.f}})[0] == get_value(by.weights));
}

TEST_CASE("backends: one that fails in a call") {
  Bystanders& by = Bystanders::here();
  const std::string path = runtime::fake_path("instant");
  const Tensor value = variable(Array{1.f, 2.f});
  const auto build = [&](const char* name) {
    return function({}, {value},
                    {.updates = {update_add(value, 1), update(by.weights, value)},
                     .name = name,
                     .backend = path});
  };
  const Function fails = build("fail");
  testing::run({
      {throws<BackendError>(), [&] { fails(); },
       text("fail: instant was told to fail (backend instant, ", path, ")")},
  });
  CHECK(get_value(value) == Array{1.f, 2.f});
}

TEST_CASE("keras.json: one that cannot be used is an error of the call that reads it") {
  Bystanders::here();
  const auto rejected = [](KerasHome& home, const std::string& message) {
    testing::run({
        {throws<ConfigError>(), [&] { placeholder({.shape = {2}}); },
         "placeholder: " + home.path() + message},
        {throws<ConfigError>(), [&] { variable(Array(1.f)); },
         "variable: " + home.path() + message},
    });
    std::filesystem::remove(home.path());
    home.write(R"({"floatx": "float64"})");
    CHECK(dtype(placeholder({.shape = {2}})) == "float64");
  };
  const auto check_contents = [&](const std::string& contents, const std::string& message) {
    KerasHome home(contents);
    rejected(home, message);
  };
  check_contents("", " is empty");
  check_contents("{\n  \"floatx\": float32\n}",
                 " is malformed at line 2, column 14: invalid value");
  check_contents("{\"floatx\": 32}", " has floatx as a number, not a string");
  check_contents("[]", " holds an array, not an object");
  check_contents(std::string(2'000'000, '['),
                 " is malformed at line 1, column 65: nesting is deeper than 64");
  check_contents(std::string(20'000'000, ' '), " has 20000000 bytes; at most 16777216 are read");
  KerasHome home;
  ::mkdir(home.path().c_str(), 0700);
  rejected(home, " is a directory");
}

TEST_CASE("KILN_DISABLE: the name of no pass is an error of function") {
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  testing::Bystanders::here();  // makes its function before the variable is set
  const testing::EnvironmentVariable disable("KILN_DISABLE", "simplify,scan_merg");
  const std::string error =
      testing::error_text<ConfigError>([&] { function({x}, {x * 2})({Array{1.f, 2.f}}); });
  std::vector<std::string> passes;
  for (const auto& pass : passes::pipeline()) {
    const bool known = std::find(passes.begin(), passes.end(), pass.name) != passes.end();
    if (!known) passes.emplace_back(pass.name);
  }
  const std::string listed = join_text(passes, ", ");
  CHECK(error.starts_with(
      "function: KILN_DISABLE has the unknown pass 'scan_merg'; did you mean 'scan_merge'?; passes "
      "are " +
      listed));
  CHECK(error.find("; all disables every pass but the backend's, executable_cache disables the "
                   "sharing of executables") != error.npos);
  disable.set("simplify,scan_merge");
  CHECK(function({x}, {x * 2})({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
  if (backend() == "reference") return;
  CHECK(error.find(", sink_permutes, ") != error.npos);
  disable.set("merge_loop_results,fuse_epilogues");
  CHECK(function({x}, {x * 2})({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
}

TEST_CASE("KILN_DISABLE: accepts a pass that only another backend has") {
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const testing::EnvironmentVariable disable("KILN_DISABLE", "update_rows,simplify");
  for (const char* backend : {"reference", "cpu"}) {
    const Function f = function({x}, {x * 2}, {.backend = backend});
    CHECK(f({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
  }
  disable.set("update_row");
  const std::string error =
      testing::error_text<ConfigError>([&] { function({x}, {x * 2}, {.backend = "reference"}); });
  CHECK(error.find("unknown pass 'update_row'; did you mean 'update_rows'?") != error.npos);
  CHECK(error.find(", update_rows, ") == error.rfind(", update_rows, "));  // listed once
}

}  // namespace kiln::test
