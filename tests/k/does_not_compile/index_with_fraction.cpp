// An index is a whole number.
// error: Index|operator\[\]
#include <kiln/k.h>

namespace K = kiln;

void index_with_fraction(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(x[0.5]);
#else
  static_cast<void>(x[0]);
#endif
}
