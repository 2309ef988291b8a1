// A reference to an element of a temporary list.
// error: lvalue reference
#include <kiln/k.h>

namespace K = kiln;

void reference_to_result(const K::Function& f) {
#ifdef WRONG
  auto& y = f()[0];
#else
  const auto& y = f()[0];
#endif
}
