// The table of scopes, and the current scope of a thread, which is part of its current origin.
#include "core/ir/scope.h"

#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

namespace kiln::ir {
namespace {

struct Order {
  bool operator()(const Scope& a, const Scope& b) const {
    if (a.parent != b.parent) return std::less<>()(a.parent, b.parent);
    if (a.where.line != b.where.line) return a.where.line < b.where.line;
    if (const int names = a.name.compare(b.name)) return names < 0;
    return std::strcmp(a.where.file, b.where.file) < 0;
  }
};

constinit ForkMutex scopes_mutex;
KILN_AT_LOAD NoDestructor<std::set<Scope, Order>> scopes;  // origins point into it
[[maybe_unused]] const bool are_scopes_held = hold_at_fork<scopes_mutex>();

constexpr int kMaxCallers = 2;

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code < 0x20 || code == 0x7f;
}

}  // namespace

const Scope* intern_scope(const Scope& members) {
  const std::lock_guard lock(scopes_mutex);
  return &*scopes->insert(members).first;
}

std::size_t scope_depth(const Scope* scope) {
  std::size_t depth = 0;
  for (; scope != nullptr; scope = scope->parent) ++depth;
  return depth;
}

std::string scope_path(const Scope* scope) {
  std::string path;
  for (; scope != nullptr; scope = scope->parent) {
    path = path.empty() ? scope->name : scope->name + "/" + path;
  }
  return path;
}

bool same_place(const Origin& a, const Origin& b) {
  return a.scope == b.scope && same_origin(a, b);
}

std::string scope_text(const Origin& origin) {
  if (origin.scope == nullptr) return "";
  std::string callers;
  int count = 0;
  Where last = origin.where;
  for (const Scope* s = origin.scope; s != nullptr && count < kMaxCallers; s = s->parent) {
    const Where where = s->where;
    const bool is_last = where.line == last.line && std::strcmp(where.file, last.file) == 0;
    if (!where.known() || is_last) continue;
    callers += text(callers.empty() ? " (" : ", ", where.file, ":", where.line);
    last = where;
    ++count;
  }
  return " in " + scope_path(origin.scope) + callers + (callers.empty() ? "" : ")");
}

std::string source_text(const Origin& origin, std::string_view op) {
  std::string out(*origin.function == '\0' ? op : origin.function);
  if (origin.where.known()) out += text(" at ", origin.where.file, ":", origin.where.line);
  return out + scope_text(origin);
}

const Scope* inner_scope(const std::string& name, Where where) {
  const Origin now = current_origin();
  const auto reject = [&](const std::string& message) {
    throw ValueError(*now.function == '\0' ? "name_scope" : now.function, "name", message, where);
  };
  if (name.empty()) reject("name is empty");
  if (name.size() > kMaxScopeName) {
    reject(text("name has ", name.size(), " bytes, more than ", kMaxScopeName));
  }
  if (std::any_of(name.begin(), name.end(), is_control)) {
    reject("name has a control character");
  }
  if (scope_depth(now.scope) >= kMaxScopeDepth) {
    reject(text("more than ", kMaxScopeDepth, " name scopes are inside each other"));
  }
  return intern_scope({.name = name, .where = where, .parent = now.scope});
}

void enter_scope(const Scope* scope) {
  Origin origin = current_origin();
  origin.scope = scope;
  exchange_current_origin(origin);
}

void leave_scope() {
  const Scope* scope = current_origin().scope;
  if (scope != nullptr) enter_scope(scope->parent);
}

Origin origin_of_callback() {
  return {.where = {}, .function = "", .scope = current_origin().scope};
}

}  // namespace kiln::ir
