// A learning phase is 0 or 1.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void phase_is_bool() {
#ifdef WRONG
  K::set_learning_phase(true);
#else
  K::set_learning_phase(1);
#endif
}
