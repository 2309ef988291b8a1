// The padding of the other side would be 1.
// error: Sides|TemporalPaddingOptions
#include <kiln/k.h>

namespace K = kiln;

void padding_of_one_side(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::temporal_padding(x, {.padding = {2}}));
#else
  static_cast<void>(K::temporal_padding(x, {.padding = {2, 0}}));
#endif
}
