// Steps of random programs that are chains of casts over all dtypes.
#include "tests/backends/random_programs/steps.h"

#include "core/k/base/tensor_impl.h"
#include "core/ops/build.h"

namespace kiln::testing {

namespace {

DType any_dtype(Growing& growing) { return static_cast<DType>(growing.draw.below(kDTypeCount)); }

DType signed_of_size(std::size_t bytes) {
  return bytes == 1   ? DType::Int8
         : bytes == 2 ? DType::Int16
         : bytes == 4 ? DType::Int32
                      : DType::Int64;
}

/// Combines the bits of x with their triple, as an integer of the same size.
Tensor with_other_bits(Growing& growing, const Tensor& x) {
  constexpr ir::Op kOps[] = {ir::Op::BitAnd, ir::Op::BitOr, ir::Op::BitXor};
  const ir::Value number = value_of(x, "x");
  const DType dtype = signed_of_size(dtype_bytes(number.dtype()));
  const ir::Value bits = ir::bitcast(number, dtype), others = bits * 3.0;
  const ir::Value mixed = ir::binary(kOps[growing.draw.below(3)], bits, others);
  return wrap(is_float(number.dtype()) ? ir::cast(mixed, number.dtype())
                                       : ir::bitcast(mixed, number.dtype()));
}

Tensor sorted(Growing& growing, const Tensor& x) {
  const ir::Value value = value_of(x, "x");
  const ir::SortAttrs attrs{.axis = 0, .descending = growing.draw.chance(50)};
  return wrap(ir::gather(value, ir::make(ir::Op::ArgSort, attrs, {value})));
}

/// An operation between two casts that is exact, or rounds alike everywhere; bool has none.
Tensor between_casts(Growing& growing, const Tensor& x, DType dtype) {
  if (dtype == DType::Bool) return x;
  switch (growing.draw.below(5)) {
    case 0: return x + x;
    case 1: return abs(x);
    case 2: return with_other_bits(growing, x);
    case 3: return sorted(growing, x);
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
