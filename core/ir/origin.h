// Origin: the K function, source line and name scope that made a node. Errors are attributed to it.
#pragma once

#include <kiln/where.h>

namespace kiln::ir {

struct Scope;  // core/ir/scope.h

struct Origin {
  Where where;
  const char* function = "";  // the K function; static storage
  const Scope* scope = nullptr;  // the innermost name scope; never freed
};
/// Whether line, file and function are equal as text; the scope is not compared.
bool same_origin(const Origin& a, const Origin& b);

/// Sets the origin of this thread for its scope: nodes made in it get the origin, errors name it.
/// The outermost scope wins, so that of nested K functions the one the user called is named;
/// `replace` overrides it, as passes do that replace a node.
class OriginScope {
 public:
  explicit OriginScope(Origin origin, bool replace = false);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  Origin saved_;
};
/// The current origin of this thread; empty outside any scope.
Origin current_origin();
/// Sets the current origin of this thread, for scopes that keep the one before; returns that.
Origin exchange_current_origin(Origin origin);

}  // namespace kiln::ir
