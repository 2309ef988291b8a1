// Steps of random programs that are chains of casts over all dtypes.
#include "tests/backends/random_programs/steps.h"

namespace kiln::testing {

namespace {

DType any_dtype(Growing& growing) { return static_cast<DType>(growing.draw.below(kDTypeCount)); }

/// An operation between two casts that is exact, or rounds alike everywhere; bool has none.
Tensor between_casts(Growing& growing, const Tensor& x, DType dtype) {
  if (dtype == DType::Bool) return x;
  switch (growing.draw.below(3)) {
    case 0: return x + x;
    case 1: return abs(x);
    default: return maximum(x, cast(x > 7, dtype));
  }
}

}  // namespace

bool casts(Growing& growing) {
  const Dims dims{1 + growing.draw.below(40)};
  Tensor x = growing.exact(dims, any_dtype(growing));
  const std::int64_t count = 2 + growing.draw.below(4);
  for (std::int64_t i = 0; i < count; ++i) {
    const DType to = any_dtype(growing);
    x = cast(x, to);
    if (growing.draw.chance(25)) x = between_casts(growing, x, to);
  }
  // Bounded, also from infinities, so that numbers of any magnitude stay distinct.
  const Tensor wide = cast(x, growing.dtype);
  growing.add(tanh(wide * 0.2) + tanh(wide * 5e-3) + tanh(wide * 1e-4) + tanh(wide * 1e-9), dims,
              4);
  return true;
}

}  // namespace kiln::testing
