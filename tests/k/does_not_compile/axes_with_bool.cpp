// A bool is no axis in a list.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void axes_with_bool(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::sum(x, {.axis = {0, true}}));
#else
  static_cast<void>(K::sum(x, {.axis = {0, 1}}));
#endif
}
