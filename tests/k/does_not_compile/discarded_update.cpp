// An update that no function executes.
// error: unused-result
#include <kiln/k.h>

namespace K = kiln;

void discarded_update(const K::Variable& w) {
#ifdef WRONG
  K::update_sub(w, 1);
#else
  K::eval(K::update_sub(w, 1));
#endif
}
