// Scenarios of weights, dumps, configuration and plugins, for file operations that fail.
#include "tests/process/fault_injection/scenario.h"
#include "tests/support/scratch.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace kiln;

namespace fault_injection {
namespace {

/// "" when the folder holds `file` alone, with the whole old or the whole new contents.
std::string problem_of(const std::string& folder, const std::string& file, const std::string& old,
                       const std::string& replaced, bool failed) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() != file) return "left " + entry.path().filename().string();
  }
  const std::string found = kiln::testing::contents_of(folder + "/" + file);
  if (found != replaced && !(failed && found == old)) return "the file is neither old nor new";
  return "";
}

/// `file`: its extension chooses the format.
Prepared saved_as(const Setup& setup, const std::string& file) {
  const Variable w = variable(Array::full({64, 4}, 0.25), {.name = "w"});
  const std::string path = setup.folder + "/" + file;
  set_value(w, Array::full({64, 4}, 2.0));
  save_weights(path, {w});
  const std::string replaced = kiln::testing::contents_of(path);
  set_value(w, Array::full({64, 4}, 0.25));
  save_weights(path, {w});
  const std::string old = kiln::testing::contents_of(path);
  set_value(w, Array::full({64, 4}, 2.0));
  return {[w, path] {
            save_weights(path, {w});
            return Values{.text = "saved"};
          },
          {w},
          [=, folder = setup.folder](bool failed) {
            return problem_of(folder, file, old, replaced, failed);
          }};
}

Prepared loaded_from(const Setup& setup, const std::string& file) {
  const Variable w = variable(Array::full({64, 4}, 0.25), {.name = "w"});
  const std::string path = setup.folder + "/" + file;
  save_weights(path, {w});
  set_value(w, Array::full({64, 4}, 9.0));
  return {[w, path] {
            load_weights(path, {w});
            return Values{.text = "loaded"};
          },
          {w}};
}

Prepared saved(const Setup& setup) { return saved_as(setup, "weights"); }
Prepared loaded(const Setup& setup) { return loaded_from(setup, "weights"); }
#ifdef KILN_HAS_HDF5  // not for failing allocations, after which HDF5 may crash
Prepared saved_hdf5(const Setup& setup) { return saved_as(setup, "weights.h5"); }
Prepared loaded_hdf5(const Setup& setup) { return loaded_from(setup, "weights.h5"); }
#endif

Prepared dumped(const Setup& setup) {
  const Tensor x = placeholder({.shape = {None, 3}, .name = "x"});
  const Function f = function({x}, {tanh(x) * 2.0}, {.backend = setup.backend});
  const Stage stages = Stage::Graph | Stage::Module | Stage::Plan;
  f.dump(setup.folder + "/expected", stages);
  return {[f, stages, folder = setup.folder] {
            f.dump(folder + "/dump", stages);
            return Values{.text = "dumped"};
          },
          {},
          [folder = setup.folder](bool failed) -> std::string {
            for (const char* file : {"/00-user.kir", "/40-module.kir", "/40-module.kirb"}) {
              const auto written = [&](const char* at) {
                return kiln::testing::contents_of(folder + at + file);
              };
              if (!failed && written("/dump") != written("/expected")) {
                return std::string("not all of ") + file + " was written";
              }
            }
            return "";
          }};
}

void configure(const Setup& setup, const std::string& contents) {
  std::ofstream(setup.folder + "/keras.json") << contents;
  ::setenv("KERAS_HOME", setup.folder.c_str(), 1);
  ::unsetenv("KERAS_BACKEND");
}

Prepared configured(const Setup& setup) {
  configure(setup, R"({"floatx": "float64", "epsilon": 1e-05,
                       "kiln": {"backends": {"other": {"device": 1, "level": "a long value"}}}})");
  return {[] { return Values{{Array(epsilon())}, floatx()}; }};
}
Prepared plugin_loaded(const Setup& setup) {
  configure(setup, "{}");
  return {[name = setup.backend] { return Values{.text = load_backend(name)}; }};
}

}  // namespace

const std::vector<Scenario>& file_scenarios() {
  static const std::vector<Scenario> scenarios{
      {"save over a file", saved},
      {"load a file", loaded},
      {"dump to a folder", dumped},
      {"read the configuration", configured, true},
      {"find and load a plugin", plugin_loaded, true},
#ifdef KILN_HAS_HDF5
      {"save over an HDF5 file", saved_hdf5},
      {"load an HDF5 file", loaded_hdf5},
#endif
  };
  return scenarios;
}

}  // namespace fault_injection
