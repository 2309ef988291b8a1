// A pointer is no number.
// error: operator\+
#include <kiln/k.h>

namespace K = kiln;

void operand_is_pointer(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(x + nullptr);
#else
  static_cast<void>(x + 0);
#endif
}
