// The type rules, expansions and gradient of attention. Axes have the labels of a Dot: those of the
// batch, then queries, keys, depth of the scores and depth of the values.
#include "core/ops/attention.h"

#include "core/ops/build.h"
#include "core/ops/halves.h"
#include "core/types/at.h"

#include <array>
#include <limits>
#include <numeric>

namespace kiln::ir {
namespace {

constexpr std::size_t kQ = 0, kK = 1, kV = 2, kScale = 3, kBias = 4;  // operands
constexpr std::size_t kGradientOperands = 3;  // that attention_gradient has after them: o, lse, do
constexpr std::array kNames = {"q", "k", "v", "scale", "bias"};

Type of_rows(const Type& q) {
  const DType dtype = is_half(q.dtype) ? DType::Float32 : q.dtype;
  return {dtype, {q.dims.begin(), q.dims.end() - 1}};
}

void require_rank(Inference& in, std::size_t i) {
  const int rank = in.type(kQ).rank(), own = in.type(i).rank();
  if (own != rank) in.value_error(text(kNames[i], " has rank ", own, ", q has rank ", rank));
}

void require_dtype(Inference& in, std::size_t i) {
  const DType dtype = in.type(kQ).dtype, own = in.type(i).dtype;
  if (own != dtype) in.type_error(text(kNames[i], " is ", own, ", q is ", dtype));
}

void require_same(Inference& in, std::size_t x, std::size_t x_axis, std::size_t y,
                  std::size_t y_axis) {
  const Dim &a = in.type(x).dims[x_axis], &b = in.type(y).dims[y_axis];
  in.require_equal(a, b, "axis ", x_axis, " of ", kNames[x], " has size ", a, " but axis ", y_axis,
                   " of ", kNames[y], " has size ", b);
}

void require_bias(Inference& in, const Dims& scores) {
  require_dtype(in, kBias);
  require_rank(in, kBias);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Dim& own = in.type(kBias).dims[i];
    if (own.is_one()) continue;
    in.require_equal(own, scores[i], "axis ", i, " of bias has size ", own, ", that of the scores ",
                     scores[i]);
  }
}

/// Checks `count` operands of an attention. Returns its results' types.
std::vector<Type> infer_operands(Inference& in, std::size_t count) {
  if (count != kBias && count != kBias + 1) {
    in.value_error(text("q, k, v, scale and bias are ", count, " operands"));
  }
  const Type& q = in.type(kQ);
  if (q.rank() < 2) in.value_error(text("q has rank ", q.rank(), ", not 2 or more"));
  for (const std::size_t i : {kK, kV}) {
    require_dtype(in, i);
    require_rank(in, i);
  }
  require_dtype(in, kScale);
  if (in.type(kScale).rank() != 0) in.value_error("scale is not a scalar");
  const std::size_t row = at(q.rank() - 2), depth = row + 1;
  for (std::size_t i = 0; i < row; ++i) {
    require_same(in, kQ, i, kK, i);
    require_same(in, kQ, i, kV, i);
  }
  require_same(in, kQ, depth, kK, depth);
  require_same(in, kK, row, kV, row);
  if (count > kBias) {
    Dims scores = q.dims;
    scores[depth] = in.type(kK).dims[row];
    require_bias(in, scores);
  }
  Type result = q;
  result.dims[depth] = in.type(kV).dims[depth];
  return {result, of_rows(q)};
}

/// The nodes of an attention: scores, probabilities, and the matmuls of their cotangents.
/// Computes in float32 where operands are halves.
class Expansion {
 public:
  Expansion(const AttentionAttrs& attrs, std::span<const Value> operands)
      : attrs_(attrs),
        q_(widened(operands[kQ])),
        k_(widened(operands[kK])),
        v_(widened(operands[kV])) {
    const int batch = q_.rank() - 2;
    for (std::int64_t i = 0; i < batch; ++i) {
      for (Ints* labels : {&queries_, &keys_, &values_, &scores_, &results_}) labels->push_back(i);
    }
    const std::int64_t t = batch, s = t + 1, d = t + 2, e = t + 3;
    for (const std::int64_t one : {t, d}) queries_.push_back(one);
    for (const std::int64_t one : {s, d}) keys_.push_back(one);
    for (const std::int64_t one : {s, e}) values_.push_back(one);
    for (const std::int64_t one : {t, s}) scores_.push_back(one);
    for (const std::int64_t one : {t, e}) results_.push_back(one);
    key_axis_ = batch + 1;
    raw_ = ir::dot(q_, queries_, k_, keys_, scores_);
    scale_ = broadcast_to(widened(operands[kScale]), raw_.dims());
    Value score = scaled(raw_);
    if (operands.size() > kBias) {
      score = score + broadcast_to(widened(operands[kBias]), raw_.dims());
    }
    if (attrs_.causal) score = select(seen(), score, like(score, -kInfinity));
    score_ = score;
    // Expanded at once: expansions have no composites.
    const Value p = softmax(score_, key_axis_);
    p_ = def(*p.node).expand(*p.node, p.node->operands)[0];
  }

