// Pads the axes that the data format selects, with one Pad node.
#include <kiln/padding.h>

#include "core/k/image/data_format_impl.h"

namespace kiln {
namespace {

using ir::Dims;
using ir::Value;

/// Pads the axes first .. first + padding.size() - 1 with zeros.
Tensor padded(const Value& x, int first, const std::vector<Sides>& padding) {
  const auto rank = static_cast<std::size_t>(x.rank());
  Dims low(rank, 0), high(rank, 0);
  for (std::size_t i = 0; i < padding.size(); ++i) {
    const Sides& sides = padding[i];
    if (sides.before < 0 || sides.after < 0) {
      Call::value_error("padding", text("padding (", sides.before, ", ", sides.after, ") of axis ",
                                        first + static_cast<int>(i), " is negative"));
    }
    low[static_cast<std::size_t>(first) + i] = sides.before;
    high[static_cast<std::size_t>(first) + i] = sides.after;
  }
  return wrap(ir::pad(x, ir::scalar_constant_int(x.dtype(), 0), std::move(low), std::move(high)));
}

}  // namespace

Tensor temporal_padding(const Operand& x, const TemporalPaddingOptions& options) {
  return api_call("temporal_padding", x.where(), [&] {
    const Value value = input_of(x);
    require_rank(value, 3);
    return padded(value, 1, {options.padding});
  });
}

Tensor spatial_2d_padding(const Operand& x, const Spatial2dPaddingOptions& options) {
  return api_call("spatial_2d_padding", x.where(), [&] {
    const int first = first_spatial_axis(data_format_of(options.data_format));
    const Value value = input_of(x);
    require_rank(value, 4);
    return padded(value, first, {options.padding.rows, options.padding.columns});
  });
}

Tensor spatial_3d_padding(const Operand& x, const Spatial3dPaddingOptions& options) {
  return api_call("spatial_3d_padding", x.where(), [&] {
    const int first = first_spatial_axis(data_format_of(options.data_format));
    const Value value = input_of(x);
    require_rank(value, 5);
    const auto& padding = options.padding;
    return padded(value, first, {padding.depth, padding.rows, padding.columns});
  });
}

}  // namespace kiln
