// Rejects convolutions beyond the limits of cuDNN, each with a reason.
#include "backends/cuda/libraries/cudnn_claims.h"

#include "backends/codegen/graph/make_padding_symmetric.h"
#include "core/ops/halves.h"
#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::cuda {
namespace {

/// The elements by which codegen::make_padding_symmetric() enlarges an axis of the image, if these
/// are more than kMaxGrowth and than the axis has.
std::optional<std::int64_t> large_growth(const ir::Node& conv) {
  constexpr std::int64_t kMaxGrowth = 4096;
  const bool is_result = conv.as<ir::ConvAttrs>().role == ir::ConvRole::Input;
  const ir::Dims& image = is_result ? conv.types[0].dims : conv.operands[0].dims();
  for (std::size_t i = 1; i + 1 < image.size(); ++i) {
    const auto [low, high] = codegen::excess_padding(conv, i - 1);
    const ir::Dim growth = low + high;
    if (!growth.is_static() || growth.value() <= kMaxGrowth) continue;
    if (!image[i].is_static() || growth.value() > image[i].value()) return growth.value();
  }
  return std::nullopt;
}

const ir::Dims& filter_dims(const ir::Node& conv) {
  switch (conv.as<ir::ConvAttrs>().role) {
    case ir::ConvRole::Filter: return conv.types[0].dims;
    case ir::ConvRole::Input: return conv.operands[0].dims();
    case ir::ConvRole::Output: break;
  }
  return conv.operands[1].dims();
}

bool is_multiple(const ir::Dim& dim, std::int64_t of) {
  return dim.is_static() && dim.value() % of == 0;
}

/// cuDNN has engines of 16-bit floats for whole vectors of 16 bytes along the channels.
/// codegen::widen_composites() computes the other convolutions in float32.
std::optional<std::string> rejection_of_half(const ir::Node& node) {
  constexpr std::int64_t kChannels = 8;
  const DType dtype = node.types[0].dtype;
  if (!node.as<ir::ConvAttrs>().groups.is_one()) {
    return text("cuDNN takes one group of channels in ", dtype);
  }
  const ir::Dims& filter = filter_dims(node);
  const ir::Dim &channels = filter.end()[-2], &filters = filter.back();
  if (is_multiple(channels, kChannels) && is_multiple(filters, kChannels)) return std::nullopt;
  return text("cuDNN takes multiples of ", kChannels, " channels and filters in ", dtype, ", not ",
              channels, " and ", filters);
}

}  // namespace

std::optional<std::string> CudnnClaims::rejection_of_convolution(const ir::Node& node) const {
  constexpr std::size_t kMaxAxes = 3;
  const auto& attrs = node.as<ir::ConvAttrs>();
  const DType dtype = node.types[0].dtype;
  if (!is_float(dtype)) return text("cuDNN is used for floats alone, not for ", dtype);
  if (attrs.sizes.empty() || attrs.sizes.size() > kMaxAxes) {
    return text("cuDNN takes 1 to ", kMaxAxes, " spatial axes, not ", attrs.sizes.size());
  }
  if (const auto growth = large_growth(node)) {
    return text("cuDNN takes symmetric padding alone: the image would grow by ", *growth,
                " elements of an axis");
  }
  if (!attrs.groups.is_static()) return text("the number of groups is not known: ", attrs.groups);
  return ir::is_half(dtype) ? rejection_of_half(node) : std::nullopt;
}

std::optional<std::string> CudnnClaims::rejection_of_epilogue(const ir::Node& node,
                                                              codegen::EpilogueOp op) const {
  if (op == codegen::EpilogueOp::Bias) return "cuDNN has few engines that add a bias";
  if (op == codegen::EpilogueOp::Relu) return "it is not verified that cuDNN's relu keeps NaN";
  return LibraryClaims::rejection_of_epilogue(node, op);
}

}  // namespace kiln::cuda
