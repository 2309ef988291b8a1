// A comparison as a condition, which would always hold.
// error: TensorHasNoTruthValue_UseSwitchOrEmpty
#include <kiln/k.h>

namespace K = kiln;

void if_greater(const K::Tensor& x, const K::Tensor& y) {
#ifdef WRONG
  if (x > y) return;
#else
  if (x.empty() || y.empty()) return;
#endif
}
