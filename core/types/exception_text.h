// The text of an exception of any type, for messages that quote it.
#pragma once

#include "core/types/escaped_text.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace kiln {

/// The escaped text of `error`, never empty. Exceptions of the standard library whose texts name
/// its own functions ("basic_string::_M_create") have a description instead.
inline std::string exception_text(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return "no memory";
  if (dynamic_cast<const std::length_error*>(&error)) {
    return "no memory: more elements than a container can hold";
  }
  std::string text = escaped_text(error.what());
  return text.empty() ? "an exception without a text" : text;
}

}  // namespace kiln
