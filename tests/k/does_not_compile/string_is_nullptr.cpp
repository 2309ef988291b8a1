// A null pointer is no name.
// error: deleted
#include <kiln/k.h>

namespace K = kiln;

void string_is_nullptr() {
#ifdef WRONG
  static_cast<void>(K::NameOptions{.name = nullptr});
#else
  static_cast<void>(K::NameOptions{.name = ""});
#endif
}
