// The negation of a tensor is a tensor: empty() tells whether there is one.
// error: TensorHasNoTruthValue_UseSwitchOrEmpty
#include <kiln/k.h>

namespace K = kiln;

void if_not(const K::Tensor& x) {
#ifdef WRONG
  if (!x) return;
#else
  if (x.empty()) return;
#endif
}
