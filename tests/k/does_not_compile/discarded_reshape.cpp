// Array::reshape returns another Array.
// error: unused-result
#include <kiln/k.h>

namespace K = kiln;

void discarded_reshape(K::Array& x) {
#ifdef WRONG
  x.reshape({1});
#else
  x = x.reshape({1});
#endif
}
