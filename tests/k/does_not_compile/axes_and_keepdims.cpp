// The 1 would be `keepdims`.
// error: AxisOptions|Flag
#include <kiln/k.h>

namespace K = kiln;

void axes_and_keepdims(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::sum(x, {0, 1}));
#else
  static_cast<void>(K::sum(x, {.axis = {0, 1}}));
#endif
}
