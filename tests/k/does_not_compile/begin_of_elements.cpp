// An iterator into the elements of a temporary.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void begin_of_elements(const K::Variable& w) {
#ifdef WRONG
  const auto y = K::get_value(w).as<float>().begin();
#else
  const auto y = K::get_value(w).as<float>();
#endif
}
