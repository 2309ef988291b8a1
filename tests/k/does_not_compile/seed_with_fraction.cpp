// A seed is a whole number.
// error: RandomNormalOptions|Seed
#include <kiln/k.h>

namespace K = kiln;

void seed_with_fraction() {
#ifdef WRONG
  static_cast<void>(K::random_normal({2}, {.seed = 0.5}));
#else
  static_cast<void>(K::random_normal({2}, {.seed = 5}));
#endif
}
