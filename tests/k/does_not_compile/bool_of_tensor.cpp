// A bool of a tensor.
// error: TensorHasNoTruthValue_UseSwitchOrEmpty
#include <kiln/k.h>

namespace K = kiln;

void bool_of_tensor(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(static_cast<bool>(x));
#else
  static_cast<void>(K::cast(x, "bool"));
#endif
}
