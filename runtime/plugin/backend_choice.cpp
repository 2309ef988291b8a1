// Precedence: Kiln's own settings, those shared with Python Keras, the default. Opens nothing.
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

WantedBackend from_shared(const std::string& value, const std::string& source) {
  if (!is_python_engine(value)) return {value, source};
  const std::string why = text(source, " names an engine of Python Keras");
  return {std::string(kDefaultBackend), text("built-in default; ", why),
          text(why, "; using ", kDefaultBackend)};
}

}  // namespace

WantedBackend decide_backend(const BackendSources& sources) {
  const auto of_file = [&](const char* key, const std::string& value) {
    return text(key, " \"", value, "\" in ", sources.file_path);
  };
  if (!sources.own_environment.empty()) {
    return {sources.own_environment, text("KILN_BACKEND=", sources.own_environment)};
  }
  if (!sources.own_file.empty()) {
    return {sources.own_file, of_file("kiln.backend", sources.own_file)};
  }
  if (!sources.environment.empty()) {
    return from_shared(sources.environment, text("KERAS_BACKEND=", sources.environment));
  }
  if (!sources.file.empty()) return from_shared(sources.file, of_file("backend", sources.file));
  return {std::string(kDefaultBackend), "built-in default"};
}

}  // namespace kiln::runtime
