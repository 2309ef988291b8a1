// An element of a tensor is a new tensor: assigning to it changes nothing.
// error: operator=|discards|overloaded
#include <kiln/k.h>

namespace K = kiln;

void assigned_element(K::Tensor w) {
#ifdef WRONG
  w[0] = K::zeros({});
#else
  w = K::zeros({});
#endif
}
