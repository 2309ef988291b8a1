// A tensor does not choose between values while the graph is built.
// error: TensorHasNoTruthValue_UseSwitchOrEmpty
#include <kiln/k.h>

namespace K = kiln;

void conditional(const K::Tensor& x, const K::Tensor& y) {
#ifdef WRONG
  static_cast<void>((x > y) ? x : y);
#else
  static_cast<void>(K::switch_(x > y, x, y));
#endif
}
