// A bool is no size.
// error: ShapeEntry|Shape
#include <kiln/k.h>

namespace K = kiln;

void size_is_bool() {
#ifdef WRONG
  static_cast<void>(K::zeros({true}));
#else
  static_cast<void>(K::zeros({1}));
#endif
}
