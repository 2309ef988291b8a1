// A learning phase is 0 or 1.
// error: set_learning_phase
#include <kiln/k.h>

namespace K = kiln;

void phase_with_fraction() {
#ifdef WRONG
  K::set_learning_phase(0.5);
#else
  K::set_learning_phase(1);
#endif
}
