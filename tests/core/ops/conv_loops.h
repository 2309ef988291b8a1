// Convolutions as plain loops over indices, and the geometries on which they are compared.
#pragma once

#include "tests/core/ops/evaluate.h"

#include "core/ops/build.h"

#include <vector>

namespace kiln::test {

using ir::ConvRole;
using ir::Dims;
using Ints = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

struct Geometry {
  std::int64_t batch, groups, channels, filters;  // channels and filters of one group
  Ints sizes, windows, strides, dilations, low, high;

  Ints positions() const {
    Ints positions;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t width = (windows[i] - 1) * dilations[i] + 1;
      const std::int64_t room = sizes[i] + low[i] + high[i] - width;
      positions.push_back(room < 0 ? 0 : room / strides[i] + 1);
    }
    return positions;
  }
};

inline const Geometry kGeometries[] = {
    {2, 1, 3, 4, {5}, {3}, {1}, {1}, {0}, {0}},
    {2, 1, 3, 4, {6}, {3}, {2}, {1}, {0}, {1}},
    {1, 1, 1, 1, {7}, {2}, {1}, {3}, {3}, {0}},
    {2, 1, 2, 3, {9}, {2}, {3}, {2}, {1}, {2}},
    {3, 2, 2, 3, {5}, {3}, {1}, {1}, {1}, {1}},
    {2, 4, 1, 2, {6}, {2}, {2}, {1}, {0}, {0}},
    {2, 1, 2, 3, {2}, {3}, {2}, {1}, {0}, {1}},
    {2, 1, 3, 2, {4, 5}, {3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 1}},
    {1, 1, 2, 2, {7, 6}, {3, 3}, {2, 1}, {1, 2}, {1, 2}, {1, 2}},
    {2, 3, 1, 1, {5, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {1, 0}},
    {2, 2, 2, 1, {6, 5}, {1, 3}, {3, 1}, {1, 1}, {0, 1}, {0, 1}},
    {1, 1, 1, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {1, 1, 2, 2, {3, 4, 3}, {2, 2, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 1}, {1, 0, 1}},
    {2, 2, 1, 2, {2, 3, 2}, {2, 1, 2}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}, {0, 0, 0}},
    {0, 1, 2, 2, {4}, {2}, {1}, {1}, {0}, {0}},
    {2, 1, 0, 2, {4}, {2}, {1}, {1}, {0}, {0}},
    {2, 1, 2, 0, {4}, {2}, {1}, {1}, {0}, {0}},
    {2, 1, 2, 2, {0}, {2}, {1}, {1}, {0}, {0}},
    {2, 1, 2, 3, {}, {}, {}, {}, {}, {}},
};

inline Ints concat(Ints first, const Ints& middle, const Ints& last) {
  first.insert(first.end(), middle.begin(), middle.end());
  first.insert(first.end(), last.begin(), last.end());
  return first;
}
inline Dims as_dims(const Ints& sizes) { return Dims(sizes.begin(), sizes.end()); }

inline Ints input_dims(const Geometry& g) {
  return concat({g.batch}, g.sizes, {g.groups * g.channels});
}
inline Ints filter_dims(const Geometry& g) {
  return concat({}, g.windows, {g.channels, g.groups * g.filters});
}
inline Ints output_dims(const Geometry& g) {
  return concat({g.batch}, g.positions(), {g.groups * g.filters});
}

inline std::size_t count_of(const Ints& dims) {
  std::int64_t count = 1;
  for (std::int64_t dim : dims) count *= dim;
  return static_cast<std::size_t>(count);
}
inline std::size_t flat(const Ints& index, const Ints& dims) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) offset = offset * dims[i] + index[i];
  return static_cast<std::size_t>(offset);
}
inline bool advance(Ints& index, const Ints& dims) {
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

/// Calls visit(input element, filter element, output element) for each product.
template <class Visit>
void for_each_product(const Geometry& g, const Visit& visit) {
  const std::size_t n = g.sizes.size();
  const Ints dims =
      concat(concat({g.batch}, g.positions(), {}), g.windows, {g.groups, g.channels, g.filters});
  if (count_of(dims) == 0) return;
  Ints i(dims.size(), 0);
  do {
    const Ints position(i.begin() + 1, i.begin() + 1 + static_cast<long>(n));
    const Ints window(i.begin() + 1 + static_cast<long>(n), i.end() - 3);
    const std::int64_t group = i[dims.size() - 3], channel = i[dims.size() - 2];
    const std::int64_t filter = group * g.filters + i.back();
    Ints at;
    bool inside = true;
    for (std::size_t k = 0; k < n; ++k) {
      at.push_back(position[k] * g.strides[k] + window[k] * g.dilations[k] - g.low[k]);
      inside = inside && at[k] >= 0 && at[k] < g.sizes[k];
    }
    if (!inside) continue;
    visit(flat(concat({i[0]}, at, {group * g.channels + channel}), input_dims(g)),
          flat(concat({}, window, {channel, filter}), filter_dims(g)),
          flat(concat({i[0]}, position, {filter}), output_dims(g)));
  } while (advance(i, dims));
}

inline ir::ConvAttrs attrs_of(const Geometry& g, ConvRole role) {
  const Ints positions = g.positions();
  const Ints& sizes = role == ConvRole::Input    ? g.sizes
                      : role == ConvRole::Filter ? g.windows
                                                 : positions;
  return {role, g.strides, g.dilations, as_dims(g.low), as_dims(g.high), as_dims(sizes), g.groups};
}

struct ConvTensors {
  Array input, filter, output;
};
/// Random tensors of all three roles; whole numbers for integers.
inline ConvTensors draw(const Geometry& g, DType dtype) {
  std::mt19937_64 generator(count_of(filter_dims(g)));
  const bool whole = !is_float(dtype);
  const auto of = [&](const Ints& dims) {
    return random_array(generator, {dtype, as_dims(dims)}, whole ? -4 : -1, whole ? 5 : 1);
  };
  return {of(input_dims(g)), of(filter_dims(g)), of(output_dims(g))};
}

/// The tensor of that role, computed from the other two.
inline Doubles by_loops(const Geometry& g, const ConvTensors& t, ConvRole role) {
  const Doubles x = doubles(t.input), w = doubles(t.filter), y = doubles(t.output);
  Doubles result(role == ConvRole::Input    ? x.size()
                 : role == ConvRole::Filter ? w.size()
                                            : y.size());
  for_each_product(g, [&](std::size_t i, std::size_t k, std::size_t o) {
    if (role == ConvRole::Input) result[i] += w[k] * y[o];
    if (role == ConvRole::Filter) result[k] += x[i] * y[o];
    if (role == ConvRole::Output) result[o] += x[i] * w[k];
  });
  return result;
}

/// The operands of a conv of that role.
inline std::vector<Array> operands_of(const ConvTensors& t, ConvRole role) {
  std::vector<Array> feeds;
  if (role != ConvRole::Input) feeds.push_back(t.input);
  if (role != ConvRole::Filter) feeds.push_back(t.filter);
  if (role != ConvRole::Output) feeds.push_back(t.output);
  return feeds;
}

}  // namespace kiln::test
