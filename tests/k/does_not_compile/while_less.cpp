// A comparison as the condition of a loop.
// error: TensorHasNoTruthValue_UseSwitchOrEmpty
#include <kiln/k.h>

namespace K = kiln;

void while_less(const K::Tensor& x, const K::Tensor& y) {
#ifdef WRONG
  while (x < y) return;
#else
  while (!x.empty() && y.empty()) return;
#endif
}
