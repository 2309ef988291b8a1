// Scopes: the names that name_scope() and layers give to parts of a program. The origin of a node
// has the innermost one.
#pragma once

#include "core/ir/origin.h"

#include <cstddef>
#include <set>
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
inline constexpr std::size_t kMaxScopes = 65536;  // of a process: at most about 30 MiB

/// A set of scopes. Not thread-safe.
class ScopeTable {
 public:
  explicit ScopeTable(std::size_t max_scopes) : max_scopes_(max_scopes) {}

  /// The scope with these members. A full table records no further ones: returns the scope around
  /// it, so that a process that makes up names for ever needs bounded memory.
  /// REQUIRES: fewer than kMaxScopeDepth scopes around it; its parent is of this table.
  const Scope* intern(const Scope& members);

 private:
  struct Order {
    bool operator()(const Scope& a, const Scope& b) const;
  };

  std::size_t max_scopes_;
  std::set<Scope, Order> scopes_;  // origins point into it
};

/// intern() of the table of the process, which holds kMaxScopes. Thread-safe.
const Scope* intern_scope(const Scope& members);
/// "is empty", "has 300 bytes, more than 255": the reason why no scope has this name; "" if one
/// can.
std::string scope_name_fault(std::string_view name);
/// The number of scopes from the outermost to this one; 0 for null.
std::size_t scope_depth(const Scope* scope);
/// The names from the outermost scope to this one, "encoder/layer_2/attention"; "" for null.
std::string scope_path(const Scope* scope);
/// same_origin() of origins in the same scope.
bool same_scoped_origin(const Origin& a, const Origin& b);
/// " in encoder/layer_2 (model.cpp:88, train.cpp:12)": the scope, and the last two lines that
/// entered it, as far as they are not the origin's; "" without a scope.
std::string scope_text(const Origin& origin);
/// "dot at model.cpp:45" and scope_text(). `op`: for an origin without a K function.
std::string source_text(const Origin& origin, std::string_view op);
/// " at model.cpp:45 in encoder/layer_2": the line and the path of the scope, as far as known.
std::string place_text(const Origin& origin);
/// "op div of log" and place_text(): the op, and the K function if its name is another one.
std::string op_text(const Origin& origin, std::string_view op);

/// The scope `name` inside this thread's current one, or the current one if the table is full.
/// Throws ValueError, of the running K function or else of name_scope, for a name that is empty,
/// longer than kMaxScopeName, not UTF-8 or has control characters, and for more than kMaxScopeDepth
/// scopes inside each other.
const Scope* inner_scope(const std::string& name, Where where);
/// Makes it the current scope of this thread, which nodes get that are made from now on. Returns
/// the one before.
const Scope* enter_scope(const Scope* scope);
/// Ends `scope` and the scopes inside it: makes `outer`, which enter_scope() returned, current.
/// Does nothing if `scope` has ended with a scope around it.
void leave_scope(const Scope* scope, const Scope* outer);
/// The origin outside of all K functions in the current scope: functions that the user passes to K
/// run with it, so that the K functions called there set their own function and line.
Origin origin_of_callback();

}  // namespace kiln::ir
