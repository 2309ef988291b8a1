// A null pointer is no name of a scope.
// error: StringArgument
#include <kiln/k.h>

namespace K = kiln;

void scope_is_zero() {
#ifdef WRONG
  const auto scope = K::name_scope(0);
#else
  const auto scope = K::name_scope("outer");
#endif
}
