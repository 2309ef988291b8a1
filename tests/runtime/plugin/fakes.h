// Paths of the fake plugins, and helpers that call them.
#pragma once

#include <kiln/dtype.h>
#include <kiln/error.h>

#include "core/types/text.h"
#include "runtime/plugin/backend_choice.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/plugin/plugin.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"

#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// The absolute path of the plugin built from tests/runtime/plugin/fakes/<stem>.cpp.
inline std::string fake_path(std::string_view stem) {
  std::string path;
  for (const std::string& folder : plugin_directories()) {
    path = text(folder, "/fakes/libkiln_", stem, ".so");
    if (::access(path.c_str(), R_OK) == 0) break;
  }
  return path;
}

using kiln::testing::error_text;

/// Sets or unsets KERAS_BACKEND for a scope, and forgets the choice before and after.
class KerasBackend {
 public:
  explicit KerasBackend(const std::optional<std::string>& value)
      : variable_("KERAS_BACKEND", value) {
    forget_backend_choice();
  }
  ~KerasBackend() { forget_backend_choice(); }

 private:
  kiln::testing::EnvironmentVariable variable_;
};

inline Bytes bytes_of_text(std::string_view module) { return std::as_bytes(std::span(module)); }

inline InstancePtr adder() { return backend_instance(fake_path("adder")); }

inline Executable compile_text(const InstancePtr& instance, std::string_view module,
                               std::vector<Bytes> constants = {}) {
  CompileRequest request;
  request.module = bytes_of_text(module);
  request.constants = std::move(constants);
  request.label = "program";
  request.function = "function";
  return instance->compile(request);
}

inline Buffer floats(const InstancePtr& instance, const std::vector<float>& values) {
  const std::int64_t dims[] = {static_cast<std::int64_t>(values.size())};
  return instance->import_copy(values.data(), DType::Float32, dims);
}

inline std::vector<float> values_of(const Buffer& buffer) {
  std::vector<float> values(buffer.bytes() / sizeof(float));
  buffer.copy_to_host(std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace kiln::runtime
