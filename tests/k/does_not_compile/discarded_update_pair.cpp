// An update that no function executes.
// error: nodiscard|unused-result
#include <kiln/k.h>

namespace K = kiln;

void discarded_update_pair(const K::Variable& w) {
#ifdef WRONG
  K::UpdateOp{w, w + 1};
#else
  K::eval(K::UpdateOp{w, w + 1});
#endif
}
