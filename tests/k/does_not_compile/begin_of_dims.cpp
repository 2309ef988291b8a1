// An iterator into the dims of a temporary.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void begin_of_dims(const K::Variable& w) {
#ifdef WRONG
  const auto y = K::get_value(w).dims().begin();
#else
  const auto y = K::get_value(w).dims();
#endif
}
