// Returns the text of errors, for tests that compare it.
#pragma once

#include <kiln/error.h>

#include <string>

// A call that must throw is made for its error: it may discard its result.
#pragma GCC diagnostic ignored "-Wunused-result"

namespace kiln::testing {

/// The text, without source line, of the `Expected` that `action` throws; "another class: TEXT" for
/// another Error, "no error" if it throws nothing.
template <class Expected, class Action>
std::string error_text(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    const bool is_expected = dynamic_cast<const Expected*>(&error) != nullptr;
    return (is_expected ? "" : "another class: ") + error.message();
  }
  return "no error";
}

/// The whole text, with its source line, of the Error that `action` throws; empty if it throws
/// nothing.
template <class Error, class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The message with the first occurrence of the path replaced by PATH.
inline std::string without_path(std::string message, const std::string& path) {
  const std::size_t at = message.find(path);
  return at == message.npos ? message : message.replace(at, path.size(), "PATH");
}

}  // namespace kiln::testing
