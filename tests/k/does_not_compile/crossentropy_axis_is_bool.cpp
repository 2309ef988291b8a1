// The second option is an axis.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void crossentropy_axis_is_bool(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::categorical_crossentropy(x, x, {true, false}));
#else
  static_cast<void>(K::categorical_crossentropy(x, x, {true, -1}));
#endif
}
