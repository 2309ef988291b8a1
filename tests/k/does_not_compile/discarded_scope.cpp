// A name scope that ends at once.
// error: unused-result
#include <kiln/k.h>

namespace K = kiln;

void discarded_scope() {
#ifdef WRONG
  K::name_scope("outer");
#else
  const auto scope = K::name_scope("outer");
#endif
}
