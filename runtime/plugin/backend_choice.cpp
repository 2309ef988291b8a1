// Precedence: the environment, keras.json, the default. Opens nothing.
#include "runtime/plugin/backend_choice.h"

#include "core/types/text.h"

#include <algorithm>
#include <iterator>

namespace kiln::runtime {
namespace {

constexpr std::string_view kPythonEngines[] = {"theano", "tensorflow", "cntk",    "jax",
                                               "torch",  "numpy",      "openvino"};

bool is_python_engine(std::string_view name) {
  return std::find(std::begin(kPythonEngines), std::end(kPythonEngines), name) !=
         std::end(kPythonEngines);
}

WantedBackend from(const std::string& value, const std::string& source) {
  if (!is_python_engine(value)) return {value, source, ""};
  const std::string why = text(source, " names an engine of Python Keras");
  return {std::string(kDefaultBackend), text("built-in default; ", why),
          text(why, "; using ", kDefaultBackend)};
}

}  // namespace

WantedBackend decide_backend(const BackendSources& sources) {
  if (!sources.environment.empty()) {
    return from(sources.environment, text("KERAS_BACKEND=", sources.environment));
  }
  if (!sources.file.empty()) {
    return from(sources.file, text("backend \"", sources.file, "\" in ", sources.file_path));
  }
  return {std::string(kDefaultBackend), "built-in default", ""};
}

}  // namespace kiln::runtime
