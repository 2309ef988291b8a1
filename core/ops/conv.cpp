// Type rule, gradient and expansion of Conv. The expansion is im2col: Window, then Dot for the
// forward convolution and backward weights; Dot, then Fold (col2im) for backward data.
//
//   forward            output = dot(window(pad(input)), filter)
//   backward weights   filter = dot(window(pad(input)), output)
//   backward data      input  = slice(fold(dot(output, filter)))
#include "core/ops/window.h"

#include "core/ops/halves.h"

#include <algorithm>
#include <numeric>

namespace kiln::ir {
namespace {

Ints counting(std::int64_t first, std::size_t count) {
  Ints numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

void append(Ints& list, const Ints& more) { list.insert(list.end(), more.begin(), more.end()); }
void append(Dims& list, const Dims& more) { list.insert(list.end(), more.begin(), more.end()); }

/// The dims of the three tensors of a convolution.
struct ConvDims {
  Dims input, filter, output;
};

Dims spatial(const Dims& dims, std::size_t first, std::size_t count) {
  const auto begin = dims.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// [outer, sizes.., inner..].
Dims around(const Dims& outer, const Dims& sizes, const Dims& inner) {
  Dims dims = outer;
  append(dims, sizes);
  append(dims, inner);
  return dims;
}

ConvDims dims_of(ConvRole role, const ConvAttrs& a, const Dims& first, const Dims& second) {
  const std::size_t n = a.sizes.size();
  switch (role) {
    case ConvRole::Input:  // from the filter and the output
      return {around({second[0]}, a.sizes, {first[n] * a.groups}), first, second};
    case ConvRole::Filter:  // from the input and the output
      return {first, around({}, a.sizes, {floor_div(first.back(), a.groups), second.back()}),
              second};
    case ConvRole::Output: break;
  }
  return {first, second, around({first[0]}, a.sizes, {second.back()})};
}

void require_groups(Inference& in, const ConvDims& dims, const Dim& groups) {
  const Dim &channels = dims.input.back(), &filters = dims.output.back();
  const Dim& taken = dims.filter[dims.filter.size() - 2];
  in.require_less_equal(1, groups, "groups ", groups, " are not positive");
  in.require_equal(channels, taken * groups, "the input has ", channels,
                   " channels, the kernel takes ", taken * groups);
  in.require_equal(filters, dims.filter.back(), "the output has ", filters,
                   " channels, the kernel gives ", dims.filter.back());
  if (groups.is_one()) return;
  in.require_equal(mod(filters, groups), 0, filters, " filters are not a multiple of ", groups,
                   " groups");
}

void require_fit(Inference& in, const ConvDims& dims, const ConvAttrs& a) {
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const Dim &size = dims.input[i + 1], &positions = dims.output[i + 1];
    in.require_less_equal(span_of(positions, dims.filter[i], a.strides[i], a.dilations[i]),
                          a.low[i] + size + a.high[i], "a kernel of ", dims.filter[i], " at ",
                          positions, " positions does not fit into ", size, " elements with ",
                          a.low[i], " and ", a.high[i], " of padding");
  }
}

/// The windows of the padded input: (batch, positions.., channels.., windows..). `channels` are one
/// axis, or groups and the channels in a group.
Value windows_of(const Value& input, const ConvAttrs& a, const ConvDims& dims,
                 const Dims& channels) {
  const std::size_t n = a.sizes.size();
  const Value x = reshape(input, around({dims.input[0]}, spatial(dims.input, 1, n), channels));
  Dims low(x.dims().size(), 0), high = low;
  std::copy(a.low.begin(), a.low.end(), low.begin() + 1);
  std::copy(a.high.begin(), a.high.end(), high.begin() + 1);
  const Value padded = pad(x, scalar_constant(x.dtype(), 0), low, high);
  return window(padded, {.axes = counting(1, n),
                         .counts = spatial(dims.output, 1, n),
                         .sizes = spatial(dims.filter, 0, n),
                         .strides = a.strides,
                         .dilations = a.dilations});
}

/// The Dot labels of a convolution: 0 for the batch, then window positions, windows, group, channel
/// and filter.
struct Labels {
  Ints positions, windows;
  std::int64_t group, channel, filter;
  bool grouped;

  explicit Labels(std::size_t n, bool is_grouped)
      : positions(counting(1, n)),
        windows(counting(static_cast<std::int64_t>(n) + 1, n)),
        group(2 * static_cast<std::int64_t>(n) + 1),
        channel(group + 1),
        filter(group + 2),
        grouped(is_grouped) {}

  Ints in_group(std::int64_t label) const { return grouped ? Ints{group, label} : Ints{label}; }
  Ints windowed() const {  // of windows_of(), and of the operand of Fold
    Ints labels{0};
    append(labels, positions);
    append(labels, in_group(channel));
    append(labels, windows);
    return labels;
  }
  Ints filters() const {
    Ints labels = windows;
    labels.push_back(channel);
    append(labels, in_group(filter));
    return labels;
  }
  Ints output() const {
    Ints labels{0};
    append(labels, positions);
    append(labels, in_group(filter));
    return labels;
  }
};

/// The dims of a channel axis: {groups, channels per group}, or one axis if there is one group.
Dims grouped_dims(const Dim& channels, const Dim& groups) {
  return groups.is_one() ? Dims{channels} : Dims{groups, floor_div(channels, groups)};
}

/// Splits the last axis, the filters, of a filter or an output into groups.
Value with_grouped_filters(const Value& x, const ConvAttrs& a) {
  Dims dims = x.dims();
  const Dims filters = grouped_dims(dims.back(), a.groups);
  dims.pop_back();
  append(dims, filters);
  return reshape(x, dims);
}

/// Backward data.
Value input_of(const Value& filter, const Value& output, const ConvAttrs& a, const ConvDims& dims,
               const Dims& channels, const Labels& labels) {
  const std::size_t n = a.sizes.size();
  // Windows of one element do not overlap: the Dot then rounds the result itself.
  const bool overlaps = !product(spatial(dims.filter, 0, n)).is_one();
  const auto summed = [&](const Value& x) { return overlaps ? widened(x) : x; };
  const Value windows =
      dot(with_grouped_filters(summed(output), a), labels.output(),
          with_grouped_filters(summed(filter), a), labels.filters(), labels.windowed());
  Dims padded = spatial(dims.input, 1, n);
  Dims start(n + 1 + channels.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    padded[i] = a.low[i] + padded[i] + a.high[i];
    start[i + 1] = a.low[i];
  }
  const Value folded = fold(
      windows,
      {.axes = counting(1, n), .sizes = padded, .strides = a.strides, .dilations = a.dilations});
  Dims limit = around({dims.input[0]}, spatial(dims.input, 1, n), channels);
  for (std::size_t i = 0; i < n; ++i) limit[i + 1] = limit[i + 1] + a.low[i];
  return cast(reshape(slice(folded, start, limit), dims.input), filter.dtype());
}

}  // namespace

std::vector<Type> infer_conv(Inference& in) {
  const auto& a = in.as<ConvAttrs>();
  const std::size_t n = a.sizes.size();
  const Type &first = in.type(0), &second = in.type(1);
  if (a.role < ConvRole::Input || a.role > ConvRole::Output) {
    in.value_error(text("role ", static_cast<std::int64_t>(a.role), " is unknown"));
  }
  if (first.dtype != second.dtype) in.type_error("operands have different dtypes");
  if (first.dims.size() != n + 2 || second.dims.size() != n + 2) {
    in.value_error(text("operands of ", n, " spatial axes do not have rank ", n + 2));
  }
  require_sizes(in, a.sizes, n, "sizes");
  require_sizes(in, a.low, n, "padding");
  require_sizes(in, a.high, n, "padding");
  require_steps(in, a.strides, n, "strides");
  require_steps(in, a.dilations, n, "dilations");
  const ConvDims dims = dims_of(a.role, a, first.dims, second.dims);
  in.require_equal(dims.input[0], dims.output[0], "batches ", dims.input[0], " and ",
                   dims.output[0], " differ");
  require_groups(in, dims, a.groups);
  require_fit(in, dims, a);
  const Dims& result = a.role == ConvRole::Input    ? dims.input
                       : a.role == ConvRole::Filter ? dims.filter
                                                    : dims.output;
  return {{first.dtype, result}};
}

Grads grad_conv(const Grad& g) {
  // The cotangent stands for the result, and the operand becomes the result: input, filter and
  // output keep their roles in all three convolutions.
  const auto& a = g.node.as<ConvAttrs>();
  Value tensors[3];  // by role
  std::size_t operand_roles[2], next = 0;
  for (std::size_t role = 0; role < 3; ++role) {
    const bool is_result = static_cast<ConvRole>(role) == a.role;
    tensors[role] = is_result ? g.dy[0] : g.x[next];
    if (!is_result) operand_roles[next++] = role;
  }
  Grads dx(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!g.wanted[i]) continue;
    ConvAttrs attrs = a;
    attrs.role = static_cast<ConvRole>(operand_roles[i]);
    const std::size_t first = attrs.role == ConvRole::Filter ? 0 : 1;
    attrs.sizes = spatial(g.x[i].dims(), first, a.sizes.size());
    std::vector<Value> operands;
    for (std::size_t role = 0; role < 3; ++role) {
      if (role != operand_roles[i]) operands.push_back(tensors[role]);
    }
    dx[i] = make(Op::Conv, attrs, operands);
  }
  return dx;
}

std::vector<Value> expand_conv(const Node& node, std::span<const Value> operands) {
  const auto& a = node.as<ConvAttrs>();
  const Value &first = operands[0], &second = operands[1];
  const ConvDims dims = dims_of(a.role, a, first.dims(), second.dims());
  const Dims channels = grouped_dims(dims.input.back(), a.groups);
  const Labels labels(a.sizes.size(), !a.groups.is_one());
  switch (a.role) {
    case ConvRole::Input: return {input_of(first, second, a, dims, channels, labels)};
    case ConvRole::Filter: {
      const Value filter = dot(windows_of(first, a, dims, channels), labels.windowed(),
                               with_grouped_filters(second, a), labels.output(), labels.filters());
      return {reshape(filter, dims.filter)};
    }
    case ConvRole::Output: break;
  }
  const Value output = dot(windows_of(first, a, dims, channels), labels.windowed(),
                           with_grouped_filters(second, a), labels.filters(), labels.output());
  return {reshape(output, dims.output)};
}

}  // namespace kiln::ir
