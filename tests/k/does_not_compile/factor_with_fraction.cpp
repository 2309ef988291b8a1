// A factor is a whole number.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void factor_with_fraction(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::resize_images(x, 1.5, 1.5, "channels_last"));
#else
  static_cast<void>(K::resize_images(x, 2, 2, "channels_last"));
#endif
}
