// Rows of different types in an argument.
// error: RowOfAnotherType
#include <kiln/k.h>

namespace K = kiln;

void constant_rows_of_two_types() {
#ifdef WRONG
  static_cast<void>(K::constant({{0.5}, {1}}));
#else
  static_cast<void>(K::constant({{0.5}, {1.}}));
#endif
}