  Value result() const { return ir::dot(p_, scores_, v_, values_, results_); }

  Value log_sum() const {
    const Value most = reduce_max(score_, {key_axis_});
    const Value e = unary(Op::Exp, score_ - over_keys(most));
    return most + unary(Op::Log, reduce_sum(e, {key_axis_}));
  }

  /// The cotangent of the scores, after scale and bias, given the cotangents of the results, one of
  /// which may be empty. With ds of the result: p (dp - sum(p dp)); of the log-sum-exp: p.
  Value score_cotangent(const Value& d_result, const Value& d_log_sum) const {
    Value ds;
    if (d_result) {
      const Value dp = ir::dot(widened(d_result), results_, v_, values_, scores_);
      ds = p_ * (dp - over_keys(reduce_sum(p_ * dp, {key_axis_})));
    }
    if (d_log_sum) ds = add_cotangents(ds, p_ * over_keys(d_log_sum));
    return attrs_.causal ? select(seen(), ds, zeros_like(ds)) : ds;
  }

  Value v_cotangent(const Value& d_result) const {
    return ir::dot(p_, scores_, widened(d_result), results_, values_);
  }
  Value q_cotangent(const Value& ds) const {
    return ir::dot(scaled(ds), scores_, k_, keys_, queries_);
  }
  Value k_cotangent(const Value& ds) const {
    return ir::dot(q_, queries_, scaled(ds), scores_, keys_);
  }
  Value scale_cotangent(const Value& ds) const {
    const Value each = attrs_.divides ? neg(ds * (raw_ / scale_ / scale_)) : ds * raw_;
    return reduce_sum(each, all_axes(each));
  }
  static Value bias_cotangent(const Value& ds, const Dims& dims) {
    Ints axes;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].is_one()) axes.push_back(static_cast<std::int64_t>(i));
    }
    return reshape(reduce_sum(ds, axes), dims);
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  Value scaled(const Value& x) const { return attrs_.divides ? x / scale_ : x * scale_; }
  Value over_keys(const Value& rows) const {
    return broadcast_over(rows, raw_.dims(), {key_axis_});
  }
  /// The causal mask [t, s]: whether query i attends to key j, j <= i.
  Value seen() const {
    const Dims& dims = raw_.dims();
    const Type type{DType::Int64, {dims[at(key_axis_ - 1)], dims[at(key_axis_)]}};
    return broadcast_to(less_equal_to(iota(type, 1), iota(type, 0)), dims);
  }

  const AttentionAttrs& attrs_;
  Value q_, k_, v_, scale_, raw_, score_, p_;
  Ints queries_, keys_, values_, scores_, results_;
  int key_axis_ = 0;
};

