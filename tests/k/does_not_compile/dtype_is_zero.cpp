// A null pointer is no name of a dtype.
// error: DTypeArgument
#include <kiln/k.h>

namespace K = kiln;

void dtype_is_zero(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::cast(x, 0));
#else
  static_cast<void>(K::cast(x, "int32"));
#endif
}
