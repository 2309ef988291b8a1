// A beam has a number of prefixes.
// error: WholeNumber
#include <kiln/k.h>

namespace K = kiln;

void beam_width_is_bool() {
#ifdef WRONG
  static_cast<void>(K::CtcDecodeOptions{.beam_width = true});
#else
  static_cast<void>(K::CtcDecodeOptions{.beam_width = 1});
#endif
}