/// `value` cast to the dtype and with the dims of `type`: a matmul may name equal sizes by other
/// symbols.
Value typed(const Value& value, const Type& type) {
  return with_dims(cast(value, type.dtype), type.dims);
}

}  // namespace

std::vector<Type> infer_attention(Inference& in) { return infer_operands(in, in.count()); }

std::vector<Type> infer_attention_gradient(Inference& in) {
  if (in.count() < kGradientOperands) in.value_error("o, lse and do are missing");
  const std::size_t count = in.count() - kGradientOperands;
  const std::vector<Type> results = infer_operands(in, count);
  const std::array<const Type*, kGradientOperands> expected{&results[0], &results[1], &results[0]};
  for (std::size_t i = 0; i < kGradientOperands; ++i) {
    const Type& own = in.type(count + i);
    if (own.dtype != expected[i]->dtype || own.rank() != expected[i]->rank()) {
      in.type_error(text("operand ", count + i, " is ", own, " but should be ", *expected[i]));
    }
    for (std::size_t axis = 0; axis < own.dims.size(); ++axis) {
      in.require_equal(own.dims[axis], expected[i]->dims[axis], "operand ", count + i, " is ", own,
                       " but should be ", *expected[i]);
    }
  }
  std::vector<Type> types{in.type(kQ), in.type(kK), in.type(kV)};
  if (count > kBias) types.push_back(in.type(kBias));
  return types;
}

std::vector<Value> expand_attention(const Node& node, std::span<const Value> operands) {
  const Expansion expansion(node.as<AttentionAttrs>(), operands);
  return {typed(expansion.result(), node.types[0]), typed(expansion.log_sum(), node.types[1])};
}

std::vector<Value> expand_attention_gradient(const Node& node, std::span<const Value> operands) {
  const Expansion expansion(node.as<AttentionAttrs>(),
                            operands.first(operands.size() - kGradientOperands));
  const Value& d_result = operands.back();
  const Value ds = expansion.score_cotangent(d_result, {});
  std::vector<Value> dx{expansion.q_cotangent(ds), expansion.k_cotangent(ds),
                        expansion.v_cotangent(d_result)};
  if (node.types.size() > dx.size()) {
    dx.push_back(Expansion::bias_cotangent(ds, operands[kBias].dims()));
  }
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = typed(dx[i], node.types[i]);
  return dx;
}

std::vector<Value> grad_attention(const Grad& g) {
  const auto& attrs = g.node.as<AttentionAttrs>();
  std::vector<Value> dx(g.x.size());
  if (g.dy[0]) {
    std::vector<Value> operands(g.x.begin(), g.x.end());
    operands.insert(operands.end(), {g.y[0], g.y[1], g.dy[0]});
    const NodeRef gradient = make_node(Op::AttentionGradient, attrs, std::move(operands));
    for (const std::size_t i : {kQ, kK, kV})
      dx[i] = gradient->result(static_cast<std::uint32_t>(i));
    if (g.x.size() > kBias) dx[kBias] = gradient->result(3);
  }
  if (!g.dy[1] && !g.wanted[kScale]) return dx;
  const Expansion expansion(attrs, g.x);
  if (g.wanted[kScale]) {
    const Value ds = expansion.score_cotangent(g.dy[0], g.dy[1]);
    dx[kScale] = typed(expansion.scale_cotangent(ds), g.x[kScale].type());
  }
  if (!g.dy[1]) return dx;
  const Value ds = expansion.score_cotangent({}, g.dy[1]);
  const auto add = [&](std::size_t i, const Value& more) {
    dx[i] = add_cotangents(dx[i], typed(more, g.x[i].type()));
  };
  add(kQ, expansion.q_cotangent(ds));
  add(kK, expansion.k_cotangent(ds));
  if (g.x.size() > kBias) {
    add(kBias, Expansion::bias_cotangent(ds, g.x[kBias].dims()));
  }
  return dx;
}

}  // namespace kiln::ir
