// The type rule and gradient of convolutions, and what one is in terms of windows and products.
#include "core/ops/window.h"

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

/// The three tensors of a convolution by role; the dims of the result are empty until inferred.
struct ConvDims {
  Dims input, kernel, output;
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
    case ConvRole::Input:  // of the kernel and the output
      return {around({second[0]}, a.sizes, {first[n] * a.groups}), first, second};
    case ConvRole::Kernel:  // of the input and the output
      return {first, around({}, a.sizes, {floor_div(first.back(), a.groups), second.back()}),
              second};
    case ConvRole::Output: break;
  }
  return {first, second, around({first[0]}, a.sizes, {second.back()})};
}

void require_groups(Inference& in, const ConvDims& dims, const Dim& groups) {
  const Dim &channels = dims.input.back(), &filters = dims.output.back();
  const Dim& taken = dims.kernel[dims.kernel.size() - 2];
  in.require_less_equal(1, groups, "groups ", groups, " are not positive");
  in.require_equal(channels, taken * groups, "the input has ", channels,
                   " channels, the kernel takes ", taken * groups);
  in.require_equal(filters, dims.kernel.back(), "the output has ", filters,
                   " channels, the kernel gives ", dims.kernel.back());
  if (groups.is_one()) return;
  in.require_equal(mod(filters, groups), 0, filters, " filters are no multiple of ", groups,
                   " groups");
}

void require_fit(Inference& in, const ConvDims& dims, const ConvAttrs& a) {
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const Dim &size = dims.input[i + 1], &places = dims.output[i + 1];
    in.require_less_equal(span_of(places, dims.kernel[i], a.strides[i], a.dilations[i]),
                          a.low[i] + size + a.high[i], "a kernel of ", dims.kernel[i], " at ",
                          places, " places leaves ", size, " elements with ", a.low[i], " and ",
                          a.high[i], " of padding");
  }
}

/// Padding and windows of an input: (batch, places.., channels.., windows..). `channels` are one
/// axis, or a group and the channels in it.
Value windows_of(const Value& input, const ConvAttrs& a, const ConvDims& dims,
                 const Dims& channels) {
  const std::size_t n = a.sizes.size();
  const Value x = reshape(input, around({dims.input[0]}, spatial(dims.input, 1, n), channels));
  Dims low(x.dims().size(), 0), high = low;
  std::copy(a.low.begin(), a.low.end(), low.begin() + 1);
  std::copy(a.high.begin(), a.high.end(), high.begin() + 1);
  const Value padded = pad(x, scalar_constant(x.dtype(), 0), low, high);
  return window(padded, {counting(1, n), spatial(dims.output, 1, n), spatial(dims.kernel, 0, n),
                         a.strides, a.dilations});
}

/// Labels of a convolution's products: 0 the batch, then places, windows, and these.
struct Labels {
  Ints places, windows;
  std::int64_t group, channel, filter;
  bool grouped;

  explicit Labels(std::size_t n, bool is_grouped)
      : places(counting(1, n)),
        windows(counting(static_cast<std::int64_t>(n) + 1, n)),
        group(2 * static_cast<std::int64_t>(n) + 1),
        channel(group + 1),
        filter(group + 2),
        grouped(is_grouped) {}

  Ints in_group(std::int64_t label) const {
    return grouped ? Ints{group, label} : Ints{label};
  }
  Ints windowed() const {  // what windows_of gives, and what a fold takes
    Ints labels{0};
    append(labels, places);
    append(labels, in_group(channel));
    append(labels, windows);
    return labels;
  }
  Ints kernel() const {
    Ints labels = windows;
    labels.push_back(channel);
    append(labels, in_group(filter));
    return labels;
  }
  Ints output() const {
    Ints labels{0};
    append(labels, places);
    append(labels, in_group(filter));
    return labels;
  }
};

/// The dims of the last axis when it is split into groups.
Dims split(const Dim& whole, const Dim& groups) {
  return groups.is_one() ? Dims{whole} : Dims{groups, floor_div(whole, groups)};
}

Value kernel_in_groups(const Value& kernel, const ConvAttrs& a) {
  Dims dims = kernel.dims();
  const Dims filters = split(dims.back(), a.groups);
  dims.pop_back();
  append(dims, filters);
  return reshape(kernel, dims);
}

