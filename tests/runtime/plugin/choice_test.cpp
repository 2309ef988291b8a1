// Tests which backend is used, and how that is explained.
#include "tests/support/catch.h"

#include <kiln/backend.h>

#include "runtime/host/log.h"
#include "runtime/host/thread_pool.h"
#include "runtime/plugin/backend_choice.h"
#include "tests/runtime/config/home.h"
#include "tests/runtime/plugin/fakes.h"

#include <cstdlib>

using namespace kiln;
using namespace kiln::runtime;
using kiln::testing::EnvironmentVariable;
using kiln::testing::KerasHome;

namespace {

std::vector<std::string> warnings;

}  // namespace

TEST_CASE("backend choice: Kiln's own settings override the shared ones", "[plugin]") {
  const struct {
    BackendSources sources;
    const char *value, *reason;
  } rows[] = {
      {{}, "cpu", "built-in default"},
      {{.file = "reference"}, "reference", "backend \"reference\" in /h/keras.json"},
      {{.environment = "cuda", .file = "reference"}, "cuda", "KERAS_BACKEND=cuda"},
      {{.own_file = "auto", .environment = "cuda", .file = "reference"},
       "auto",
       "kiln.backend \"auto\" in /h/keras.json"},
      {{.own_environment = "x", .own_file = "auto", .environment = "cuda", .file = "reference"},
       "x",
       "KILN_BACKEND=x"},
  };
  for (const auto& row : rows) {
    BackendSources sources = row.sources;
    sources.file_path = "/h/keras.json";
    const WantedBackend wanted = decide_backend(sources);
    CHECK(wanted.value == row.value);
    CHECK(wanted.reason == row.reason);
    CHECK(wanted.note.empty());
  }
}

TEST_CASE("backend choice: engines of Python Keras give the default and a note", "[plugin]") {
  for (const std::string name :
       {"theano", "tensorflow", "cntk", "jax", "torch", "numpy", "openvino"}) {
    const WantedBackend wanted = decide_backend({.environment = name, .file = "reference"});
    CHECK(wanted.value == "cpu");
    CHECK(wanted.reason ==
          text("built-in default; KERAS_BACKEND=", name, " names an engine of Python Keras"));
    CHECK(wanted.note ==
          text("KERAS_BACKEND=", name, " names an engine of Python Keras; using cpu"));
  }
  CHECK(decide_backend({.file = "theano", .file_path = "/h/keras.json"}).note ==
        "backend \"theano\" in /h/keras.json names an engine of Python Keras; using cpu");
  CHECK(decide_backend({.own_file = "cuda", .environment = "jax"}).value == "cuda");
  // Python Keras does not read Kiln's own settings.
  CHECK(decide_backend({.own_environment = "jax"}).value == "jax");
}

TEST_CASE("backend choice: a source is read only if none before it is set", "[plugin]") {
  const KerasHome home(
      text(R"({"kiln": {"backend": ")", fake_path("adder"), R"("}, "backend": 3})"));
  {
    const KerasBackend shared("no_such_backend");
    CHECK(backend() == fake_path("adder"));
    CHECK(backend_choice().reason ==
          text("kiln.backend \"", fake_path("adder"), "\" in ", home.path()));
  }
  home.write(R"({"kiln": {"backend": 3}})");
  {
    const KerasBackend shared(fake_path("adder"));
    CHECK(home.without_path(error_text<ConfigError>([] { backend(); })) ==
          "backend: PATH has kiln.backend as a number, not a string");
    const EnvironmentVariable own("KILN_BACKEND", fake_path("adder"));
    CHECK(backend_choice().reason == text("KILN_BACKEND=", fake_path("adder")));
  }
}

TEST_CASE("backend choice: a damaged keras.json is an error only if it may decide", "[plugin]") {
  const KerasHome home(R"({"backend": )");
  {
    const KerasBackend shared(std::nullopt);
    CHECK(home.without_path(error_text<ConfigError>([] { backend(); })) ==
          "backend: PATH is malformed at line 1, column 13: invalid value");
  }
  const KerasBackend shared(fake_path("adder"));
  CHECK(backend() == fake_path("adder"));
  home.write(R"({"kiln": )");
  forget_backend_choice();
  CHECK(home.without_path(error_text<ConfigError>([] { backend(); })) ==
        "backend: PATH is malformed at line 1, column 10: invalid value");
}

