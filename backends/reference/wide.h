// Tensors as arrays of the widest type of their kind: double, int64 or uint64.
#pragma once

#include "backends/reference/program.h"
#include "core/ops/convert.h"

namespace kiln::reference {

template <class Wide>
std::vector<Wide> load(const Tensor& x) {
  std::vector<Wide> values(static_cast<std::size_t>(x.count));
  if constexpr (std::is_same_v<Wide, double>) {
    ir::load_real(x.dtype, x.data.get(), values.data(), x.count);
  } else if constexpr (std::is_same_v<Wide, std::int64_t>) {
    ir::load_integer(x.dtype, x.data.get(), values.data(), x.count);
  } else {
    ir::load_natural(x.dtype, x.data.get(), values.data(), x.count);
  }
  return values;
}

template <class Wide>
void store(const std::vector<Wide>& values, Tensor& y) {
  if constexpr (std::is_same_v<Wide, double>) {
    ir::store_real(y.dtype, values.data(), y.data.get(), y.count);
  } else if constexpr (std::is_same_v<Wide, std::int64_t>) {
    ir::store_integer(y.dtype, values.data(), y.data.get(), y.count);
  } else {
    ir::store_natural(y.dtype, values.data(), y.data.get(), y.count);
  }
}

/// Calls run(Wide{}) with the widest type of that dtype's kind.
template <class Function>
void with_wide(DType dtype, Function&& run) {
  if (is_float(dtype)) return run(double{});
  if (info(dtype).kind == DTypeKind::Unsigned) return run(std::uint64_t{});
  return run(std::int64_t{});
}

}  // namespace kiln::reference
