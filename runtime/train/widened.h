// Sums and quotients of float16 and bfloat16 in float32.
#pragma once

#include <kiln/k.h>

namespace kiln {

/// Returns x as float32 if it is float16 or bfloat16: squares exceed the range of one, small
/// constants the digits of the other. Returns other x as it is.
inline Tensor widened(const Tensor& x) {
  const std::string type = dtype(x);
  return type == "float16" || type == "bfloat16" ? Tensor(cast(x, "float32")) : x;
}

}  // namespace kiln
