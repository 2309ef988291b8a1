// Tests options of a backend: each source, their precedence, and the sources that errors name.
#include "tests/support/catch.h"

#include <kiln/backend.h>

#include "runtime/host/log.h"
#include "runtime/plugin/instance_table.h"
#include "tests/runtime/config/home.h"
#include "tests/runtime/plugin/fakes.h"
#include "tests/runtime/plugin/scratch.h"

#include <atomic>
#include <map>
#include <thread>

using namespace kiln;
using namespace kiln::runtime;
using kiln::testing::EnvironmentVariable;
using kiln::testing::KerasHome;

namespace {

using Settings = std::vector<std::string>;

/// A copy of the plugin `tuned`, with an instance of its own that nothing has used.
class Tuned {
 public:
  Tuned() : path_(scratch_.path("libkiln_tuned.so")) {
    std::filesystem::copy_file(fake_path("tuned"), path_);
    load_backend(path_);
  }
  const std::string& path() const { return path_; }
  void set(const std::map<std::string, std::string>& options) const {
    set_backend_options(path_, options);
  }
  /// The options that the instance was created with.
  Settings settings() const {
    Settings list;
    for (const OpSupport& op : backend_instance(path_)->op_table()) list.push_back(op.name);
    return list;
  }
  const Plugin& plugin() const { return open_plugin(path_, ""); }
  std::string file(const std::string& options) const {
    return text(R"({"floatx": "float32", "kiln": {"backends": {")", path_, "\": {", options,
                "}}}}");
  }
  std::string ending() const { return text(" (backend tuned, ", path_, ")"); }

 private:
  Scratch scratch_;
  std::string path_;
};

template <class Fault>
std::string first_use(const Tuned& tuned) {
  return error_text<Fault>([&] { tuned.settings(); });
}

}  // namespace

TEST_CASE("options: of keras.json, by the path of a plugin", "[plugin]") {
  const Tuned tuned;
  const KerasHome home(tuned.file(R"("gain": 3, "mode": true)"));
  CHECK(tuned.settings() == Settings{"gain=3", "mode=true"});
}

TEST_CASE("options: those of another backend have no effect", "[plugin]") {
  const Tuned tuned;
  const KerasHome home(R"({"kiln": {"backends": {"tuned": {"gain": 3}, "cpu": {"gain": 4}}}})");
  CHECK(tuned.settings().empty());
}

TEST_CASE("options: a link to the plugin names it, too", "[plugin]") {
  const Tuned tuned;
  const Scratch scratch;
  std::filesystem::create_symlink(tuned.path(), scratch.path("link.so"));
  const KerasHome home(text(R"({"kiln": {"backends": {")", scratch.path("link.so"),
                            R"(": {"gain": 3}, "/no/such.so": {"gain": 4}}}})"));
  CHECK(tuned.settings() == Settings{"gain=3"});
}

TEST_CASE("options: the call overrides the environment, the environment the file", "[plugin]") {
  const EnvironmentVariable mode("KILN_TUNED_MODE", "environment");
  {
    const Tuned tuned;
    const KerasHome home(tuned.file(R"("gain": 3, "mode": "file")"));
    CHECK(tuned.settings() == Settings{"gain=3", "mode=environment"});
  }
  {
    const Tuned tuned;
    const KerasHome home(tuned.file(R"("gain": 3, "mode": "file")"));
    tuned.set({{"mode", "call"}});
    CHECK(tuned.settings() == Settings{"mode=call", "gain=3"});
  }
  mode.set("");
  const Tuned tuned;
  const KerasHome home(tuned.file(R"("mode": "file")"));
  CHECK(tuned.settings() == Settings{"mode=file"});
}

TEST_CASE("options: calls add up, and an empty value removes an earlier one", "[plugin]") {
  const Tuned tuned;
  const KerasHome home(tuned.file(R"("gain": 3, "mode": "")"));
  tuned.set({{"gain", "1"}});
  tuned.set({{"mode", "fast"}});
  tuned.set({{"gain", ""}});
  CHECK(tuned.settings() == Settings{"mode=fast", "gain=3"});
}

