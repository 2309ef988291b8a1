// Type rules and gradients of Window and Fold, and checks that Conv shares.
#include "core/ops/window.h"

#include "core/ops/infer_rules.h"
#include "core/types/at.h"

namespace kiln::ir {
namespace {

void require_windowed_axes(Inference& in, const Ints& axes, int rank) {
  std::int64_t previous = -1;
  for (std::int64_t axis : axes) {
    require_axis(in, axis, rank);
    if (axis <= previous) in.value_error("axes are not ascending");
    previous = axis;
  }
}

}  // namespace

Dim span_of(const Dim& count, const Dim& size, std::int64_t stride, std::int64_t dilation) {
  if (count == Dim(0) || size == Dim(0)) return 0;
  return (count - 1) * Dim(stride) + (size - 1) * Dim(dilation) + 1;
}

void require_steps(Inference& in, const Ints& steps, std::size_t count, const char* what) {
  if (steps.size() != count) {
    in.value_error(text(what, " has ", steps.size(), " entries for ", count, " axes"));
  }
  for (std::int64_t step : steps) {
    if (step < 1) in.value_error(text(what, " ", step, " is not positive"));
  }
}

void require_sizes(Inference& in, const Dims& sizes, std::size_t count, const char* what) {
  if (sizes.size() != count) {
    in.value_error(text(what, " has ", sizes.size(), " entries for ", count, " axes"));
  }
  for (const Dim& size : sizes) in.require_less_equal(0, size, what, " ", size, " is negative");
}

std::vector<Type> infer_window(Inference& in) {
  const auto& a = in.as<WindowAttrs>();
  const Type& x = in.type(0);
  require_windowed_axes(in, a.axes, x.rank());
  require_sizes(in, a.counts, a.axes.size(), "counts");
  require_sizes(in, a.sizes, a.axes.size(), "sizes");
  require_steps(in, a.strides, a.axes.size(), "strides");
  require_steps(in, a.dilations, a.axes.size(), "dilations");
  Type result = x;
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    Dim& dim = result.dims[at(a.axes[i])];
    in.require_less_equal(span_of(a.counts[i], a.sizes[i], a.strides[i], a.dilations[i]), dim,
                          a.counts[i], " windows of ", a.sizes[i], " do not fit into ", dim,
                          " elements of axis ", a.axes[i]);
    dim = a.counts[i];
  }
  result.dims.insert(result.dims.end(), a.sizes.begin(), a.sizes.end());
  return {result};
}

std::vector<Type> infer_fold(Inference& in) {
  const auto& a = in.as<FoldAttrs>();
  const Type& x = in.type(0);
  const int rank = x.rank() - static_cast<int>(a.axes.size());
  require_windowed_axes(in, a.axes, rank);
  require_sizes(in, a.sizes, a.axes.size(), "sizes");
  require_steps(in, a.strides, a.axes.size(), "strides");
  require_steps(in, a.dilations, a.axes.size(), "dilations");
  Type result{x.dtype, {x.dims.begin(), x.dims.begin() + rank}};
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    Dim& dim = result.dims[at(a.axes[i])];
    const Dim& size = x.dims[at(rank) + i];
    in.require_less_equal(span_of(dim, size, a.strides[i], a.dilations[i]), a.sizes[i], dim,
                          " windows of ", size, " do not fit into ", a.sizes[i],
                          " elements of axis ", a.axes[i]);
    dim = a.sizes[i];
  }
  return {result};
}

Grads grad_window(const Grad& g) {
  const auto& a = g.node.as<WindowAttrs>();
  Dims sizes;
  for (std::int64_t axis : a.axes) sizes.push_back(g.x[0].dims()[at(axis)]);
  return {fold(g.dy[0],
               {.axes = a.axes, .sizes = sizes, .strides = a.strides, .dilations = a.dilations})};
}

Grads grad_fold(const Grad& g) {
  const auto& a = g.node.as<FoldAttrs>();
  const Dims& dims = g.x[0].dims();
  Dims counts;
  for (std::int64_t axis : a.axes) counts.push_back(dims[at(axis)]);
  return {window(g.dy[0],
                 {.axes = a.axes,
                  .counts = counts,
                  .sizes = {dims.end() - static_cast<std::ptrdiff_t>(a.axes.size()), dims.end()},
                  .strides = a.strides,
                  .dilations = a.dilations})};
}

}  // namespace kiln::ir
