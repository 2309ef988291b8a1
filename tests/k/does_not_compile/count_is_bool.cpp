// A bool is no count.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void count_is_bool(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::repeat(x, true));
#else
  static_cast<void>(K::repeat(x, 1));
#endif
}
