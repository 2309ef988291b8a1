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

/// The excess padding of each axis of the input, [batch, spatial.., channels].
struct Excess {
  Dims low{0}, high{0};
};

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

/// The padding that both ends of an axis keep.
ir::Dim kept_padding(const ir::Node& conv, std::size_t i) {
  const auto& attrs = conv.as<ConvAttrs>();
  return output_covers_all_windows(conv, i) ? ir::min(attrs.low[i], attrs.high[i]) : ir::Dim(0);
}

bool is_symmetric(const ir::Node& conv) {
  const auto& attrs = conv.as<ConvAttrs>();
  for (std::size_t i = 0; i < attrs.strides.size(); ++i) {
    const ir::Dim kept = kept_padding(conv, i);
    if (attrs.low[i] != kept || attrs.high[i] != kept) return false;
  }
  return true;
}

/// Sets the padding of `attrs`, a copy of the node's, to what is kept, and the sizes of backward
/// data to those of the input with the excess.
Excess remove_excess(const ir::Node& conv, ConvAttrs& attrs) {
  Excess excess;
  for (std::size_t i = 0; i < attrs.strides.size(); ++i) {
    const ir::Dim kept = kept_padding(conv, i);
    excess.low.push_back(attrs.low[i] - kept);
    excess.high.push_back(attrs.high[i] - kept);
    attrs.low[i] = attrs.high[i] = kept;
    if (attrs.role != ConvRole::Input) continue;
    attrs.sizes[i] = attrs.sizes[i] + excess.low.back() + excess.high.back();
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
