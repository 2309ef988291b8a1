// A string is no flag.
// error: Flag
#include <kiln/k.h>

namespace K = kiln;

void flag_is_string() {
#ifdef WRONG
  static_cast<void>(K::RnnOptions{.go_backwards = "no"});
#else
  static_cast<void>(K::RnnOptions{.go_backwards = false});
#endif
}
