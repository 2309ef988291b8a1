// Gradients that are taken and not used.
// error: unused-result
#include <kiln/k.h>

namespace K = kiln;

void discarded_gradients(const K::Tensor& x) {
#ifdef WRONG
  K::gradients(K::sum(x), {x});
#else
  static_cast<void>(K::gradients(K::sum(x), {x}));
#endif
}
