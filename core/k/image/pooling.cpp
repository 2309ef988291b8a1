// Pooling as reductions over windows, and bias_add. sliding.cpp computes window positions and
// padding.
#include <kiln/pooling.h>

#include "core/k/image/sliding_impl.h"
#include "core/k/math/formulas_impl.h"

#include <limits>
#include <numeric>

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;

Ints counting(std::int64_t first, std::size_t count) {
  Ints numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// The lowest value of the dtype: the identity of max. Conversion of -inf to an integer saturates.
Value lowest(DType dtype) {
  return ir::scalar_constant(dtype, -std::numeric_limits<double>::infinity());
}

struct Pool {
  Value x;  // channels last
  Dims windows;
  Ints strides;
  Sliding sliding;
};

/// The windows of x as its last axes; `padding` is the value of the padding.
Value windows_of(const Pool& pool, const Value& padding) {
  const std::size_t n = pool.windows.size();
  Dims low(n + 2, 0), high = low;
  std::copy(pool.sliding.low.begin(), pool.sliding.low.end(), low.begin() + 1);
  std::copy(pool.sliding.high.begin(), pool.sliding.high.end(), high.begin() + 1);
  return ir::window(ir::pad(pool.x, padding, low, high), {.axes = counting(1, n),
                                                          .counts = pool.sliding.positions,
                                                          .sizes = pool.windows,
                                                          .strides = pool.strides,
                                                          .dilations = Ints(n, 1)});
}

/// The number of elements of x, without padding, in each window along spatial axis i, with `dims`.
Value elements_along(const Pool& pool, std::size_t i, const Dims& dims) {
  const Dim& size = pool.x.dims()[i + 1];
  const Value position = ir::iota({DType::Int64, dims}, static_cast<std::int64_t>(i) + 1);
  const auto number = [&](const Dim& dim) { return ir::broadcast(ir::dim_size(dim), dims, {}); };
  const Value first = position * number(pool.strides[i]) - number(pool.sliding.low[i]);
  const Value end = ir::binary(Op::Minimum, first + number(pool.windows[i]), number(size));
  return end - ir::binary(Op::Maximum, first, number(0));
}

/// The axes without padding contribute a number, the others a tensor, empty if there are none.
struct ElementCounts {
  double unpadded = 1;
  Value padded;  // int64
};

/// The number of elements of x in each window is the product of both; `dims`: those of the results.
ElementCounts element_counts(const Pool& pool, const Dims& dims) {
  ElementCounts counts;
  for (std::size_t i = 0; i < pool.windows.size(); ++i) {
    const bool padded = pool.sliding.low[i] != Dim(0) || pool.sliding.high[i] != Dim(0);
    if (!padded) {
      counts.unpadded *= static_cast<double>(pool.windows[i].value());
      continue;
    }
    const Value along = elements_along(pool, i, dims);
    counts.padded = counts.padded ? counts.padded * along : along;
  }
  return counts;
}

/// The mean of each window, padding excluded. REQUIRES: float32 or wider, for the range of sums.
Value average(const Pool& pool) {
  const std::size_t n = pool.windows.size();
  const Value sum = ir::reduce_sum(windows_of(pool, ir::scalar_constant(pool.x.dtype(), 0)),
                                   counting(static_cast<std::int64_t>(n) + 2, n));
  const ElementCounts counts = element_counts(pool, sum.dims());
  if (!counts.padded) return sum / counts.unpadded;
  return sum / (ir::cast(counts.padded, sum.dtype()) * counts.unpadded);
}

/// The largest element of each window. Padding has the lowest value and ties with elements of that
/// value, so its share of the gradient is given to them.
Value maximum(const Pool& pool) {
  const std::size_t n = pool.windows.size();
  const Value low = lowest(pool.x.dtype());
  const Value y =
      ir::reduce_max(windows_of(pool, low), counting(static_cast<std::int64_t>(n) + 2, n));
  const ElementCounts counts = element_counts(pool, y.dims());
  if (!counts.padded || !is_float(y.dtype())) return y;
  double size = 1;
  for (const Dim& window : pool.windows) size *= static_cast<double>(window.value());
  const Value count = ir::cast(counts.padded, widened(y).dtype()) * counts.unpadded;
  const Value tied = ir::equal_to(y, ir::broadcast_to(low, y.dims()));
  return ir::scale_gradient(y, ir::select(tied, size / count, ir::like(count, 1)));
}

Tensor pooled(const Operand& operand, const Steps& pool_size, const PoolOptions& options,
              std::size_t spatial) {
  const DataFormat format = data_format_of(options.data_format);
  const Padding padding = padding_of(options.padding);
  if (options.pool_mode != "max" && options.pool_mode != "avg") {
    Call::value_error("pool_mode",
                      text("pool_mode '", options.pool_mode, "' is neither 'max' nor 'avg'"));
  }
  const bool is_max = options.pool_mode == "max";
  const Ints sizes = steps_of(pool_size, spatial, "pool_size");
  const Value x = is_max ? number_of(operand) : float_of(operand);
  require_rank(x, static_cast<int>(spatial) + 2);
  Pool pool{.x = channels_to_end(x, format),
            .windows = {sizes.begin(), sizes.end()},
            .strides = steps_of(options.strides, spatial, "strides"),
            .sliding = {}};
  pool.sliding =
      sliding_of(pool.x, pool.windows, pool.strides, Ints(spatial, 1), padding, "pool_size");
  pool.x = is_max ? pool.sliding.input : widened(pool.sliding.input);
  const Value y = is_max ? maximum(pool) : ir::cast(average(pool), x.dtype());
  return wrap(channels_from_end(y, format));
}

/// The dims of a bias with all axes of x but the batch, in the layout of x.
Dims dims_of_full_bias(const Value& bias, DataFormat format) {
  Dims dims = bias.dims();
  if (format == DataFormat::ChannelsFirst) {
    dims.insert(dims.begin(), dims.back());
    dims.pop_back();
  }
  dims.insert(dims.begin(), 1);
  return dims;
}

}  // namespace

