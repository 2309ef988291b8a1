// The address of the elements of a temporary.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void data_of_result(const K::Function& f) {
#ifdef WRONG
  const void* const y = f()[0].data();
#else
  const K::Array y = f()[0];
#endif
}
