// Constants, sizes, iota, casts, and elementwise ops, which evaluate
// the scalar meaning of their definition.
#include "backends/reference/interpretation.h"

#include "core/ops/convert.h"

#include <algorithm>

namespace kiln::reference {

Results run_constant(const Context& c) {
  const auto& attrs = c.as<ir::ConstantAttrs>();
  return {Tensor::borrowed(attrs.type.dtype, c.run.evaluate(attrs.type.dims),
                           attrs.data.bytes->data())};
}

Results run_dim_size(const Context& c) {
  Tensor y = c.result();
  const std::int64_t size = c.run.evaluate(c.as<ir::DimAttrs>().dim);
  ir::store_signed(DType::Int64, &size, y.data.get(), 1);
  return {y};
}

Results run_iota(const Context& c) {
  Tensor y = c.result();
  const auto axis = static_cast<std::size_t>(c.as<ir::IotaAttrs>().axis);
  const std::int64_t size = y.dims[axis];
  const std::int64_t inner = strides_of(y.dims)[axis];
  std::vector<std::int64_t> values(static_cast<std::size_t>(y.count));
  for (std::int64_t i = 0; i < y.count; ++i) {
    values[static_cast<std::size_t>(i)] = i / inner % (size == 0 ? 1 : size);
  }
  ir::convert_elements(DType::Int64, reinterpret_cast<const std::byte*>(values.data()), y.dtype,
                       y.data.get(), y.count);
  return {y};
}

Results run_cast(const Context& c) {
  Tensor y = c.result();
  ir::convert_elements(c.x[0].dtype, c.x[0].data.get(), y.dtype, y.data.get(), y.count);
  return {y};
}

Results run_bitcast(const Context& c) {
  Tensor y = c.result();
  std::copy_n(c.x[0].data.get(), dtype_bytes(y.dtype) * static_cast<std::size_t>(y.count),
              y.data.get());
  return {y};
}

Results run_elementwise(const Context& c) {
  Tensor y = c.result();
  const std::byte* operands[3] = {};
  for (std::size_t i = 0; i < c.x.size(); ++i) operands[i] = c.x[i].data.get();
  ir::apply_scalar(def(c.node), c.x.back().dtype, y.dtype, {operands, c.x.size()}, y.data.get(),
                   y.count);
  return {y};
}

}  // namespace kiln::reference
