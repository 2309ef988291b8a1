// CallScope: the name scope of a layer's call.
#pragma once

#include <kiln/export.h>
#include <kiln/string_argument.h>
#include <kiln/where.h>

namespace kiln {

/// The scope of one call of a layer: dumps and timings show the nodes that are made during it under
/// `name`, within the name scopes of this thread. Unlike name_scope(), it leaves the names of
/// variables and placeholders alone: a layer names its own.
class KILN_API CallScope {
 public:
  /// Errors: ValueError for a name that is empty or longer than 255 bytes or has control
  /// characters, and for more than 64 scopes inside each other.
  [[nodiscard]] explicit CallScope(const StringArgument& name, Where where = Where::here());
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
};

}  // namespace kiln
