// The text of an error that a test wants.
#pragma once

#include <kiln/error.h>

#include <string>

namespace kiln::testing {

/// The text, without place, of the error of that class that `action` throws; else what happened.
template <class Expected, class Action>
std::string error_text(const Action& action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.message();
  } catch (const Error& error) {
    return "another class: " + error.message();
  }
  return "no error";
}

}  // namespace kiln::testing
