// A bound of a slice is a whole number.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void bound_with_fraction(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(x.slice(0.5, {}));
#else
  static_cast<void>(x.slice(0, {}));
#endif
}
