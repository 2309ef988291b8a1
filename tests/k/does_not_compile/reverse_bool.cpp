// A bool is no axis to reverse.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void reverse_bool(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::reverse(x, {true}));
#else
  static_cast<void>(K::reverse(x, {1}));
#endif
}
