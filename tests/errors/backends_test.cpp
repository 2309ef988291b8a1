// Backends that cannot be used or fail, in every call that names one, and settings that cannot be
// used: keras.json, the environment. Why a plugin is refused, in all its forms, is in tests/plugin;
// how a keras.json can be wrong in tests/config.
#include "tests/catch.h"
#include "tests/config/home.h"
#include "tests/misuse.h"
#include "tests/plugin/fakes.h"
#include "tests/plugin/scratch.h"

#include "backends/abi/kiln_backend.h"

#include <kiln/backend.h>

#include <sys/stat.h>

namespace kiln::test {
namespace {

using testing::Bystanders;
using testing::Fault;
using testing::KerasHome;
using testing::Scratch;

const std::string kNoTanh = KILN_BINARY_DIR "/lib/tests/libkiln_no_tanh.so";

/// What each call says about this backend, at its own line; nothing that is in use changes.
void check_refused(const std::string& backend, const std::string& fact) {
  const std::string before = kiln::backend();
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  testing::run({
      {__LINE__, Fault::Backend, [&] { function({x}, {x * 2}, {.backend = backend}); },
       "function: " + fact},
      {__LINE__, Fault::Backend, [&] { set_backend(backend); }, "set_backend: " + fact},
      {__LINE__, Fault::Backend, [&] { load_backend(backend); }, "load_backend: " + fact},
  }, __FILE__);
  CHECK(kiln::backend() == before);
}

/// What is said about the name of a backend that is not there.
std::string not_there(const std::string& name) {
  return text("no backend '", name, "'; found: ", runtime::describe_files(),
              "; looked for libkiln_", name, ".so in ", join_text(runtime::plugin_directories()));
}

}  // namespace

TEST_CASE("plugins that cannot be used are refused by every call that names one") {
  const Scratch scratch;
  const std::string plain = scratch.write("plain.so", "not a library");
  const auto plugin = [](const std::string& path) { return "backend plugin '" + path + "' "; };
  const auto fake = [&](const char* stem, const std::string& why) {
    check_refused(runtime::fake_path(stem), plugin(runtime::fake_path(stem)) + why);
  };
  check_refused("/no/such/plugin.so", plugin("/no/such/plugin.so") + "does not exist");
  check_refused("./plugin.so",
                "backend path './plugin.so' is relative; give an absolute path or a name");
  check_refused(scratch.folder(), plugin(scratch.folder()) + "is a directory");
  check_refused(plain, plugin(plain) + "is not an ELF file");
  fake("no_entry", "is not a Kiln backend: it does not export kiln_backend_query");
  fake("newer_major", text("speaks ABI 7.0 to 7.2 but Kiln (", runtime::host_path(),
                           ") speaks 0.1 to 0.", KILN_ABI_MINOR, "; upgrade Kiln"));
  fake("throws", "broke the boundary: kiln_backend_query threw an exception (no luck today)");
  fake("refuses", "refused: no GPU in this machine");
  check_refused("no_such_backend", not_there("no_such_backend"));
}

TEST_CASE("a backend of the environment or of keras.json that is not there") {
  Bystanders::here();
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const auto refused = [&](const std::string& name, const std::string& by) {
    testing::run({
        {__LINE__, Fault::Backend, [&] { function({x}, {x * 2}); },
         text("function: ", not_there(name), " (asked for by: ", by, ")")},
        {__LINE__, Fault::Backend, [&] { backend(); },
         text("backend: ", not_there(name), " (asked for by: ", by, ")")},
    }, __FILE__);
  };
  {
    const runtime::KerasBackend environment("nowhere");
    refused("nowhere", "KERAS_BACKEND=nowhere");
  }
  const KerasHome home(R"({"backend": "elsewhere"})");
  const runtime::KerasBackend environment(std::nullopt);
  refused("elsewhere", "backend \"elsewhere\" in " + home.path());
  home.write(R"({"backend": "reference"})");
  CHECK(function({x}, {x * 2})({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
}

TEST_CASE("ops that a backend lacks are named with their lines") {
  Bystanders& by = Bystanders::here();
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const auto at = [](unsigned line) { return text(__FILE__, ":", line); };
  const unsigned first = __LINE__ + 1;
  const Tensor once = tanh(x), twice = tanh(once * 2);
  testing::run({
      {__LINE__, Fault::NotImplemented, [&] { function({x}, {twice}, {.backend = kNoTanh}); },
       text("function: backend no_tanh cannot run tanh (no hyperbolic functions here) at ",
            at(first), "; tanh (no hyperbolic functions here) at ", at(first))},
      {__LINE__, Fault::Backend, [&] { function({x}, {x * 2}, {.backend = kNoTanh}); },
       text("function: its compiler is not there (backend no_tanh, ", kNoTanh, ")")},
  }, __FILE__);
  const std::string before = backend();
  set_backend(kNoTanh);
  testing::run({
      {__LINE__, Fault::NotImplemented, [&] { eval(tanh(random_uniform({2}))); },
       text("function: backend no_tanh cannot run tanh (no hyperbolic functions here) at ",
            at(__LINE__ - 2))},
      {__LINE__, Fault::Backend, [&] { eval(random_uniform({2}) + 0.5); },
       text("function: its compiler is not there (backend no_tanh, ", kNoTanh, ")")},
  }, __FILE__);
  set_backend(before);
  const Function works = function({x}, {twice + by.weights}, {.backend = "reference"});
  CHECK(works({Array{0.f, 0.f}})[0] == get_value(by.weights));
}

TEST_CASE("a backend that fails in a call") {
  Bystanders& by = Bystanders::here();
  const std::string path = runtime::fake_path("instant");
  const Tensor value = variable(Array{1.f, 2.f});
  const auto made = [&](const char* name) {
    return function({}, {value}, {.updates = {update_add(value, 1), update(by.weights, value)},
                                  .name = name, .backend = path});
  };
  const Function fails = made("fail");
  testing::run({
      {__LINE__, Fault::Backend, [&] { fails(); },
       text("fail: instant was told to fail (backend instant, ", path, ")")},
  }, __FILE__);
  CHECK(get_value(value) == Array{1.f, 2.f});
}

TEST_CASE("a keras.json that cannot be used is an error of the call that reads it") {
  Bystanders::here();
  const auto refused = [](KerasHome& home, const std::string& fact) {
    testing::run({
        {__LINE__, Fault::Config, [&] { placeholder({.shape = {2}}); },
         "placeholder: " + home.path() + fact},
        {__LINE__, Fault::Config, [&] { variable(Array(1.f)); },
         "variable: " + home.path() + fact},
    }, __FILE__);
    std::filesystem::remove(home.path());
    home.write(R"({"floatx": "float64"})");
    CHECK(dtype(placeholder({.shape = {2}})) == "float64");
  };
  const auto contents_refused = [&](const std::string& contents, const std::string& fact) {
    KerasHome home(contents);
    refused(home, fact);
  };
  contents_refused("", " is empty");
  contents_refused("{\n  \"floatx\": float32\n}",
                   " is malformed at line 2, column 14: invalid value");
  contents_refused("{\"epsilon\": \"small\"}", " has epsilon as a string, not a number");
  contents_refused("[]", " holds an array, not an object");
  contents_refused(std::string(2'000'000, '['),
                   " is malformed at line 1, column 65: nesting is deeper than 64");
  contents_refused(std::string(20'000'000, ' '), " has 20000000 bytes; at most 16777216 are read");
  KerasHome home;
  ::mkdir(home.path().c_str(), 0700);
  refused(home, " is a directory");
}

TEST_CASE("KILN_DISABLE that names no pass is an error of function") {
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  testing::Bystanders::here();  // whose function is made before there is such a name
  const testing::EnvironmentVariable disable("KILN_DISABLE", "simplify,scan_merg");
  const std::string error =
      testing::error_text<ConfigError>([&] { function({x}, {x * 2})({Array{1.f, 2.f}}); });
  CHECK(error.starts_with(
      "function: KILN_DISABLE names no pass 'scan_merg'; did you mean 'scan_merge'?; passes are "
      "simplify, scan_merge, scan_hoist_invariants, scan_batch_inputs, scan_merge_gates, "
      "scan_push_outputs, scan_drop_unused, scan_merge_sums, merge_products"));
  CHECK(error.find("; all leaves out every pass that is not the backend's, executable_cache "
                   "compiles every program") != error.npos);
  disable.set("simplify,scan_merge");
  CHECK(function({x}, {x * 2})({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
  if (backend() == "reference") return;
  CHECK(error.find("merge_products, sink_permutes, ") != error.npos);
  disable.set("merge_loop_results,absorb_kernels");
  CHECK(function({x}, {x * 2})({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
}

}  // namespace kiln::test
