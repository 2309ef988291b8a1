// The scopes of functions that are composed of K functions, and of layers.
#include <kiln/call_scope.h>
#include <kiln/named_call.h>

#include "core/ir/scope.h"
#include "core/k/base/call.h"

namespace kiln {

NamedCall::NamedCall(const char* function, Where where) {
  const ir::Origin outer = ir::current_origin();
  outer_where_ = outer.where;
  outer_function_ = outer.function;
  if (*outer.function == '\0') ir::exchange_current_origin({where, function, outer.scope});
}

NamedCall::~NamedCall() {
  ir::exchange_current_origin({outer_where_, outer_function_, ir::current_origin().scope});
}

void NamedCall::out_of_memory(const char* function, Where where) {
  Call::out_of_memory(function, where);
}

CallScope::CallScope(const StringArgument& name, Where where) {
  scope_ = translate_exceptions("name_scope", where, [&] { return ir::inner_scope(name, where); });
  outer_ = ir::enter_scope(scope_);
}

CallScope::~CallScope() { ir::leave_scope(scope_, outer_); }

}  // namespace kiln
