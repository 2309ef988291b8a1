// A float32 Array equals no double, whatever its element.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void array_equals_number(const K::Function& f) {
#ifdef WRONG
  static_cast<void>(f()[0] == 2.0);
#else
  static_cast<void>(f()[0].item<float>() == 2.0f);
#endif
}
