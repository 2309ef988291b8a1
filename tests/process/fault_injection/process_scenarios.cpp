// Scenarios of a process's first steps: reading its configuration, opening plugins.
#include "tests/process/fault_injection/scenario.h"

#include <cstdlib>
#include <fstream>

using namespace kiln;

namespace fault_injection {
namespace {

/// Gives the process this keras.json.
void configure(const Setup& setup, const std::string& contents) {
  std::ofstream(setup.folder + "/keras.json") << contents;
  ::setenv("KERAS_HOME", setup.folder.c_str(), 1);
  ::unsetenv("KERAS_BACKEND");
}

Prepared configured(const Setup& setup) {
  configure(setup, R"({"floatx": "float64", "epsilon": 1e-05, "backend": "reference",)"
                   R"( "image_data_format": "channels_first", "unknown": [1, {"a": "b"}]})");
  return {[] {
    return Values{{Array(epsilon())}, floatx() + " " + image_data_format() + " " + backend()};
  }};
}

Prepared configured_badly(const Setup& setup) {
  configure(setup, R"({"floatx": "float63"})");
  return {[] {
    try {
      return Values{.text = floatx()};
    } catch (const ConfigError& error) {
      return Values{.text = error.argument()};
    }
  }};
}

Prepared malformed(const Setup& setup) {
  configure(setup, R"({"floatx": )");
  return {[] {
    try {
      return Values{.text = floatx()};
    } catch (const ConfigError& error) {
      return Values{.text = error.argument()};
    }
  }};
}

Prepared plugin_loaded(const Setup& setup) {
  configure(setup, "{}");
  return {[name = setup.backend] { return Values{.text = load_backend(name)}; }};
}
Prepared options_set(const Setup& setup) {
  configure(setup, "{}");
  return {[name = setup.backend] {
    set_backend_options(name, {{"an option that is taken back at once", ""}});
    return Values{.text = "set"};
  }};
}
Prepared plugin_chosen(const Setup& setup) {
  configure(setup, "{}");
  return {[name = setup.backend] {
    set_backend(name);
    const BackendChoice choice = backend_choice();
    return Values{.text = choice.name + " by " + choice.reason};
  }};
}
Prepared plugin_missing(const Setup& setup) {
  configure(setup, "{}");
  return {[] {
    try {
      return Values{.text = load_backend("refrence")};
    } catch (const BackendError& error) {
      return Values{.text = error.function()};
    }
  }};
}
Prepared plugins_listed(const Setup& setup) {
  configure(setup, "{}");
  return {[] {
    Values values;
    for (const BackendDescription& one : list_backends()) values.text += one.name + one.rejection;
    return values;
  }};
}
Prepared all_at_once(const Setup& setup) {
  configure(setup, R"({"backend": "reference"})");
  return {[] { return Values{{eval(constant({1., 2.}) + 1.0)}}; }};
}

}  // namespace

const std::vector<Scenario>& process_scenarios() {
  static const std::vector<Scenario> scenarios{
      {"read the configuration", configured, true},
      {"describe a wrong configuration", configured_badly, true},
      {"describe a malformed configuration", malformed, true},
      {"load a plugin", plugin_loaded, true},
      {"set options of a plugin", options_set, true},
      {"choose a plugin", plugin_chosen, true},
      {"describe a missing plugin", plugin_missing, true},
      {"list plugins", plugins_listed, true},
      {"evaluate in a fresh process", all_at_once, true},
  };
  return scenarios;
}

}  // namespace fault_injection