Value output_in_groups(const Value& output, const ConvAttrs& a) {
  return kernel_in_groups(output, a);  // its last axis are the filters, too
}

Value input_of(const Value& kernel, const Value& output, const ConvAttrs& a, const ConvDims& dims,
               const Dims& channels, const Labels& labels) {
  const std::size_t n = a.sizes.size();
  const Value spread = dot(output_in_groups(output, a), labels.output(),
                           kernel_in_groups(kernel, a), labels.kernel(), labels.windowed());
  Dims padded = spatial(dims.input, 1, n);
  Dims start(n + 1 + channels.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    padded[i] = a.low[i] + padded[i] + a.high[i];
    start[i + 1] = a.low[i];
  }
  const Value folded = fold(spread, {counting(1, n), padded, a.strides, a.dilations});
  Dims limit = around({dims.input[0]}, spatial(dims.input, 1, n), channels);
  for (std::size_t i = 0; i < n; ++i) limit[i + 1] = limit[i + 1] + a.low[i];
  return reshape(slice(folded, start, limit), dims.input);
}

}  // namespace

std::vector<Type> infer_conv(Inference& in) {
  const auto& a = in.as<ConvAttrs>();
  const std::size_t n = a.sizes.size();
  const Type &first = in.type(0), &second = in.type(1);
  if (a.role < 0 || a.role > static_cast<std::int64_t>(ConvRole::Output)) {
    in.value_error(text("role ", a.role, " is none"));
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
  const auto role = static_cast<ConvRole>(a.role);
  const ConvDims dims = dims_of(role, a, first.dims, second.dims);
  in.require_equal(dims.input[0], dims.output[0], "batches ", dims.input[0], " and ",
                   dims.output[0], " differ");
  require_groups(in, dims, a.groups);
  require_fit(in, dims, a);
  const Dims& result = role == ConvRole::Input    ? dims.input
                       : role == ConvRole::Kernel ? dims.kernel
                                                  : dims.output;
  return {{first.dtype, result}};
}

Grads grad_conv(const Grad& g) {
  // The cotangent takes the place of the result, an operand becomes the result.
  const auto& a = g.node.as<ConvAttrs>();
  Value tensors[3];
  std::size_t places[2], next = 0;
  for (std::size_t role = 0; role < 3; ++role) {
    const bool is_result = static_cast<std::int64_t>(role) == a.role;
    tensors[role] = is_result ? g.dy[0] : g.x[next];
    if (!is_result) places[next++] = role;
  }
  Grads dx(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!g.wanted[i]) continue;
    ConvAttrs attrs = a;
    attrs.role = static_cast<std::int64_t>(places[i]);
    const std::size_t first = static_cast<ConvRole>(attrs.role) == ConvRole::Kernel ? 0 : 1;
    attrs.sizes = spatial(g.x[i].dims(), first, a.sizes.size());
    std::vector<Value> operands;
    for (std::size_t role = 0; role < 3; ++role) {
      if (role != places[i]) operands.push_back(tensors[role]);
    }
    dx[i] = make(Op::Conv, attrs, operands);
  }
  return dx;
}

std::vector<Value> expand_conv(const Node& node, std::span<const Value> operands) {
  const auto& a = node.as<ConvAttrs>();
  const auto role = static_cast<ConvRole>(a.role);
  const Value &first = operands[0], &second = operands[1];
  const ConvDims dims = dims_of(role, a, first.dims(), second.dims());
  const Dims channels = split(dims.input.back(), a.groups);
  const Labels labels(a.sizes.size(), !a.groups.is_one());
  switch (role) {
    case ConvRole::Input: return {input_of(first, second, a, dims, channels, labels)};
    case ConvRole::Kernel: {
      const Value kernel = dot(windows_of(first, a, dims, channels), labels.windowed(),
                               output_in_groups(second, a), labels.output(), labels.kernel());
      return {reshape(kernel, dims.kernel)};
    }
    case ConvRole::Output: break;
  }
  const Value output = dot(windows_of(first, a, dims, channels), labels.windowed(),
                           kernel_in_groups(second, a), labels.kernel(), labels.output());
  return {reshape(output, dims.output)};
}

}  // namespace kiln::ir
