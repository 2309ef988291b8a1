// A stride is a whole number.
// error: Steps
#include <kiln/k.h>

namespace K = kiln;

void stride_with_fraction(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::pool2d(x, 2, {.strides = 1.5}));
#else
  static_cast<void>(K::pool2d(x, 2, {.strides = 1}));
#endif
}
