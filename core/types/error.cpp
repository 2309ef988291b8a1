// Defines the key functions of the exception classes, so that one copy of each typeinfo exists and
// plugins and programs catch by type.
#include <kiln/error.h>

#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <new>
#include <utility>

namespace kiln {
namespace {

/// Escapes the text: it quotes names, paths and texts from outside, and what() ends at a zero byte.
std::string join(const std::string& function, const std::string& message) {
  return escaped_lines(function.empty() ? message : function + ": " + message);
}

std::string with_line(const std::string& message, Where where) {
  return where.known() ? text(message, " [", where.file, ":", where.line, "]") : message;
}

}  // namespace

Error::Error(std::string function, std::string argument, std::string message, Where where)
    : std::runtime_error(""),
      function_(std::move(function)),
      argument_(std::move(argument)),
      message_(join(function_, message)),
      text_(with_line(message_, where)),
      where_(where) {}

void Error::set_where(Where where) {
  if (where_.known()) return;
  where_ = where;
  try {
    text_ = with_line(message_, where);
  } catch (const std::bad_alloc&) {
    // The exception that is being handled says more: its text stays without the line.
  }
}

Error::~Error() = default;
ValueError::~ValueError() = default;
TypeError::~TypeError() = default;
FloatingPointError::~FloatingPointError() = default;
NotImplementedError::~NotImplementedError() = default;
ConfigError::~ConfigError() = default;
BackendError::~BackendError() = default;
IoError::~IoError() = default;
OutOfMemory::~OutOfMemory() = default;
InternalError::~InternalError() = default;

}  // namespace kiln
