// A bool is no axis.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void axis_is_bool(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::argmax(x, {.axis = true}));
#else
  static_cast<void>(K::argmax(x, {.axis = 1}));
#endif
}