TEST_CASE("backend choice: the environment may give a path", "[plugin]") {
  const KerasBackend environment(fake_path("adder"));
  CHECK(backend() == fake_path("adder"));
  CHECK(backend_choice().reason == text("KERAS_BACKEND=", fake_path("adder")));
  CHECK(current_instance() == adder());
}

TEST_CASE("backend choice: an API call overrides the environment", "[plugin]") {
  const KerasBackend environment("no_such_backend");
  set_backend(fake_path("adder"));
  CHECK(backend_choice().name == fake_path("adder"));
  CHECK(backend_choice().reason == "set_backend");
}

TEST_CASE("backend choice: a missing backend is an error each time", "[plugin]") {
  const KerasBackend environment("no_such_backend");
  for (int i = 0; i < 2; ++i) {
    const std::string got = error_text<BackendError>([] { backend(); });
    CHECK_THAT(got, Catch::Matchers::StartsWith("backend: no backend 'no_such_backend'; found: "));
    CHECK_THAT(got, Catch::Matchers::EndsWith("(requested by: KERAS_BACKEND=no_such_backend)"));
  }
  set_backend(fake_path("adder"));
  CHECK(backend() == fake_path("adder"));
}

TEST_CASE("backend choice: a failed set_backend changes nothing", "[plugin]") {
  const KerasBackend environment(fake_path("adder"));
  CHECK(backend() == fake_path("adder"));
  CHECK(error_text<BackendError>([] { set_backend("./here.so"); }) ==
        "set_backend: backend path './here.so' is relative; give an absolute path or a name");
  CHECK(backend() == fake_path("adder"));
  CHECK(backend_choice().reason == text("KERAS_BACKEND=", fake_path("adder")));
}

TEST_CASE("backend choice: auto takes the usable backend with the highest score", "[plugin]") {
  open_plugin(fake_path("adder"), "");  // the only one with a score above 1
  const KerasBackend environment("auto");
  CHECK(backend() == fake_path("adder"));
  CHECK_THAT(backend_choice().reason,
             Catch::Matchers::Matches("KERAS_BACKEND=auto: best of [0-9]+ usable, score 50"));
}

TEST_CASE("backend choice: a Python engine is no reason for a warning", "[plugin]") {
  bool default_is_there = false;
  for (const PluginFile& file : list_plugin_files()) {
    default_is_there = default_is_there || file.name == "cpu";
  }
  const KerasBackend environment("tensorflow");
  warnings.clear();
  set_log_sink([](LogLevel, std::string_view line) { warnings.emplace_back(line); });
  if (default_is_there) {
    CHECK(backend() == "cpu");
  } else {
    CHECK_THROWS_AS(backend(), BackendError);
  }
  set_log_sink(nullptr);
  CHECK(warnings.empty());
}

TEST_CASE("backend list: each backend with what is known about it", "[plugin]") {
  open_plugin(fake_path("adder"), "");
  bool found = false;
  for (const BackendDescription& description : list_backends()) {
    if (description.name != fake_path("adder")) continue;
    found = true;
    CHECK(description.path == fake_path("adder"));
    CHECK(description.version == "1.2.3");
    CHECK(description.loaded);
    CHECK(description.rejection.empty());
  }
  CHECK(found);
}

TEST_CASE("thread count: from 1 to 4096", "[plugin]") {
  CHECK(error_text<ValueError>([] { set_threads(0); }) ==
        "set_threads: count is 0 but must be from 1 to 4096");
  CHECK(error_text<ValueError>([] { set_threads(-3); }) ==
        "set_threads: count is -3 but must be from 1 to 4096");
  CHECK(error_text<ValueError>([] { set_threads(4097); }) ==
        "set_threads: count is 4097 but must be from 1 to 4096");
  set_threads(3);
  CHECK(thread_count() == 3);
  CHECK(version() == KILN_VERSION);
}
