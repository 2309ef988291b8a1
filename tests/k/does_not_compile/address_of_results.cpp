// The address of temporary results.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void address_of_results(const K::Function& f) {
#ifdef WRONG
  const auto* const y = f().data();
#else
  const auto y = f();
#endif
}
