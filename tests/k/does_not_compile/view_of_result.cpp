// A view of a temporary.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void view_of_result(const K::Function& f) {
#ifdef WRONG
  const K::ArrayView y = f()[0].as_view();
#else
  const K::Array y = f()[0];
#endif
}
