// A bool is no index.
// error: Index|operator\[\]
#include <kiln/k.h>

namespace K = kiln;

void index_is_bool(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(x[true]);
#else
  static_cast<void>(x[1]);
#endif
}
