// A span that is constructed from the elements of a temporary.
// error: span
#include <kiln/k.h>

#include <span>

namespace K = kiln;

void span_made_of_result(const K::Function& f) {
#ifdef WRONG
  const std::span y(f()[0].as<float>());
#else
  const auto y = f()[0].as<float>();
#endif
}