Tensor pool2d(const Operand& x, const Steps& pool_size, const PoolOptions& options) {
  return api_call("pool2d", x.where(), [&] { return pooled(x, pool_size, options, 2); });
}

Tensor pool3d(const Operand& x, const Steps& pool_size, const PoolOptions& options) {
  return api_call("pool3d", x.where(), [&] { return pooled(x, pool_size, options, 3); });
}

Tensor bias_add(const Operand& x, const Operand& bias, const BiasAddOptions& options) {
  return api_call("bias_add", where_of(x, bias), [&] {
    const DataFormat format = data_format_of(options.data_format);
    const auto [value, added] = number_pair(x, bias, {"x", "bias"});
    if (value.rank() < 2) {
      Call::value_error("x", text("x has rank ", value.rank(), ", below 2 (x ", value.type(), ")"));
    }
    const bool is_full = added.rank() == value.rank() - 1;
    if (!is_full && added.rank() != 1) {
      Call::value_error(
          "bias", text("bias has rank ", added.rank(), ", neither 1 nor ", value.rank() - 1, " (x ",
                       value.type(), ", bias ", added.type(), ")"));
    }
    Dims dims(value.dims().size(), 1);
    const std::size_t channels = format == DataFormat::ChannelsFirst ? 1 : dims.size() - 1;
    if (is_full) {
      dims = dims_of_full_bias(added, format);
    } else {
      dims[channels] = added.dims()[0];
    }
    for (std::size_t i = 1; i < dims.size(); ++i) {
      const bool stretched = !is_full && i != channels;
      if (stretched || equal(dims[i], value.dims()[i]) != ir::Ternary::No) continue;
      Call::value_error("bias",
                        text("axis ", i, " of x has size ", value.dims()[i], " but the bias gives ",
                             dims[i], " (x ", value.type(), ", bias ", added.type(), ")"));
    }
    // Each dim is the static one of the two, if there is one: x itself is never stretched.
    Dims sum = value.dims(), bias_dims = dims;
    for (std::size_t i = 1; i < dims.size(); ++i) {
      if (!is_full && i != channels) continue;
      if (!sum[i].is_static() && dims[i].is_static()) sum[i] = dims[i];
      bias_dims[i] = sum[i];
    }
    const Value shaped = ir::with_dims(ir::reshape(added, dims), bias_dims);
    return wrap(ir::with_dims(value, sum) + ir::broadcast_to(shaped, sum));
  });
}

}  // namespace kiln
