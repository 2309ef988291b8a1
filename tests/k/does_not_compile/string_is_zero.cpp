// A null pointer is no string.
// error: StringArgument
#include <kiln/k.h>

namespace K = kiln;

void string_is_zero() {
#ifdef WRONG
  static_cast<void>(K::PoolOptions{.padding = 0});
#else
  static_cast<void>(K::PoolOptions{.padding = "same"});
#endif
}
