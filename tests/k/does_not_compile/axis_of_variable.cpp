// A double is no axis, also that of a variable.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void axis_of_variable(const K::Tensor& x, double d) {
#ifdef WRONG
  static_cast<void>(K::softmax(x, {.axis = d}));
#else
  static_cast<void>(K::softmax(x, {.axis = static_cast<int>(d)}));
#endif
}
