// CallScope: the name scope of a layer's call.
#pragma once

#include <kiln/export.h>
#include <kiln/string_argument.h>
#include <kiln/where.h>

namespace kiln {

namespace ir {
struct Scope;  // core/ir/scope.h
}

/// The scope of one call of a layer: dumps and timings show the nodes that are made during it under
/// `name`, within the name scopes of this thread. Unlike name_scope(), it leaves the names of
/// variables and placeholders alone: a layer names its own.
class KILN_API CallScope {
 public:
  /// Errors: those of NameScope.
  [[nodiscard]] explicit CallScope(const StringArgument& name, Where where = Where::here());
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  const ir::Scope *scope_, *outer_;
};

}  // namespace kiln
