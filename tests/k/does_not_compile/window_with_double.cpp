// A window has whole sizes, also those of variables.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void window_with_double(const K::Tensor& x, double d) {
#ifdef WRONG
  static_cast<void>(K::pool2d(x, {2, d}));
#else
  static_cast<void>(K::pool2d(x, {2, static_cast<int>(d)}));
#endif
}
