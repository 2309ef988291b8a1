// A span of the elements of a temporary.
// error: deleted
#include <kiln/k.h>

#include <span>

namespace K = kiln;

void span_of_result(const K::Function& f) {
#ifdef WRONG
  const std::span<const float> y = f()[0].as<float>();
#else
  const auto y = f()[0].as<float>();
#endif
}
