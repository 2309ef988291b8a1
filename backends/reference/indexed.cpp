// Gather and scatter-add. An index out of range is an error, unless no element is accessed.
#include "backends/reference/wide.h"
#include "core/ops/scalar_meaning.h"

#include <cstring>

namespace kiln::reference {
namespace {

/// The indices as int64, checked against the size of the axis.
Sizes checked_indices(const Tensor& indices, std::int64_t size) {
  Tensor wide = Tensor::allocate(DType::Int64, indices.dims);
  ir::convert_elements(indices.dtype, indices.data.get(), DType::Int64, wide.data.get(),
                       indices.count);
  Sizes result = load<std::int64_t>(wide);
  for (std::int64_t index : result) {
    if (index >= 0 && index < size) continue;
    throw sdk::Failure(KILN_CODE_OUT_OF_RANGE, ir::outside_text(indices.dtype, index, size));
  }
  return result;
}

/// The products of the dims before and after an axis.
std::pair<std::int64_t, std::int64_t> around(const Sizes& dims, std::size_t axis) {
  const auto middle = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  return {count_of({dims.begin(), middle}), count_of({middle + 1, dims.end()})};
}

}  // namespace

Results run_gather(const Context& c) {
  const Tensor& reference = c.x[0];
  const auto axis = static_cast<std::size_t>(c.as<ir::AxisAttrs>().axis);
  const std::int64_t size = reference.dims[axis];
  Tensor y = c.result();
  if (y.count == 0) return {y};
  const Sizes indices = checked_indices(c.x[1], size);
  const auto [outer, inner] = around(reference.dims, axis);
  const std::size_t row = static_cast<std::size_t>(inner) * y.element_bytes();
  std::byte* to = y.data.get();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t index : indices) {
      std::memcpy(to, reference.data.get() + static_cast<std::size_t>(o * size + index) * row, row);
      to += row;
    }
  }
  return {y};
}

Results run_scatter_add(const Context& c) {
  const auto& attrs = c.as<ir::ScatterAttrs>();
  const auto axis = static_cast<std::size_t>(attrs.axis);
  Tensor y = c.result();
  const std::int64_t size = y.dims[axis];
  const Sizes indices = c.x[1].count == 0 ? Sizes() : checked_indices(c.x[0], size);
  const auto [outer, inner] = around(y.dims, axis);
  with_wide(y.dtype, [&, outer = outer, inner = inner](auto wide) {
    using Wide = decltype(wide);
    const std::vector<Wide> updates = load<Wide>(c.x[1]);
    std::vector<Wide> sums(static_cast<std::size_t>(y.count), Wide{0});
    std::size_t from = 0;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t index : indices) {
        auto to = static_cast<std::size_t>((o * size + index) * inner);
        for (std::int64_t i = 0; i < inner; ++i, ++to) {
          sums[to] = ir::meaning::Add()(sums[to], updates[from++]);
        }
      }
    }
    store(sums, y);
  });
  return {y};
}

}  // namespace kiln::reference
