// Imports Attention.
#include "core/k/base/tensor_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/types/at.h"

#include <cmath>
#include <limits>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

class AttentionNode {
 public:
  explicit AttentionNode(NodeContext& node) : node_(node) {
    q_ = heads(node.input(0), "q_num_heads");
    k_ = with_past(heads(node.input(1), "kv_num_heads"), 4);
    v_ = with_past(heads(node.input(2), "kv_num_heads"), 5);
    const Dim &all = q_.dims()[1], &own = k_.dims()[1];
    is_shared_ = equal(all, own) != ir::Ternary::Yes;
    shared_ = is_shared_ ? floor_div(all, own) : Dim(1);
    score_dims_ = {q_.dims()[0], all, q_.dims()[2], k_.dims()[2]};
  }

  /// Y, present_key, present_value, qk_matmul_output.
  Values run() {
    const std::int64_t mode = node_.integer("qk_matmul_output_mode", 0);
    const double cap = node_.number("softcap", 0);
    const Value raw = scores();
    const Value capped = cap == 0 ? raw : ir::unary(Op::Tanh, raw * (1 / cap)) * cap;
    const Value bias = bias_of();
    const Value biased = bias ? capped + ir::broadcast_to(bias, score_dims_) : capped;
    const Value weights = probabilities(capped, bias);
    const Value inspected[] = {raw, capped, biased, weights};
    if (mode < 0 || mode > 3) node_.fail(text("qk_matmul_output_mode is ", mode, ", not 0 to 3"));
    return {output(weights), k_, v_, inspected[mode]};
  }

 private:
  /// Axes of a Dot: kShared counts the query heads that share a head of keys and values.
  enum Label : std::int64_t { kBatch, kHead, kShared, kQuery, kKey, kDepth };
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// (batch, time, heads * depth) as (batch, heads, time, depth).
  Value heads(const Value& x, const char* attribute) const {
    if (x.rank() == 4) return x;
    if (x.rank() != 3)
      node_.fail(text("Q, K or V has rank ", x.rank(), ", not 3 or 4 (", x.type(), ")"));
    const Dim count = node_.positive(attribute);
    const Dims& dims = x.dims();
    return ir::permute(ir::reshape(x, {dims[0], dims[1], count, floor_div(dims[2], count)}),
                       {0, 2, 1, 3});
  }

  Value with_past(const Value& x, std::size_t input) const {
    return node_.has(input) ? ir::concat({node_.input(input), x}, 2) : x;
  }

  /// Query heads as (heads, shared), where heads share keys.
  Value split_heads(const Value& x) const {
    if (!is_shared_) return x;
    Dims dims = x.dims();
    dims[1] = k_.dims()[1];
    dims.insert(dims.begin() + 2, shared_);
    return ir::reshape(x, dims);
  }
  Ints without_shared(Ints labels) const {
    if (!is_shared_) std::erase(labels, kShared);
    return labels;
  }

  /// Q K^T scale; each operand is multiplied by sqrt(scale), as ONNX has it.
  Value scores() const {
    const Dim& depth = q_.dims()[3];
    double scale = node_.number("scale", 0);
    if (!node_.has_attribute("scale")) {
      if (!depth.is_static()) node_.fail("the size of a head is unknown, and there is no scale");
      scale = 1 / std::sqrt(static_cast<double>(depth.value()));
    }
    const Value product = ir::dot(split_heads(q_ * std::sqrt(scale)),
                                  without_shared({kBatch, kHead, kShared, kQuery, kDepth}),
                                  k_ * std::sqrt(scale), {kBatch, kHead, kKey, kDepth},
                                  without_shared({kBatch, kHead, kShared, kQuery, kKey}));
    return ir::reshape(product, score_dims_);
  }

  /// The given mask, with as many keys as there are: others are masked.
  Value given_mask() const {
    if (!node_.has(3)) return {};
    const Value mask = node_.input(3);
    if (mask.rank() < 1 || mask.rank() > 4) {
      node_.fail(text("attn_mask has rank ", mask.rank(), ", not 1 to 4 (", mask.type(), ")"));
    }
    const Dim total = score_dims_[3], own = mask.dims().back();
    const bool is_one = own.is_one() && node_.opset() < 24;
    if (is_one || equal(own, total) == ir::Ternary::Yes) return mask;
    const double fill = mask.dtype() == DType::Bool ? 0 : -kInfinity;
    Dims low(at(mask.rank()), 0), high = low;
    high.back() = total - own;
    return ir::pad(mask, ir::scalar_constant(mask.dtype(), fill), low, high);
  }

  /// The number of keys before the first query: of the past, or of a cache without its padding.
  Value offset(const Dims& dims) const {
    if (node_.has(4)) {
      return ir::broadcast_to(ir::dim_size(node_.input(4).dims()[2]), dims);
    }
    if (!node_.has(6)) return ir::full(DType::Int64, dims, 0);
    const Value length = ir::cast(node_.input(6), DType::Int64);
    const Value before = length - ir::broadcast_to(ir::dim_size(score_dims_[2]), length.dims());
    return ir::broadcast(before, dims, {0});
  }

