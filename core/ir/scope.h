// Scopes: the names that name_scope() and layers give to parts of a program. The origin of a node
// has the innermost one.
#pragma once

#include "core/ir/origin.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::ir {

/// Scopes of equal members are one object, which is never freed.
struct Scope {
  std::string name;
  Where where;  // the line that enters the scope
  const Scope* parent = nullptr;  // the scope around it; null for none
};
inline constexpr std::size_t kMaxScopeDepth = 64;
inline constexpr std::size_t kMaxScopeName = 255;  // bytes

/// The scope with these members. REQUIRES: fewer than kMaxScopeDepth scopes around it.
/// Thread-safe.
const Scope* intern_scope(const Scope& members);
/// The number of scopes from the outermost to this one; 0 for null.
std::size_t scope_depth(const Scope* scope);
/// The names from the outermost scope to this one, "encoder/layer_2/attention"; "" for null.
std::string scope_path(const Scope* scope);
/// same_origin() of origins in the same scope.
bool same_place(const Origin& a, const Origin& b);
/// " in encoder/layer_2 (model.cpp:88, train.cpp:12)": the scope, and the last two lines that
/// entered it, as far as they are not the origin's; "" without a scope.
std::string scope_text(const Origin& origin);
/// "dot at model.cpp:45" and scope_text(). `op`: for an origin without a K function.
std::string source_text(const Origin& origin, std::string_view op);

/// The scope `name` inside this thread's current one. Throws ValueError, of the running K function
/// or else of name_scope, for a name that is empty, longer than kMaxScopeName or has control
/// characters, and for more than kMaxScopeDepth scopes inside each other.
const Scope* inner_scope(const std::string& name, Where where);
/// Makes it the current scope of this thread, which nodes get that are made from now on.
void enter_scope(const Scope* scope);
/// Makes the scope around the current one current.
void leave_scope();
/// The origin outside of all K functions in the current scope: functions that the user passes to K
/// run with it, so that the K functions called there set their own function and line.
Origin origin_of_callback();

}  // namespace kiln::ir
