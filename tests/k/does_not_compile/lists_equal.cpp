// == of lists of tensors, which would hold for lists of equal length.
// error: TensorHasNoTruthValue_UseSwitchOrEmpty
#include <kiln/k.h>

#include <algorithm>
#include <vector>

namespace K = kiln;

void lists_equal(const std::vector<K::Tensor>& x, const std::vector<K::Tensor>& y) {
#ifdef WRONG
  static_cast<void>(x == y);
#else
  static_cast<void>(std::equal(x.begin(), x.end(), y.begin(), y.end(), K::same_node));
#endif
}
