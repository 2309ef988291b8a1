// Movement ops, as strided copies.
#include "backends/reference/interpretation.h"

#include <algorithm>
#include <cstring>

namespace kiln::reference {

Results run_identity(const Context& c) { return {c.x[0]}; }

Results run_reshape(const Context& c) {
  Sizes dims = c.run.evaluate(c.node.types[0].dims);
  if (count_of(dims) != c.x[0].count) {
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, "reshape to a different number of elements");
  }
  return {c.x[0].with_dims(std::move(dims))};
}

Results run_permute(const Context& c) {
  Tensor y = c.result();
  const Sizes strides = strides_of(c.x[0].dims);
  Sizes moved;
  for (std::int64_t axis : c.as<ir::AxesAttrs>().axes) {
    moved.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  copy_from_strided(y.data.get(), c.x[0].data.get(), y.dims, moved, y.element_bytes());
  return {y};
}

Results run_broadcast(const Context& c) {
  Tensor y = c.result();
  const Sizes strides = strides_of(c.x[0].dims);
  Sizes spread(y.dims.size(), 0);
  const ir::Ints& axes = c.as<ir::BroadcastAttrs>().axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const bool stretched = c.node.operands[0].dims()[i].is_one();
    if (!stretched && c.x[0].dims[i] != y.dims[axis]) {
      throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, "broadcast of an axis to a different size");
    }
    if (!stretched) spread[axis] = strides[i];
  }
  copy_from_strided(y.data.get(), c.x[0].data.get(), y.dims, spread, y.element_bytes());
  return {y};
}

Results run_slice(const Context& c) {
  const auto& attrs = c.as<ir::SliceAttrs>();
  const Tensor& x = c.x[0];
  const Sizes start = c.run.evaluate(attrs.start), limit = c.run.evaluate(attrs.limit);
  Sizes strides = strides_of(x.dims);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (start[i] < 0 || start[i] > limit[i] || limit[i] > x.dims[i]) {
      throw sdk::Failure(KILN_CODE_OUT_OF_RANGE, "slice exceeds its operand");
    }
    offset += start[i] * strides[i];
    strides[i] *= attrs.step[i];
  }
  Tensor y = c.result();
  const auto* from = x.data.get() + offset * static_cast<std::int64_t>(x.element_bytes());
  copy_from_strided(y.data.get(), from, y.dims, strides, y.element_bytes());
  return {y};
}

Results run_pad(const Context& c) {
  const auto& attrs = c.as<ir::PadAttrs>();
  const Tensor& x = c.x[0];
  Tensor y = c.result();
  const Sizes low = c.run.evaluate(attrs.low);
  copy_from_strided(y.data.get(), c.x[1].data.get(), y.dims, Sizes(y.dims.size(), 0),
                    y.element_bytes());
  Sizes strides = strides_of(y.dims);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < low.size(); ++i) {
    offset += low[i] * strides[i];
    strides[i] *= attrs.interior[i] + 1;
  }
  std::byte* to = y.data.get() + offset * static_cast<std::int64_t>(y.element_bytes());
  copy_to_strided(to, x.data.get(), x.dims, strides, y.element_bytes());
  return {y};
}

Results run_reverse(const Context& c) {
  const Tensor& x = c.x[0];
  Tensor y = c.result();
  if (y.count == 0) return {y};
  Sizes strides = strides_of(x.dims);
  std::int64_t offset = 0;
  for (std::int64_t axis : c.as<ir::AxesAttrs>().axes) {
    const auto i = static_cast<std::size_t>(axis);
    offset += (x.dims[i] - 1) * strides[i];
    strides[i] = -strides[i];
  }
  const auto* from = x.data.get() + offset * static_cast<std::int64_t>(x.element_bytes());
  copy_from_strided(y.data.get(), from, y.dims, strides, y.element_bytes());
  return {y};
}

Results run_concat(const Context& c) {
  Tensor y = c.result();
  const auto axis = static_cast<std::size_t>(c.as<ir::AxisAttrs>().axis);
  const Sizes strides = strides_of(y.dims);
  std::int64_t offset = 0;
  for (const Tensor& part : c.x) {
    std::byte* to = y.data.get() + offset * static_cast<std::int64_t>(y.element_bytes());
    copy_to_strided(to, part.data.get(), part.dims, strides, y.element_bytes());
    offset += part.dims[axis] * strides[axis];
  }
  return {y};
}

}  // namespace kiln::reference
