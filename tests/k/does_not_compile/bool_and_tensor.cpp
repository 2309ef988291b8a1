// && of a bool and a tensor, which would not skip the tensor.
// error: TensorHasNoTruthValue_UseSwitchOrEmpty
#include <kiln/k.h>

namespace K = kiln;

void bool_and_tensor(bool flag, const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(flag && (x > 0));
#else
  static_cast<void>(K::logical_and(flag, x > 0));
#endif
}
