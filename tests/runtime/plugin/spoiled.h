// Controls fakes/spoiled.cpp, which reads from KILN_TEST_SPOILED the one thing to do wrong (see
// spoil.h).
#pragma once

#include "core/types/no_destructor.h"
#include "tests/support/environment.h"
#include "tests/runtime/plugin/fakes.h"

#include <string>
#include <vector>

namespace kiln::test {

/// Sets the fault for a scope.
class Spoiled {
 public:
  explicit Spoiled(const std::string& fault) : variable_("KILN_TEST_SPOILED", fault) {}

 private:
  testing::EnvironmentVariable variable_;
};

/// The message of the BackendError that `action` throws.
template <class Action>
std::string backend_error(const Action& action) {
  return testing::error_text<BackendError>(action);
}

/// The end of the plugin's messages.
inline std::string spoiled_suffix() {
  return text(" (backend spoiled, ", runtime::fake_path("spoiled"), ")");
}

/// The ways in which spoil::text spoils a text.
inline const std::vector<std::string>& text_faults() {
  static const NoDestructor<std::vector<std::string>> all(
      std::vector<std::string>{"null", "absurd", "long", "utf8", "overlong", "surrogate", "cut"});
  return *all;
}

/// The ways in which spoil::array spoils an array.
inline const std::vector<std::string>& array_faults() {
  static const NoDestructor<std::vector<std::string>> all(std::vector<std::string>{
      "null", "absurd", "stride", "wide", "uneven", "odd", "no_size", "size", "overlap", "ring"});
  return *all;
}

}  // namespace kiln::test
