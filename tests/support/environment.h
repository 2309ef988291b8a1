// Sets a variable of the environment for a scope.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace kiln::testing {

/// Restores the earlier value at its end.
class EnvironmentVariable {
 public:
  explicit EnvironmentVariable(std::string name) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
  }
  EnvironmentVariable(std::string name, const std::optional<std::string>& value)
      : EnvironmentVariable(std::move(name)) {
    set(value);
  }
  ~EnvironmentVariable() { set(before_); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

  /// No value: unsets the variable.
  void set(const std::optional<std::string>& value) const {
    value ? ::setenv(name_.c_str(), value->c_str(), 1) : ::unsetenv(name_.c_str());
  }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace kiln::testing
