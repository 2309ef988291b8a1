// eval({w, x}) would execute the update w := x.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void eval_of_list(const K::Tensor& x, const K::Tensor& y) {
#ifdef WRONG
  K::eval({x, y});
#else
  K::eval(x), K::eval(y);
#endif
}
