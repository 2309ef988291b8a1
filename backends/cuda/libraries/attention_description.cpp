// The limits are those of cuDNN 9.19 for sm_80, sm_90 and sm_100, found without a device; other
// devices of these generations are taken to have the same.
#include "backends/cuda/libraries/attention_description.h"

#include "backends/codegen/bind/attention_shape.h"
#include "core/ops/convert.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <cmath>

namespace kiln::cuda {
namespace {

constexpr std::int64_t kVector = 8;  // elements of a vector of 16 bytes
constexpr std::int64_t kMaxDepth = 256;
constexpr std::int64_t kMaxGradientDepth = 128;  // 256 on sm_90

bool is_depth(const ir::Dim& dim, std::int64_t max_depth) {
  if (!dim.is_static()) return false;
  return dim.value() >= kVector && dim.value() <= max_depth && dim.value() % kVector == 0;
}

/// The factor of the scores; empty: the scale is not a constant.
std::optional<float> constant_scale(const ir::Node& node) {
  const ir::Value& scale = node.operands[3];
  if (scale.node->op != ir::Op::Constant) return std::nullopt;
  const std::byte* bytes = scale.node->as<ir::ConstantAttrs>().data.bytes->data();
  double value = 0;
  ir::load_floating(scale.dtype(), bytes, &value, 1);
  return static_cast<float>(node.as<ir::AttentionAttrs>().divides ? 1 / value : value);
}

}  // namespace

std::optional<std::string> rejection_of_half_attention(const ir::Node& node) {
  const bool is_gradient = node.op == ir::Op::AttentionGradient;
  const DType dtype = node.types[0].dtype;
  if (codegen::has_bias(node)) {
    return text("a bias may mask all keys of a query, for which cuDNN is not used in ", dtype);
  }
  const auto scale = constant_scale(node);
  if (!scale || !std::isnormal(*scale) || *scale < 0) {
    return text("cuDNN takes a positive constant as the scale in ", dtype);
  }
  const ir::Dim &d = node.operands[0].dims().back(), &e = node.operands[2].dims().back();
  const std::int64_t max_depth = is_gradient ? kMaxGradientDepth : kMaxDepth;
  if (is_depth(d, max_depth) && is_depth(e, max_depth)) return std::nullopt;
  return text("cuDNN takes depths that are multiples of ", kVector, " up to ", max_depth, " in ",
              dtype, ", not ", d, " and ", e);
}

AttentionDescription describe(const ir::Node& node, const codegen::AttentionShape& shape,
                              std::int64_t matrices) {
  return {.is_gradient = shape.is_gradient,
          .dtype = node.operands[0].dtype(),
          .matrices = matrices,
          .t = shape.t,
          .s = shape.s,
          .d = shape.d,
          .e = shape.e,
          .causal = shape.causal,
          .scale = constant_scale(node).value()};
}

std::string text_of(const AttentionDescription& attention) {
  const auto [is_gradient, dtype, n, t, s, d, e, causal, scale] = attention;
  return text(is_gradient ? "gradient " : "", dtype, ", q ", n, "x", t, "x", d, ", k ", n, "x", s,
              "x", d, ", v ", n, "x", s, "x", e, causal ? ", causal" : "");
}

}  // namespace kiln::cuda
