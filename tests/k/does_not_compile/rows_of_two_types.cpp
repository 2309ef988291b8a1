// Rows of different types: the second row is not the dims.
// error: RowOfAnotherType
#include <kiln/k.h>

namespace K = kiln;

void rows_of_two_types() {
#ifdef WRONG
  const K::Array y{{1.5f, 2.5f}, {1, 2}};
#else
  const K::Array y{{1.5f, 2.5f}, {1.f, 2.f}};
#endif
}
