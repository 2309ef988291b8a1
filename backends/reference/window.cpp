// Window (im2col) and its transpose Fold (col2im): one strided view of an operand as its windows.
#include "backends/reference/wide.h"
#include "core/ops/scalar_meaning.h"

namespace kiln::reference {
namespace {

/// The strides of a windowed view of dense elements of `dims`.
Sizes windowed_strides(const Sizes& dims, const ir::Ints& axes, const ir::Ints& strides,
                       const ir::Ints& dilations) {
  const Sizes dense = strides_of(dims);
  Sizes view = dense;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    view[axis] = dense[axis] * strides[i];
    view.push_back(dense[axis] * dilations[i]);
  }
  return view;
}

/// Throws sdk::Failure unless all windows are within the tensor. `windowed`: the dims of the view.
void check_within(const Sizes& dims, const Sizes& windowed, const ir::Ints& axes,
                  const ir::Ints& strides, const ir::Ints& dilations) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const std::int64_t positions = windowed[axis], size = windowed[dims.size() + i];
    if (positions == 0 || size == 0) continue;
    const std::int64_t last = (positions - 1) * strides[i] + (size - 1) * dilations[i];
    if (last >= dims[axis]) throw sdk::Failure(KILN_CODE_OUT_OF_RANGE, "a window exceeds its axis");
  }
}

}  // namespace

Results run_window(const Context& c) {
  const auto& a = c.as<ir::WindowAttrs>();
  const Tensor& x = c.x[0];
  Tensor y = c.result();
  check_within(x.dims, y.dims, a.axes, a.strides, a.dilations);
  copy_from_strided(y.data.get(), x.data.get(), y.dims,
                    windowed_strides(x.dims, a.axes, a.strides, a.dilations), y.element_bytes());
  return {y};
}

Results run_fold(const Context& c) {
  const auto& a = c.as<ir::FoldAttrs>();
  const Tensor& x = c.x[0];
  Tensor y = c.result();
  check_within(y.dims, x.dims, a.axes, a.strides, a.dilations);
  const Sizes strides = windowed_strides(y.dims, a.axes, a.strides, a.dilations);
  with_wide(y.dtype, [&](auto wide) {
    using Wide = decltype(wide);
    const std::vector<Wide> values = load<Wide>(x);
    std::vector<Wide> sums(static_cast<std::size_t>(y.count), Wide{0});
    Sizes index(x.dims.size(), 0);
    for (const Wide value : values) {
      std::int64_t to = 0;
      for (std::size_t i = 0; i < index.size(); ++i) to += index[i] * strides[i];
      Wide& sum = sums[static_cast<std::size_t>(to)];
      sum = ir::meaning::Add()(sum, value);
      advance(index, x.dims);
    }
    store(sums, y);
  });
  return {y};
}

}  // namespace kiln::reference
