// Interpolates at points from gathered neighbours and weights made from the fractions.
#include "core/onnx/import/sample_points.h"

#include "core/k/image/sliding_impl.h"
#include "core/k/math/formulas_impl.h"
#include "core/types/at.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Op;
using ir::Value;
using Points = std::vector<Value>;

/// A size with the type of the points.
Value size_like(const Dim& size, const Value& points) {
  return ir::broadcast_to(ir::cast(ir::dim_size(size), points.dtype()), points.dims());
}

/// x mirrored at low and at low + range until it is between them.
Value mirrored(const Value& x, const Value& low, const Value& range) {
  const Value none = ir::equal_to(range, ir::zeros_like(range));
  const Value period = ir::select(none, ir::like(range, 1), range * 2.0);
  const Value from_low = x - low;
  const Value rest = from_low - ir::unary(Op::Floor, from_low / period) * period;
  const Value inside = ir::select(ir::less_equal_to(rest, range), rest, period - rest);
  return ir::select(none, low, low + inside);
}

/// The coordinate along an axis of `size` elements, brought inside unless zeros are outside.
Value brought_inside(const Value& x, const Dim& size, const PointSampling& sampling) {
  const Value count = size_like(size, x);
  switch (sampling.padding) {
    case PointPadding::Zeros: return x;
    case PointPadding::Border: return clipped(x, ir::zeros_like(x), count - 1.0);
    case PointPadding::Reflection: break;
  }
  return sampling.mirrors_at_elements ? mirrored(x, ir::zeros_like(x), count - 1.0)
                                      : mirrored(x, ir::like(x, -0.5), count);
}

/// The channels of the elements at whole coordinates.
Value pixels_at(const PixelTable& table, const Value& batch, const Points& positions,
                const PointSampling& sampling) {
  Value row = batch, outside;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Dim& size = table.sizes[i];
    const Value x = ir::unary(Op::Round, brought_inside(positions[i], size, sampling));
    const Value first = ir::zeros_like(x), last = size_like(size, x) - 1.0;
    if (sampling.padding == PointPadding::Zeros) {
      const Value here = ir::binary(Op::Or, ir::less(x, first), ir::less(last, x));
      outside = outside ? ir::binary(Op::Or, outside, here) : here;
    }
    const Value index = ir::cast(clipped(x, first, last), DType::Int64);
    row = row * ir::broadcast_to(ir::dim_size(size), row.dims()) + index;
  }
  const Value pixels = ir::gather(table.rows, row, 0);
  if (!outside) return pixels;
  const Value wide = ir::broadcast(outside, pixels.dims(), ir::all_axes(outside));
  return ir::select(wide, ir::zeros_like(pixels), pixels);
}

/// The weight of the element `offset` after that at floor(x), for the fraction x - floor(x).
Value offset_weight(const Value& fraction, int offset, ResampleMode mode) {
  const Value x = offset > 0 ? static_cast<double>(offset) - fraction : fraction - offset;
  if (mode == ResampleMode::Linear) return 1.0 - x;
  constexpr double a = -0.75;  // Keys 1981, equation 4, as PyTorch has it
  if (offset == 0 || offset == 1) return ((a + 2) * x - (a + 3)) * x * x + 1.0;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

}  // namespace

PixelTable pixel_table(const Value& x) {
  const Value last = channels_to_end(x, DataFormat::ChannelsFirst);
  Dims smallest(last.dims().size(), 1);
  smallest[0] = smallest.back() = 0;
  const Value pixels = ir::fits(last, smallest);
  const Dims sizes(last.dims().begin() + 1, last.dims().end() - 1);
  return {ir::reshape(pixels, {last.dims()[0] * product(sizes), last.dims().back()}), sizes};
}

Value sampled(const PixelTable& table, const Value& batch, const Points& given,
              const PointSampling& sampling) {
  const std::size_t n = given.size();
  Points floors, fractions;
  // PyTorch and onnxruntime extend the border for the cubic filter, ONNX's reference moves the
  // point.
  const bool is_kept =
      sampling.mode == ResampleMode::Cubic && sampling.padding == PointPadding::Border;
  for (std::size_t i = 0; i < n; ++i) {
    const Value x =
        sampling.mode == ResampleMode::Nearest ? ir::unary(Op::Round, given[i]) : given[i];
    const Value inside = is_kept ? x : brought_inside(x, table.sizes[i], sampling);
    floors.push_back(ir::unary(Op::Floor, inside));
    fractions.push_back(inside - floors.back());
  }
  if (sampling.mode == ResampleMode::Nearest) return pixels_at(table, batch, floors, sampling);
  const int first = sampling.mode == ResampleMode::Linear ? 0 : -1, count = 2 - 2 * first;
  std::size_t neighbours = 1;
  for (std::size_t i = 0; i < n; ++i) neighbours *= static_cast<std::size_t>(count);
  Value sum;
  for (std::size_t neighbour = 0; neighbour < neighbours; ++neighbour) {
    Points positions(n);
    Value weight;
    std::size_t rest = neighbour;
    for (std::size_t i = n; i-- > 0; rest /= static_cast<std::size_t>(count)) {
      const int offset = first + static_cast<int>(rest % static_cast<std::size_t>(count));
      positions[i] = floors[i] + static_cast<double>(offset);
      const Value along = offset_weight(fractions[i], offset, sampling.mode);
      weight = weight ? weight * along : along;
    }
    const Value pixels = pixels_at(table, batch, positions, sampling);
    const Value wide =
        ir::broadcast(ir::cast(weight, pixels.dtype()), pixels.dims(), ir::all_axes(weight));
    sum = sum ? sum + pixels * wide : pixels * wide;
  }
  return sum;
}

}  // namespace kiln::onnx
