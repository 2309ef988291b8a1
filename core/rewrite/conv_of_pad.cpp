// The input is [batch, spatial.., channels]; behind a Permute, the Pad has its axes in another
// order.
#include "core/rewrite/conv_of_pad.h"

#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/types/at.h"

#include <algorithm>
#include <numeric>

namespace kiln::rewrite {
namespace {

using ir::ConvAttrs;
using ir::ConvRole;
using ir::Dim;
using ir::Ints;
using ir::Node;
using ir::Op;
using ir::Value;

bool is_zero(const Value& value) {
  if (value.node->op != Op::Constant) return false;
  const auto& bytes = *value.node->as<ir::ConstantAttrs>().data.bytes;
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

bool adds_zeros(const Node& pad) {
  const Ints& interior = pad.as<ir::PadAttrs>().interior;
  return is_zero(pad.operands[1]) &&
         std::all_of(interior.begin(), interior.end(), [](std::int64_t i) { return i == 0; });
}

/// Whether a convolution may pad an axis by that amount.
bool is_padding(const Dim& amount, bool is_spatial) {
  return is_spatial ? ir::less_equal(0, amount) == ir::Ternary::Yes : amount == Dim(0);
}

}  // namespace

Value conv_of_pad(const Node& node) {
  ConvAttrs attrs = node.as<ConvAttrs>();
  if (attrs.role == ConvRole::Input) return {};
  const Node& direct = *node.operands[0].node;
  const bool permutes = direct.op == Op::Permute;
  const Node& pad = permutes ? *direct.operands[0].node : direct;
  if (pad.op != Op::Pad || !adds_zeros(pad)) return {};
  const std::size_t rank = node.operands[0].dims().size();
  Ints axes(rank);  // of the Pad, by axis of the input
  std::iota(axes.begin(), axes.end(), 0);
  if (permutes) axes = direct.as<ir::AxesAttrs>().axes;
  const auto& [low, high, interior] = pad.as<ir::PadAttrs>();
  for (std::size_t i = 0; i < rank; ++i) {
    const bool is_spatial = i > 0 && i + 1 < rank;
    const Dim &before = low[at(axes[i])], &after = high[at(axes[i])];
    if (!is_padding(before, is_spatial) || !is_padding(after, is_spatial)) return {};
    if (!is_spatial) continue;
    attrs.low[i - 1] = attrs.low[i - 1] + before;
    attrs.high[i - 1] = attrs.high[i - 1] + after;
  }
  const Value& x = pad.operands[0];
  return ir::make(Op::Conv, attrs, {permutes ? ir::permute(x, axes) : x, node.operands[1]});
}

std::vector<Value> conv_of_pad_examples(DType dtype) {
  if (dtype == DType::Bool) return {};
  const auto sample = [&](const ir::Dims& dims) {
    return ir::LambdaBuilder({{dtype, dims}}).parameters()[0];
  };
  const Value zero = ir::scalar_constant(dtype, 0);
  const Value rows = ir::pad(sample({2, 3, 4, 2}), zero, {0, 2, 1, 0}, {0, 0, 3, 0});
  const Value planes = ir::pad(sample({2, 2, 3, 4}), zero, {0, 0, 2, 1}, {0, 0, 0, 3});
  ConvAttrs attrs{ConvRole::Output, {1, 2}, {1, 1}, {1, 0}, {0, 0}, {5, 3}, 1};
  const Value filter = sample({2, 3, 2, 3});
  std::vector<Value> examples{
      ir::make(Op::Conv, attrs, {rows, filter}),
      ir::make(Op::Conv, attrs, {ir::permute(planes, {0, 2, 3, 1}), filter})};
  attrs.role = ConvRole::Filter;
  attrs.sizes = {2, 3};
  examples.push_back(ir::make(Op::Conv, attrs, {rows, sample({2, 5, 3, 3})}));
  return examples;
}

}  // namespace kiln::rewrite