TEST_CASE("options: errors of the plugin name where each option comes from", "[plugin]") {
  const Tuned tuned;
  const KerasHome home(tuned.file(R"("gain": 12)"));
  const auto message = [&] { return home.without_path(first_use<ValueError>(tuned)); };
  CHECK(message() ==
        "gain is '12' but needs one digit; options: 'gain' = '12' (PATH)" + tuned.ending());
  CHECK(home.without_path(probe_configured(tuned.plugin()).reason) ==
        "gain is '12' but needs one digit; options: 'gain' = '12' (PATH)");
  tuned.set({{"speed", "high"}});
  CHECK(message() ==
        "tuned has no option speed; options: 'speed' = 'high' (set_backend_options), "
        "'gain' = '12' (PATH)" +
            tuned.ending());
  tuned.set({{"speed", ""}, {"gain", "4"}});
  CHECK(tuned.settings() == Settings{"gain=4"});
}

TEST_CASE("options: a keras.json that cannot be read is an error of the first use", "[plugin]") {
  const Tuned tuned;
  const KerasHome home(tuned.file(R"("gain": null)"));
  CHECK(home.without_path(first_use<ConfigError>(tuned)) ==
        "PATH has kiln.backends." + tuned.path() +
            ".gain as null, not a string, a number or a boolean");
  home.write(tuned.file(R"("gain": 5)"));
  CHECK(tuned.settings() == Settings{"gain=5"});
}

TEST_CASE("options: a keras.json matters only for what is not set otherwise", "[plugin]") {
  const EnvironmentVariable mode("KILN_TUNED_MODE", "slow");
  {
    const Tuned tuned;
    const KerasHome home(tuned.file(R"("gain": 3, "mode": [])"));
    CHECK(tuned.settings() == Settings{"gain=3", "mode=slow"});
  }
  for (const char* contents : {R"({"kiln": )", R"({"kiln": 3})", R"({"kiln": {"backends": []}})"}) {
    INFO(contents);
    const Tuned tuned;
    const KerasHome home(contents);
    CHECK_THAT(home.without_path(first_use<ConfigError>(tuned)),
               Catch::Matchers::StartsWith("PATH "));
    tuned.set({{"gain", "5"}});  // both options are set now
    CHECK(tuned.settings() == Settings{"gain=5", "mode=slow"});
  }
}

TEST_CASE("options: none are in a damaged file without Kiln's section; it is warned of",
          "[plugin]") {
  static std::vector<std::string> lines;
  lines.clear();
  const Tuned tuned;
  const KerasHome home(R"({"backend": "tensorflow", "floatx": )");
  set_log_sink([](LogLevel, std::string_view line) { lines.emplace_back(line); });
  CHECK(tuned.settings().empty());
  CHECK(tuned.settings().empty());
  set_log_sink(nullptr);
  CHECK(lines == Settings{text("kiln: warning: backend: ", home.path(),
                               " is malformed at line 1, column 37: invalid value; no options are "
                               "read from it")});
}

TEST_CASE("options: after the first use they stay as they are", "[plugin]") {
  const Tuned tuned;
  tuned.set({{"gain", "1"}});
  CHECK(tuned.settings() == Settings{"gain=1"});
  const auto error = [&](const std::map<std::string, std::string>& options) {
    return error_text<BackendError>([&] { tuned.set(options); });
  };
  const std::string in_use = "set_backend_options: backend " + tuned.path() +
                             " is in use already; set its options before its first use";
  CHECK(error({{"gain", "2"}}) == in_use);
  CHECK(error({{"mode", "fast"}}) == in_use);
  CHECK(error({{"gain", ""}}) == in_use);
  CHECK(error({{"gain", "1"}, {"mode", ""}}) == "no error");
  CHECK(error({}) == "no error");
  CHECK(tuned.settings() == Settings{"gain=1"});
}

TEST_CASE("options: a backend that cannot be loaded", "[plugin]") {
  CHECK(error_text<BackendError>([] { set_backend_options("/no/such.so", {}); }) ==
        "set_backend_options: backend plugin '/no/such.so' does not exist");
}

