// Tensors as arrays of the widest type of their kind: double, int64 or uint64.
#pragma once

#include "backends/reference/interpretation.h"
#include "core/ops/convert.h"

namespace kiln::reference {

/// The elements, widened.
template <class Wide>
std::vector<Wide> load(const Tensor& x) {
  std::vector<Wide> values(static_cast<std::size_t>(x.count));
  if constexpr (std::is_same_v<Wide, double>) {
    ir::load_floating(x.dtype, x.data.get(), values.data(), x.count);
  } else if constexpr (std::is_same_v<Wide, std::int64_t>) {
    ir::load_signed(x.dtype, x.data.get(), values.data(), x.count);
  } else {
    ir::load_unsigned(x.dtype, x.data.get(), values.data(), x.count);
  }
  return values;
}

/// Rounds the values to the dtype of `y`.
template <class Wide>
void store(const std::vector<Wide>& values, Tensor& y) {
  if constexpr (std::is_same_v<Wide, double>) {
    ir::store_floating(y.dtype, values.data(), y.data.get(), y.count);
  } else if constexpr (std::is_same_v<Wide, std::int64_t>) {
    ir::store_signed(y.dtype, values.data(), y.data.get(), y.count);
  } else {
    ir::store_unsigned(y.dtype, values.data(), y.data.get(), y.count);
  }
}

/// Calls run(Wide{}) with the widest type of the dtype's kind.
template <class Function>
void with_wide(DType dtype, Function&& run) {
  if (is_float(dtype)) return run(double{});
  if (info(dtype).kind == DTypeKind::Unsigned) return run(std::uint64_t{});
  return run(std::int64_t{});
}

}  // namespace kiln::reference
