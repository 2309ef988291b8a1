// A tensor that is made and not used.
// error: unused-result
#include <kiln/k.h>

namespace K = kiln;

void discarded_tensor(const K::Tensor& x) {
#ifdef WRONG
  K::dropout(x, 0.5);
#else
  const K::Tensor y = K::dropout(x, 0.5);
  static_cast<void>(y);
#endif
}
