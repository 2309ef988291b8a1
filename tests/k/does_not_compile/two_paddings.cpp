// A list of two strings is no string.
// error: StringArgument
#include <kiln/k.h>

namespace K = kiln;

void two_paddings() {
#ifdef WRONG
  static_cast<void>(K::PoolOptions{.padding = {"same", "valid"}});
#else
  static_cast<void>(K::PoolOptions{.padding = {"same"}});
#endif
}
