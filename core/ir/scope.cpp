// The table of scopes, and the current scope of a thread, which is part of its current origin.
#include "core/ir/scope.h"

#include "core/types/escaped_text.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>

namespace kiln::ir {
namespace {

constinit ForkMutex scopes_mutex;
KILN_AT_LOAD NoDestructor<ScopeTable> scopes(kMaxScopes);
[[maybe_unused]] const bool are_scopes_held = hold_at_fork<scopes_mutex>();

constexpr int kMaxCallers = 2;

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code < 0x20 || code == 0x7f;
}

std::string line_text(Where where) {
  return where.known() ? text(" at ", where.file, ":", where.line) : "";
}

}  // namespace

bool ScopeTable::Order::operator()(const Scope& a, const Scope& b) const {
  if (a.parent != b.parent) return std::less<>()(a.parent, b.parent);
  if (a.where.line != b.where.line) return a.where.line < b.where.line;
  if (const int names = a.name.compare(b.name)) return names < 0;
  return std::strcmp(a.where.file, b.where.file) < 0;
}

const Scope* ScopeTable::intern(const Scope& members) {
  if (scopes_.size() < max_scopes_) return &*scopes_.insert(members).first;
  const auto found = scopes_.find(members);
  return found == scopes_.end() ? members.parent : &*found;
}

const Scope* intern_scope(const Scope& members) {
  const std::lock_guard lock(scopes_mutex);
  return scopes->intern(members);
}

std::string scope_name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxScopeName) {
    return text("has ", name.size(), " bytes, more than ", kMaxScopeName);
  }
  if (std::any_of(name.begin(), name.end(), is_control)) return "has a control character";
  return is_utf8(name) ? "" : "is not UTF-8";
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

bool same_scoped_origin(const Origin& a, const Origin& b) {
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
  return out + line_text(origin.where) + scope_text(origin);
}

std::string place_text(const Origin& origin) {
  const std::string scope = scope_path(origin.scope);
  return line_text(origin.where) + (scope.empty() ? "" : " in " + scope);
}

std::string op_text(const Origin& origin, std::string_view op) {
  const bool is_named = *origin.function == '\0' || origin.function == op;
  return text("op ", op, is_named ? "" : " of ", is_named ? "" : origin.function,
              place_text(origin));
}

const Scope* inner_scope(const std::string& name, Where where) {
  const Origin now = current_origin();
  const auto reject = [&](const std::string& message) {
    throw ValueError(*now.function == '\0' ? "name_scope" : now.function, "name", message, where);
  };
  const std::string fault = scope_name_fault(name);
  if (!fault.empty()) reject("name " + fault);
  if (scope_depth(now.scope) >= kMaxScopeDepth) {
    reject(text("more than ", kMaxScopeDepth, " name scopes are inside each other"));
  }
  return intern_scope({.name = name, .where = where, .parent = now.scope});
}

const Scope* enter_scope(const Scope* scope) {
  Origin origin = current_origin();
  origin.scope = scope;
  return exchange_current_origin(origin).scope;
}

void leave_scope(const Scope* scope, const Scope* outer) {
  for (const Scope* open = current_origin().scope; open != nullptr; open = open->parent) {
    if (open == scope) return void(enter_scope(outer));
  }
}

Origin origin_of_callback() {
  return {.where = {}, .function = "", .scope = current_origin().scope};
}

}  // namespace kiln::ir
