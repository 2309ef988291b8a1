// An axis is a whole number.
// error: AxisOptions|Axes
#include <kiln/k.h>

namespace K = kiln;

void axis_with_fraction(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::sum(x, {.axis = 1.5}));
#else
  static_cast<void>(K::sum(x, {.axis = 1}));
#endif
}
