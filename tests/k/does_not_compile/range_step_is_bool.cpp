// A bool is no step of a range.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void range_step_is_bool() {
#ifdef WRONG
  static_cast<void>(K::arange(0, 5, true));
#else
  static_cast<void>(K::arange(0, 5, 1));
#endif
}
