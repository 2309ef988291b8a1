// A window is a list of sizes.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void window_of_bools(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::pool2d(x, {true, true}));
#else
  static_cast<void>(K::pool2d(x, {1, 1}));
#endif
}
