// Reductions and scans, accumulated in the widest type, in row-major order.
#include "backends/reference/wide.h"
#include "core/ops/scalar_meaning.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::reference {
namespace {

using namespace ir::meaning;

/// Offsets of all points of `axes`, in row-major order.
Sizes offsets(const Sizes& dims, const ir::Ints& axes) {
  const Sizes strides = strides_of(dims);
  Sizes own, own_strides;
  for (std::int64_t axis : axes) {
    own.push_back(dims[static_cast<std::size_t>(axis)]);
    own_strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  Sizes result;
  if (count_of(own) == 0) return result;
  Sizes index(own.size(), 0);
  do {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < own.size(); ++i) offset += index[i] * own_strides[i];
    result.push_back(offset);
  } while (advance(index, own));
  return result;
}

ir::Ints other_axes(const Sizes& dims, const ir::Ints& axes) {
  ir::Ints others;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(dims.size()); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) others.push_back(axis);
  }
  return others;
}

template <class Wide, class Combine>
void reduce(const Tensor& x, const ir::Ints& axes, Wide start, Combine combine, Tensor& y) {
  const std::vector<Wide> values = load<Wide>(x);
  const Sizes kept = offsets(x.dims, other_axes(x.dims, axes));
  const Sizes dropped = x.count == 0 ? Sizes() : offsets(x.dims, axes);
  std::vector<Wide> results;
  results.reserve(kept.size());
  for (std::int64_t base : kept) {
    Wide sum = start;
    for (std::int64_t offset : dropped) {
      sum = combine(sum, values[static_cast<std::size_t>(base + offset)]);
    }
    results.push_back(sum);
  }
  store(results, y);
}

template <class Combine>
Results reduce_with(const Context& c, Combine combine, int start) {
  Tensor y = c.result();
  with_wide(y.dtype, [&](auto wide) {
    using Wide = decltype(wide);
    reduce<Wide>(c.x[0], c.as<ir::AxesAttrs>().axes, static_cast<Wide>(start), combine, y);
  });
  return {y};
}

/// The lowest or highest value of a dtype, in its widest type.
template <class Wide>
Wide limit_of(DType dtype, bool highest) {
  if constexpr (std::is_floating_point_v<Wide>) {
    return highest ? std::numeric_limits<Wide>::infinity() : -std::numeric_limits<Wide>::infinity();
  } else {
    if (dtype == DType::Bool) return highest ? 1 : 0;
    const auto bits = dtype_bytes(dtype) * 8;
    if constexpr (std::is_signed_v<Wide>) {
      const auto top = static_cast<Wide>((std::uint64_t{1} << (bits - 1)) - 1);
      return highest ? top : -top - 1;
    } else {
      return highest ? ~Wide{0} >> (64 - bits) : 0;
    }
  }
}

template <class Combine>
Results reduce_minmax(const Context& c, Combine combine, bool highest) {
  Tensor y = c.result();
  with_wide(y.dtype, [&](auto wide) {
    using Wide = decltype(wide);
    reduce<Wide>(c.x[0], c.as<ir::AxesAttrs>().axes, limit_of<Wide>(y.dtype, highest), combine, y);
  });
  return {y};
}

template <class Combine>
Results scan_with(const Context& c, Combine combine, int start) {
  Tensor y = c.result();
  if (y.count == 0) return {y};
  const ir::Ints axis{c.as<ir::AxisAttrs>().axis};
  with_wide(y.dtype, [&](auto wide) {
    using Wide = decltype(wide);
    std::vector<Wide> values = load<Wide>(c.x[0]);
    const Sizes along = offsets(y.dims, axis);
    for (std::int64_t base : offsets(y.dims, other_axes(y.dims, axis))) {
      Wide sum = static_cast<Wide>(start);
      for (std::int64_t offset : along) {
        Wide& value = values[static_cast<std::size_t>(base + offset)];
        value = sum = combine(sum, value);
      }
    }
    store(values, y);
  });
  return {y};
}

template <class Wide>
bool is_nan(Wide value) {
  if constexpr (std::is_floating_point_v<Wide>) return std::isnan(value);
  return false;
}

}  // namespace

Results run_sum(const Context& c) { return reduce_with(c, Add{}, 0); }
Results run_prod(const Context& c) { return reduce_with(c, Mul{}, 1); }
Results run_max(const Context& c) { return reduce_minmax(c, Maximum{}, /*highest=*/false); }
Results run_min(const Context& c) { return reduce_minmax(c, Minimum{}, /*highest=*/true); }
Results run_cum_sum(const Context& c) { return scan_with(c, Add{}, 0); }
Results run_cum_prod(const Context& c) { return scan_with(c, Mul{}, 1); }

Results run_arg_max(const Context& c) {
  const ir::Ints axis{c.as<ir::AxisAttrs>().axis};
  const Tensor& x = c.x[0];
  if (x.dims[static_cast<std::size_t>(axis[0])] == 0) {
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, "arg_max over an axis without elements");
  }
  Tensor y = c.result();
  if (y.count == 0) return {y};
  std::vector<std::int64_t> results;
  with_wide(x.dtype, [&](auto wide) {
    using Wide = decltype(wide);
    const std::vector<Wide> values = load<Wide>(x);
    const Sizes along = offsets(x.dims, axis);
    for (std::int64_t base : offsets(x.dims, other_axes(x.dims, axis))) {
      const auto value = [&](std::size_t i) {
        return values[static_cast<std::size_t>(base + along[i])];
      };
      std::size_t best = 0;
      for (std::size_t i = 1; i < along.size() && !is_nan(value(best)); ++i) {
        if (value(i) > value(best) || is_nan(value(i))) best = i;
      }
      results.push_back(static_cast<std::int64_t>(best));
    }
  });
  store(results, y);
  return {y};
}

}  // namespace kiln::reference
