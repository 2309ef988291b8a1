// || of a tensor and a bool, which would not skip the bool.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void tensor_or_bool(bool flag, const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>((x > 0) || flag);
#else
  static_cast<void>(K::logical_or(x > 0, flag));
#endif
}
