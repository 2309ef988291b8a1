// A character is no number.
// error: operator\+|Operand
#include <kiln/k.h>

namespace K = kiln;

void operand_is_character(const K::Tensor& x) {
#ifdef WRONG
  static_cast<void>(x + 'a');
#else
  static_cast<void>(x + 97);
#endif
}
