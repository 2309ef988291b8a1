// Pads the input by a node of its own; of backward data, slices the result.
#include "backends/codegen/graph/make_padding_symmetric.h"

#include "core/ops/build.h"
#include "core/ops/op.h"
#include "core/types/at.h"

namespace kiln::codegen {
namespace {

using ir::ConvAttrs;
using ir::ConvRole;
using ir::Dims;
using ir::Value;

/// The sizes of spatial axis i of a convolution's tensors.
struct Axis {
  ir::Dim input, window, output;
};
Axis axis_of(const ir::Node& conv, std::size_t i) {
  const ConvRole role = conv.as<ConvAttrs>().role;
  const auto size = [&](ConvRole tensor) {  // operands are the other tensors, in the order of roles
    if (tensor == role) return conv.types[0].dims;
    const std::size_t number = at(static_cast<int>(tensor));
    return conv.operands[tensor < role ? number : number - 1].dims();
  };
  return {size(ConvRole::Input)[i + 1], size(ConvRole::Filter)[i], size(ConvRole::Output)[i + 1]};
}

/// Whether the output has an element for every window that fits, for all sizes.
bool output_covers_all_windows(const ir::Node& conv, std::size_t i) {
  const auto& attrs = conv.as<ConvAttrs>();
  const Axis axis = axis_of(conv, i);
  const ir::Dim span = (axis.window - 1) * attrs.dilations[i] + 1;
  const ir::Dim slack = axis.input + attrs.low[i] + attrs.high[i] - span;
  return ir::equal(ir::floor_div(slack, attrs.strides[i]) + 1, axis.output) == ir::Ternary::Yes;
}

bool is_symmetric(const ir::Node& conv) {
  for (std::size_t i = 0; i < conv.as<ConvAttrs>().strides.size(); ++i) {
    const ExcessPadding excess = excess_padding(conv, i);
    if (excess.low != ir::Dim(0) || excess.high != ir::Dim(0)) return false;
  }
  return true;
}

/// The excess of each axis of the input, [batch, spatial.., channels].
struct Excess {
  Dims low{0}, high{0};
};

/// Takes the excess from the padding of `attrs`, a copy of the node's; adds it to the sizes of
/// backward data.
Excess remove_excess(const ir::Node& conv, ConvAttrs& attrs) {
  Excess excess;
  for (std::size_t i = 0; i < attrs.strides.size(); ++i) {
    const auto [low, high] = excess_padding(conv, i);
    attrs.low[i] = attrs.low[i] - low;
    attrs.high[i] = attrs.high[i] - high;
    if (attrs.role == ConvRole::Input) attrs.sizes[i] = attrs.sizes[i] + low + high;
    excess.low.push_back(low);
    excess.high.push_back(high);
  }
  for (Dims* dims : {&excess.low, &excess.high}) dims->push_back(0);
  return excess;
}

Value without_excess(const Value& padded, const Excess& excess) {
  Dims limit;
  for (std::size_t i = 0; i < excess.high.size(); ++i) {
    limit.push_back(padded.dims()[i] - excess.high[i]);
  }
  return ir::slice(padded, excess.low, limit);
}

Value with_symmetric_padding(const ir::Node& conv) {
  ConvAttrs attrs = conv.as<ConvAttrs>();
  const Excess excess = remove_excess(conv, attrs);
  std::vector<Value> operands = conv.operands;
  if (attrs.role == ConvRole::Input) {
    return without_excess(ir::make(ir::Op::Conv, attrs, operands), excess);
  }
  const Value zero = ir::scalar_constant(operands[0].dtype(), 0);
  operands[0] = ir::pad(operands[0], zero, excess.low, excess.high);
  return ir::make(ir::Op::Conv, attrs, operands);
}

}  // namespace

ExcessPadding excess_padding(const ir::Node& conv, std::size_t i) {
  const auto& attrs = conv.as<ConvAttrs>();
  const ir::Dim &low = attrs.low[i], &high = attrs.high[i];
  if (!output_covers_all_windows(conv, i)) return {low, high};
  const ir::Dim kept = ir::min(low, high);
  return {low - kept, high - kept};
}

std::vector<Value> make_padding_symmetric(const std::vector<Value>& results,
                                          const LibraryClaims* library) {
  if (library == nullptr || !library->requires_symmetric_padding()) return results;
  const auto change = [&](const ir::NodeRef& node) -> std::vector<Value> {
    if (node->op != ir::Op::Conv) return ir::results_of(node);
    if (is_symmetric(*node) || !is_taken(*node, library)) return ir::results_of(node);
    return {with_symmetric_padding(*node)};
  };
  return rewrite_everywhere(results, library, make_padding_symmetric, change);
}

}  // namespace kiln::codegen
