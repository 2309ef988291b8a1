// Equality as a condition, which would always hold.
// error: TensorHasNoTruthValue_UseSwitchOrEmpty
#include <kiln/k.h>

namespace K = kiln;

void if_equal(const K::Tensor& x, const K::Tensor& y) {
#ifdef WRONG
  if (x == y) return;
#else
  if (K::same_node(x, y)) return;
#endif
}
