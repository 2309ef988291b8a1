// Computes window positions and padding by the formulas at the top of core/kiln/convolution.h.
#include "core/k/image/sliding_impl.h"

#include <numeric>

namespace kiln {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;

Padding padding_of(const std::string& name, bool causal) {
  if (name == "valid") return Padding::Valid;
  if (name == "same") return Padding::Same;
  if (causal && name == "causal") return Padding::Causal;
  Call::value_error("padding", text("padding '", name, "' is neither 'valid'",
                                    causal ? ", 'same' nor 'causal'" : " nor 'same'"));
}

Ints steps_of(const Steps& steps, std::size_t count, const char* argument) {
  Ints list = steps.steps();
  if (list.size() == 1) list.assign(count, list[0]);
  if (list.size() != count) {
    Call::value_error(argument, text(argument, " (", join_text(list), ") has ", list.size(),
                                     " entries for ", count, " spatial axes"));
  }
  for (std::int64_t step : list) {
    if (step < 1) Call::value_error(argument, text(argument, " ", step, " is not positive"));
  }
  return list;
}

Sliding sliding_of(const Value& input, const Dims& windows, const Ints& strides,
                   const Ints& dilations, Padding padding, const char* argument) {
  Sliding result{.positions = {}, .low = {}, .high = {}, .input = input};
  Dims smallest(input.dims().size(), 0);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Dim& size = input.dims()[i + 1];
    const Dim width = (windows[i] - 1) * Dim(dilations[i]) + 1, stride = strides[i];
    if (padding == Padding::Valid) {
      if (less_equal(width, size) == ir::Ternary::No) {
        Call::value_error(argument, text("a window over ", width, " elements does not fit into ",
                                         size, " of spatial axis ", i, " (x ", input.type(), ")"));
      }
      smallest[i + 1] = width;
      result.positions.push_back(floor_div(size - width, stride) + 1);
      result.low.push_back(0);
      result.high.push_back(0);
      continue;
    }
    const Dim positions = ceil_div(size, stride);
    result.positions.push_back(positions);
    if (padding == Padding::Causal) {
      result.low.push_back(width - 1);
      result.high.push_back(0);
      continue;
    }
    const Dim total = max((positions - 1) * stride + width - size, 0);
    result.low.push_back(floor_div(total, 2));
    result.high.push_back(total - result.low.back());
  }
  result.input = ir::fits(input, smallest);
  return result;
}

Value channels_to_end(const Value& x, DataFormat format) {
  if (format == DataFormat::ChannelsLast) return x;
  Ints axes(x.dims().size());
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + 1);
  axes.push_back(1);
  return ir::permute(x, axes);
}

Value channels_from_end(const Value& x, DataFormat format) {
  if (format == DataFormat::ChannelsLast) return x;
  Ints axes(x.dims().size() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  axes.insert(axes.begin() + 1, static_cast<std::int64_t>(axes.size()));
  return ir::permute(x, axes);
}

}  // namespace kiln
