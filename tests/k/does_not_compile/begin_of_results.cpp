// An iterator into temporary results.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void begin_of_results(const K::Function& f) {
#ifdef WRONG
  const auto y = f().begin();
#else
  const auto y = f();
#endif
}
