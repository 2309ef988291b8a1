// Names of files become names that scopes can have.
#include "core/onnx/import/node_scope.h"

#include "core/ir/scope.h"
#include "core/types/escaped_text.h"

namespace kiln::onnx {
namespace {

/// Names of files may have more parts than scopes can nest: the last scope has the rest.
constexpr std::size_t kMaxDepth = ir::kMaxScopeDepth - 16;

/// A name that a scope can have: printable, at most kMaxScopeName bytes of whole characters.
std::string scope_name(std::string_view part) {
  const std::string printable = escaped_text(part);
  std::string name;
  for (std::string_view rest = printable; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (name.size() + length > ir::kMaxScopeName) break;
    name += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return name;
}

}  // namespace

NodeScope::NodeScope(const char* function, std::string_view name) : saved_(ir::current_origin()) {
  ir::Origin origin = saved_;
  if (function != nullptr) origin.function = function;
  while (!name.empty()) {
    const std::size_t depth = ir::scope_depth(origin.scope);
    if (depth >= kMaxDepth) break;
    const std::size_t end = depth + 1 == kMaxDepth ? name.npos : name.find('/');
    const std::string_view part = name.substr(0, end);
    name = end == name.npos ? std::string_view() : name.substr(end + 1);
    if (part.empty()) continue;
    origin.scope =
        ir::intern_scope({.name = scope_name(part), .where = {}, .parent = origin.scope});
  }
  ir::exchange_current_origin(origin);
}

}  // namespace kiln::onnx
