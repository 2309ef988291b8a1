// A private KERAS_HOME for one test; the environment is put back at its end and the configuration
// of the process forgotten at both.
#pragma once

#include "core/kiln/context_state.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace kiln::testing {

class KerasHome {
 public:
  KerasHome() : keras_home_(get("KERAS_HOME")), home_(get("HOME")) {
    std::string pattern = (std::filesystem::temp_directory_path() / "kiln-home-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
    ::setenv("KERAS_HOME", folder_.c_str(), 1);
    forget_configuration();
  }
  explicit KerasHome(const std::string& contents) : KerasHome() { write(contents); }
  ~KerasHome() {
    put("KERAS_HOME", keras_home_);
    put("HOME", home_);
    forget_configuration();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  KerasHome(const KerasHome&) = delete;
  KerasHome& operator=(const KerasHome&) = delete;

  const std::string& folder() const { return folder_; }
  std::string path() const { return folder_ + "/keras.json"; }
  void write(const std::string& contents) const {
    std::filesystem::remove(path());
    std::ofstream(path(), std::ios::binary) << contents;
  }
  /// The path in a message replaced by PATH.
  std::string without_path(std::string message) const {
    const std::size_t at = message.find(path());
    return at == message.npos ? message : message.replace(at, path().size(), "PATH");
  }

 private:
  static std::optional<std::string> get(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  }
  static void put(const char* name, const std::optional<std::string>& value) {
    value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }

  std::optional<std::string> keras_home_, home_;
  std::string folder_;
};

}  // namespace kiln::testing
