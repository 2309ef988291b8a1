// A permutation is a list of axes.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void permutation_of_bools(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(K::permute_dimensions(x, {true, false}));
#else
  static_cast<void>(K::permute_dimensions(x, {1, 0}));
#endif
}
