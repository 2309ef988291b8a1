// Reductions over windows, and biases; where the windows lie is worked out in sliding.cpp.
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

/// A scalar that wins against nothing: an integer's lowest, as casts saturate.
Value lowest(DType dtype) {
  return ir::scalar_constant(dtype, -std::numeric_limits<double>::infinity());
}

struct Pool {
  Value x;  // channels last
  Dims windows;
  Ints strides;
  Sliding slides;
};

/// The windows of x as its last axes, with that value around the elements.
Value windows_of(const Pool& pool, const Value& around) {
  const std::size_t n = pool.windows.size();
  Dims low(n + 2, 0), high = low;
  std::copy(pool.slides.low.begin(), pool.slides.low.end(), low.begin() + 1);
  std::copy(pool.slides.high.begin(), pool.slides.high.end(), high.begin() + 1);
  return ir::window(ir::pad(pool.x, around, low, high),
                    {counting(1, n), pool.slides.places, pool.windows, pool.strides, Ints(n, 1)});
}

/// How many elements of x each window has along spatial axis i, over `dims`.
Value elements_along(const Pool& pool, std::size_t i, const Dims& dims) {
  const Dim& size = pool.x.dims()[i + 1];
  const Value place = ir::iota({DType::Int64, dims}, static_cast<std::int64_t>(i) + 1);
  const auto number = [&](const Dim& dim) { return ir::broadcast(ir::dim_size(dim), dims, {}); };
  const Value first = place * number(pool.strides[i]) - number(pool.slides.low[i]);
  const Value end = ir::binary(Op::Minimum, first + number(pool.windows[i]), number(size));
  return end - ir::binary(Op::Maximum, first, number(0));
}

/// REQUIRES: at least float32, since sums need the range.
Value average(const Pool& pool) {
  const std::size_t n = pool.windows.size();
  const Value sum = ir::reduce_sum(windows_of(pool, ir::scalar_constant(pool.x.dtype(), 0)),
                                   counting(static_cast<std::int64_t>(n) + 2, n));
  Value count;
  double whole = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const bool padded = pool.slides.low[i] != Dim(0) || pool.slides.high[i] != Dim(0);
    if (!padded) {
      whole *= static_cast<double>(pool.windows[i].value());
      continue;
    }
    const Value along = elements_along(pool, i, sum.dims());
    count = count ? count * along : along;
  }
  if (!count) return sum / whole;
  return sum / (ir::cast(count, sum.dtype()) * whole);
}

Tensor pooled(const Operand& operand, const Steps& pool_size, const PoolOptions& options,
              std::size_t spatial) {
  const DataFormat format = data_format_of(options.data_format);
  const Padding padding = padding_of(options.padding);
  if (options.pool_mode != "max" && options.pool_mode != "avg") {
    Call::value_error("pool_mode", text("pool_mode '", options.pool_mode,
                                        "' is neither 'max' nor 'avg'"));
  }
  const bool is_max = options.pool_mode == "max";
  const Ints sizes = steps_of(pool_size, spatial, "pool_size");
  const Value x = is_max ? number_of(operand) : float_of(operand);
  require_rank(x, static_cast<int>(spatial) + 2);
  Pool pool{channels_to_end(x, format), {sizes.begin(), sizes.end()},
            steps_of(options.strides, spatial, "strides"), {}};
  pool.slides =
      sliding(pool.x, pool.windows, pool.strides, Ints(spatial, 1), padding, "pool_size");
  pool.x = is_max ? pool.slides.input : widened(pool.slides.input);
  const Value y = is_max ? ir::reduce_max(windows_of(pool, lowest(x.dtype())),
                                          counting(static_cast<std::int64_t>(spatial) + 2, spatial))
                         : ir::cast(average(pool), x.dtype());
  return wrap(channels_from_end(y, format));
}

/// The dims of x but for the batch, in the order in which a bias of that rank lies.
Dims dims_of_whole_bias(const Value& bias, DataFormat format) {
  Dims dims = bias.dims();
  if (format == DataFormat::ChannelsFirst) {
    dims.insert(dims.begin(), dims.back());
    dims.pop_back();
  }
  dims.insert(dims.begin(), 1);
  return dims;
}

}  // namespace

Tensor pool2d(const Operand& x, const Steps& pool_size, const PoolOptions& options) try {
  const Call call("pool2d", x.where());
  return pooled(x, pool_size, options, 2);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("pool2d", x.where());
}

Tensor pool3d(const Operand& x, const Steps& pool_size, const PoolOptions& options) try {
  const Call call("pool3d", x.where());
  return pooled(x, pool_size, options, 3);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("pool3d", x.where());
}

Tensor bias_add(const Operand& x, const Operand& bias, const BiasAddOptions& options) try {
  const Call call("bias_add", where_of(x, bias));
  const DataFormat format = data_format_of(options.data_format);
  const auto [value, added] = number_pair(x, bias, {"x", "bias"});
  if (value.rank() < 2) {
    Call::value_error("x", text("x has rank ", value.rank(), ", below 2 (x ", value.type(), ")"));
  }
  const bool whole = added.rank() == value.rank() - 1;
  if (!whole && added.rank() != 1) {
    Call::value_error("bias", text("bias has rank ", added.rank(), ", neither 1 nor ",
                                   value.rank() - 1, " (x ", value.type(), ", bias ",
                                   added.type(), ")"));
  }
  Dims dims(value.dims().size(), 1);
  const std::size_t channels = format == DataFormat::ChannelsFirst ? 1 : dims.size() - 1;
  if (whole) {
    dims = dims_of_whole_bias(added, format);
  } else {
    dims[channels] = added.dims()[0];
  }
  for (std::size_t i = 1; i < dims.size(); ++i) {
    const bool stretched = !whole && i != channels;
    if (stretched || equal(dims[i], value.dims()[i]) != ir::Answer::No) continue;
    Call::value_error("bias", text("axis ", i, " of x has size ", value.dims()[i],
                                   " but the bias gives ", dims[i], " (x ", value.type(),
                                   ", bias ", added.type(), ")"));
  }
  // The sizes of both, the known one where one is known: nothing of x is stretched.
  Dims sum = value.dims(), spread = dims;
  for (std::size_t i = 1; i < dims.size(); ++i) {
    if (!whole && i != channels) continue;
    if (!sum[i].is_static() && dims[i].is_static()) sum[i] = dims[i];
    spread[i] = sum[i];
  }
  const Value fitting = ir::with_dims(ir::reshape(added, dims), spread);
  return wrap(ir::with_dims(value, sum) + ir::broadcast_to(fitting, sum));
} catch (const std::bad_alloc&) {
  Call::out_of_memory("bias_add", where_of(x, bias));
}

}  // namespace kiln