  /// Which keys a query may see by position: (batch or 1, 1, queries, keys); empty if all.
  Value visible() const {
    const std::int64_t left = node_.integer("left_window_size", -1);
    std::int64_t right = node_.integer("right_window_size", -1);
    const bool is_causal = node_.integer("is_causal", 0) != 0;
    if (is_causal) right = 0;
    const bool has_lengths = node_.has(6);
    Dims dims = score_dims_;
    dims[1] = 1;
    if (!has_lengths) dims[0] = 1;
    const ir::Type type{DType::Int64, dims};
    const Value key = ir::iota(type, 3);
    Value result;
    const auto require_that = [&](const Value& condition) {
      result = result ? ir::binary(Op::And, result, condition) : condition;
    };
    if (left >= 0 || right >= 0) {
      const Value distance = key - (ir::iota(type, 2) + offset(dims));
      if (right >= 0) require_that(ir::less_equal_to(distance, ir::like(distance, double(right))));
      if (left >= 0) require_that(ir::less_equal_to(ir::like(distance, double(-left)), distance));
    }
    if (has_lengths) {
      const Value length = ir::cast(node_.input(6), DType::Int64);
      require_that(ir::less(key, ir::broadcast(length, dims, {0})));
    }
    return result;
  }

  /// Added to the scores, -inf for masked keys; empty if nothing is added.
  Value bias_of() const {
    Value mask = given_mask(), seen = visible();
    const auto infinite = [&](const Value& allowed, const Value& otherwise) {
      return ir::select(allowed, otherwise, ir::like(otherwise, -kInfinity));
    };
    if (mask && mask.dtype() == DType::Bool) {
      mask = infinite(mask, ir::full(q_.dtype(), mask.dims(), 0));
    }
    if (!seen) return mask ? ir::cast(mask, q_.dtype()) : mask;
    if (!mask) return infinite(seen, ir::full(q_.dtype(), seen.dims(), 0));
    mask = ir::cast(mask, q_.dtype());
    const Dims dims = broadcast_dims(mask.type(), seen.type());
    return infinite(ir::broadcast_to(seen, dims), ir::broadcast_to(mask, dims));
  }

  /// The softmax over the keys, 0 for queries whose keys are all masked. Masked scores are replaced
  /// before anything is computed from them, so that gradients are finite.
  Value probabilities(const Value& score, const Value& bias) const {
    const auto precision = static_cast<std::int32_t>(node_.integer("softmax_precision", 0));
    const auto softmax = [&](const Value& x) {
      const Value wide = precision == 0 ? x : cast_to(x, precision);
      return ir::cast(ir::softmax(wide, 3), q_.dtype());
    };
    if (!bias) return softmax(score);
    const Value row = ir::reduce_max(bias, {bias.rank() - 1});
    Dims row_dims = bias.dims();
    row_dims.back() = 1;
    const auto is_infinite = [](const Value& x) {
      return ir::equal_to(x, ir::like(x, -kInfinity));
    };
    const Value is_empty = ir::broadcast_to(ir::reshape(is_infinite(row), row_dims), score_dims_);
    const Value wide = ir::broadcast_to(bias, score_dims_);
    const Value is_masked = is_infinite(wide), zero = ir::zeros_like(score);
    const Value sum = ir::select(is_masked, zero, score) + ir::select(is_masked, zero, wide);
    const Value low = ir::like(score, -kInfinity);
    const Value safe = ir::select(is_empty, zero, ir::select(is_masked, low, sum));
    return ir::select(is_empty, zero, softmax(safe));
  }

  /// (batch, heads, queries, depth), or (batch, queries, heads * depth) as Q has it.
  Value output(const Value& weights) const {
    const bool is_flat = node_.input(0).rank() == 3;
    const Ints labels = is_flat ? Ints{kBatch, kQuery, kHead, kShared, kDepth}
                                : Ints{kBatch, kHead, kShared, kQuery, kDepth};
    const Value y =
        ir::dot(split_heads(weights), without_shared({kBatch, kHead, kShared, kQuery, kKey}),
                ir::cast(v_, q_.dtype()), {kBatch, kHead, kKey, kDepth}, without_shared(labels));
    const Dim &batch = score_dims_[0], &all = score_dims_[1], &time = score_dims_[2];
    const Dim& depth = v_.dims()[3];
    return ir::reshape(y, is_flat ? Dims{batch, time, all * depth} : Dims{batch, all, time, depth});
  }

  NodeContext& node_;
  Value q_, k_, v_;  // (batch, heads, time, depth)
  bool is_shared_ = false;
  Dim shared_;  // query heads per head of keys and values
  Dims score_dims_;  // (batch, query heads, queries, keys)
};

Values import_attention(NodeContext& node) { return AttentionNode(node).run(); }

constexpr OperatorRow kAttentionRows[] = {{"Attention", {23, 24, 25}, import_attention}};

}  // namespace

std::span<const OperatorRow> attention_operators() { return kAttentionRows; }

}  // namespace kiln::onnx