TEST_CASE("options: auto probes backends with their options", "[plugin]") {
  const Tuned tuned;
  const KerasHome home(tuned.file(R"("gain": "all")"));
  CHECK(probe_configured(tuned.plugin()).score == 0);
  tuned.set({{"gain", "7"}});
  CHECK(probe_configured(tuned.plugin()).details == Settings{"gain=7"});
}

TEST_CASE("options: variables are named after backend and option", "[plugin]") {
  CHECK(option_variable("cuda", "memory_limit") == "KILN_CUDA_MEMORY_LIMIT");
  CHECK(option_variable("my-gpu.2", "isa") == "KILN_MY_GPU_2_ISA");
  const Tuned tuned;
  const EnvironmentVariable mode("KILN_TUNED_MODE", "slow"), empty("KILN_TUNED_GAIN", "");
  const std::vector<GivenOption> variables = option_variables(tuned.plugin());
  REQUIRE(variables.size() == 1);
  CHECK(variables[0].name == "KILN_TUNED_MODE");
  CHECK(variables[0].value == "slow");
}

TEST_CASE("options: variables of unknown options are listed, in a warning of the first use",
          "[plugin]") {
  const Tuned tuned;
  CHECK(option_names(tuned.plugin()) == Settings{"gain", "mode"});
  CHECK(options_text(tuned.plugin()) == "tuned has the options gain, mode");
  const EnvironmentVariable mode("KILN_TUNED_MODE", "slow"), typo("KILN_TUNED_MODUS", "slow"),
      small("KILN_TUNED_gain", "1"), empty("KILN_TUNED_SPEED", "");
  const std::vector<GivenOption> unknown = unknown_variables(tuned.plugin());
  REQUIRE(unknown.size() == 2);
  CHECK(unknown[0].name == "KILN_TUNED_MODUS");
  CHECK(unknown[1].name == "KILN_TUNED_gain");
  static std::vector<std::string> lines;
  lines.clear();
  set_log_sink([](LogLevel, std::string_view line) { lines.emplace_back(line); });
  CHECK(tuned.settings() == Settings{"mode=slow"});
  CHECK(tuned.settings() == Settings{"mode=slow"});
  set_log_sink(nullptr);
  CHECK(lines == Settings{"kiln: warning: backend: KILN_TUNED_MODUS is ignored: tuned has the "
                          "options gain, mode",
                          "kiln: warning: backend: KILN_TUNED_gain is ignored: tuned has the "
                          "options gain, mode"});
}

TEST_CASE("options: a plugin that lists none has no unknown variables", "[plugin]") {
  const Plugin& adder = open_plugin(fake_path("adder"), "");
  const EnvironmentVariable typo("KILN_ADDER_SPEED", "high");
  CHECK_FALSE(option_names(adder).has_value());
  CHECK(unknown_variables(adder).empty());
}

TEST_CASE("options: a second instance can be created beside the first one", "[plugin]") {
  const Tuned tuned;
  tuned.set({{"gain", "2"}});
  const InstancePtr first = create_configured(tuned.plugin());
  CHECK(first->op_table()[0].name == "gain=2");
  CHECK(instance_of(tuned.plugin()) != first);
  const Tuned wrong;
  wrong.set({{"gain", "12"}});
  CHECK(error_text<ValueError>([&] { create_configured(wrong.plugin()); }) ==
        "gain is '12' but needs one digit; options: 'gain' = '12' (set_backend_options)" +
            wrong.ending());
}

TEST_CASE("options: threads set them while others use the backend", "[plugin][concurrency]") {
  for (int round = 0; round < 20; ++round) {
    const Tuned tuned;
    std::atomic<bool> starts{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        while (!starts) std::this_thread::yield();
        try {
          tuned.set({{"mode", "set"}, {"gain", std::to_string(i)}});
        } catch (const BackendError&) {
          return;  // another thread has used the backend before
        }
      });
    }
    std::vector<Settings> seen(2);
    for (Settings& one : seen) {
      threads.emplace_back([&] {
        while (!starts) std::this_thread::yield();
        one = tuned.settings();
      });
    }
    starts = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(seen[0] == seen[1]);
    CHECK(tuned.settings() == seen[0]);
    CHECK((seen[0].empty() || (seen[0].size() == 2 && seen[0][1] == "mode=set")));
  }
}
