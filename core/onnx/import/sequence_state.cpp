// Imports operators of language models beside Attention: rotary embeddings, linear attention,
// convolutions with a state, and caches.
#include "core/k/base/tensor_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/ops/lambda_builder.h"
#include "core/types/at.h"

#include <cmath>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

DType state_dtype_of(DType dtype) { return dtype == DType::Float64 ? dtype : DType::Float32; }

/// Rotates pairs of elements of each head by the angle of the token: (x1, x2) becomes
/// (cos x1 - sin x2, sin x1 + cos x2). Pairs are neighbours, or elements of the two halves.
Values import_rotary_embedding(NodeContext& node) {
  const Value given = node.input(0);
  const bool is_flat = given.rank() == 3;
  if (!is_flat && given.rank() != 4)
    node.fail(text("X has rank ", given.rank(), ", not 3 or 4 (X ", given.type(), ")"));
  Value x = given;
  if (is_flat) {
    const Dim heads = node.positive("num_heads");
    const Dims& dims = given.dims();
    x = ir::reshape(x, {dims[0], dims[1], heads, floor_div(dims[2], heads)});
  }
  const Dim size = x.dims()[3];
  const std::int64_t rotary = node.integer("rotary_embedding_dim", 0);
  const Dim rotated = rotary == 0 ? size : Dim(rotary), half = floor_div(rotated, 2);
  const bool is_interleaved = node.integer("interleaved", 0) != 0;
  Dims pairs = x.dims();
  pairs[3] = is_interleaved ? half : Dim(2);
  pairs.push_back(is_interleaved ? Dim(2) : half);
  const int pair_axis = is_interleaved ? 4 : 3;
  const Value split = ir::reshape(ir::slice_axis(x, 3, 0, rotated), pairs);
  Dims half_dims = x.dims();
  half_dims[3] = half;
  const auto part = [&](int i) {
    return ir::reshape(ir::slice_axis(split, pair_axis, i, i + 1), half_dims);
  };
  const auto angle = [&](std::size_t i) {
    Value cache = node.input(i);
    if (node.has(3)) cache = ir::gather(cache, node.input(3), 0);
    const int time = is_flat ? 1 : 2;
    return ir::broadcast(
        fitted_operand(node, cache, {half_dims[0], half_dims[at(time)], half}, "the cache"),
        half_dims, {0, time, 3});
  };
  const Value x1 = part(0), x2 = part(1), cos = angle(1), sin = angle(2);
  Dims one = pairs;
  one[at(pair_axis)] = 1;
  const Value turned = ir::concat(
      {ir::reshape(cos * x1 - sin * x2, one), ir::reshape(sin * x1 + cos * x2, one)}, pair_axis);
  Dims flat = x.dims();
  flat[3] = rotated;
  Value y = ir::reshape(turned, flat);
  if (rotary != 0) y = ir::concat({y, ir::slice_axis(x, 3, rotated, size)}, 3);
  return {ir::reshape(y, given.dims())};
}

/// The operands of one step of linear attention: slices (batch, heads, ..); empty if the rule has
/// none.
struct LinearStep {
  Value state;  // (batch, heads, d_k, d_v)
  Value query;  // (batch, heads, group, d_k)
  Value key, value;  // (batch, heads, d_k), (batch, heads, d_v)
  Value decay, rate;  // (batch, heads, d_k), (batch, heads, d_v)
};

/// The next state and the output (batch, heads, group, d_v).
Values linear_step(const LinearStep& step) {
  enum Label : std::int64_t { kBatch, kHead, kGroup, kIn, kOut };
  Value state = step.state, value = step.value;
  if (step.decay) {
    state = state * ir::broadcast(ir::unary(Op::Exp, step.decay), state.dims(), {0, 1, 2});
  }
  if (step.rate) {
    const Value read = ir::dot(state, {kBatch, kHead, kIn, kOut}, step.key, {kBatch, kHead, kIn},
                               {kBatch, kHead, kOut});
    value = step.rate * (value - read);
  }
  state = state + ir::broadcast(step.key, state.dims(), {0, 1, 2}) *
                      ir::broadcast(value, state.dims(), {0, 1, 3});
  return {state, ir::dot(step.query, {kBatch, kHead, kGroup, kIn}, state,
                         {kBatch, kHead, kIn, kOut}, {kBatch, kHead, kGroup, kOut})};
}

/// The attributes and sizes of linear attention.
struct LinearAttention {
  bool is_gated, is_delta;
  std::int64_t heads, query_heads;
  DType dtype;  // that it computes in
  Dim batch, time, d_k, d_v;
};

LinearAttention linear_attention_of(NodeContext& node) {
  const Value query = node.input(0);
  const std::string rule = node.string("update_rule", "gated_delta");
  const bool is_gated = rule == "gated" || rule == "gated_delta";
  const bool is_delta = rule == "delta" || rule == "gated_delta";
  if (!is_gated && !is_delta && rule != "linear") {
    node.fail(text("update_rule '", rule, "' is none of linear, gated, delta and gated_delta"));
  }
  const std::int64_t heads = node.integer("kv_num_heads"), all = node.integer("q_num_heads");
  if (heads < 1 || all < 1 || all % heads != 0 || query.rank() != 3) {
    node.fail(text("q_num_heads ", all, " is no positive multiple of kv_num_heads ", heads,
                   ", or query is not of rank 3 (query ", query.type(), ")"));
  }
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (i == 3 || !node.has(i) || node.input(i).rank() == 3) continue;
    node.fail(text("input ", i, " is not of rank 3 (", node.input(i).type(), ")"));
  }
  return {.is_gated = is_gated,
          .is_delta = is_delta,
          .heads = heads,
          .query_heads = all,
          .dtype = state_dtype_of(query.dtype()),
          .batch = query.dims()[0],
          .time = query.dims()[1],
          .d_k = floor_div(query.dims()[2], all),
          .d_v = floor_div(node.input(2).dims()[2], heads)};
}

/// The sequences of the loop, (time, batch, heads, ..): queries, keys, values, decays and rates;
/// without the last two where the rule has none.
Values linear_sequences(NodeContext& node, const LinearAttention& attention) {
  const Dim heads = attention.heads;
  /// (batch, time, ..) as (time, batch, dims).
  const auto stacked = [&](std::size_t i, Dims dims) {
    dims.insert(dims.begin(), {attention.batch, attention.time});
    Ints axes{1, 0};
    for (int axis = 2; axis < static_cast<int>(dims.size()); ++axis) axes.push_back(axis);
    return ir::permute(ir::cast(ir::reshape(node.input(i), dims), attention.dtype), axes);
  };
  /// A number per head, or per group of elements, for each of `size` elements.
  const auto gate = [&](std::size_t i, const Dim& size) {
    const Dim given = node.input(i).dims()[2];
    const bool is_per_element = i == 4 && equal(given, size * heads) == ir::Ternary::Yes;
    if (is_per_element) return stacked(i, {heads, size});
    return ir::broadcast_to(stacked(i, {given, 1}), {attention.time, attention.batch, heads, size});
  };
  const std::int64_t group = attention.query_heads / attention.heads;
  Values xs{stacked(0, {heads, group, attention.d_k}), stacked(1, {heads, attention.d_k}),
            stacked(2, {heads, attention.d_v})};
  if (attention.is_gated) xs.push_back(gate(4, attention.d_k));
  if (attention.is_delta) xs.push_back(gate(5, attention.d_v));
  return xs;
}

/// The loop over the tokens: the last state, then the stacked outputs.
ir::NodeRef linear_scan(const LinearAttention& attention, const Value& first, const Values& xs) {
  std::vector<ir::Type> types{{DType::Int64, {}}, first.type()};
  for (const Value& x : xs) {
    types.push_back({attention.dtype, Dims(x.dims().begin() + 1, x.dims().end())});
  }
  const ir::LambdaBuilder builder(types);
  const Values& p = builder.parameters();
  ir::Trace trace;
  Values results;
  {
    const ir::Trace::Scope tracing(trace);
    results = linear_step({.state = p[1],
                           .query = p[2],
                           .key = p[3],
                           .value = p[4],
                           .decay = attention.is_gated ? p[5] : Value(),
                           .rate = attention.is_delta ? p.back() : Value()});
  }
  const ir::TracedBody body{.builder = builder, .results = results, .trace = trace};
  return ir::make_scan(body, {first}, xs, attention.time, /*reverse=*/false);
}

/// A loop over the tokens with a matrix per head as its state.
Values import_linear_attention(NodeContext& node) {
  const LinearAttention attention = linear_attention_of(node);
  const DType dtype = node.input(0).dtype();
  const Values xs = linear_sequences(node, attention);
  const Dims state_dims{attention.batch, attention.heads, attention.d_k, attention.d_v};
  const Value first = node.has(3) ? fitted_operand(node, ir::cast(node.input(3), attention.dtype),
                                                   state_dims, "past_state")
                                  : ir::full(attention.dtype, state_dims, 0);
  const ir::NodeRef scan = linear_scan(attention, first, xs);
  double scale = node.number("scale", 0);
  if (scale == 0 && !attention.d_k.is_static()) {
    node.fail("the size of a head is unknown, without a scale");
  }
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(attention.d_k.value()));
  const Value y = ir::permute(Value{scan, 1} * scale, {1, 0, 2, 3, 4});
  const Dim width = attention.d_v * attention.query_heads;
  return {ir::cast(ir::reshape(y, {attention.batch, attention.time, width}), dtype),
          ir::cast(Value{scan, 0}, node.has(3) ? node.input(3).dtype() : dtype)};
}

/// y[l] = sum_j w[j] x[l + j] per channel, of x after the k - 1 elements of the state.
Values import_causal_conv_with_state(NodeContext& node) {
  const Value x = node.input(0), w = node.input(1);
  if (x.rank() != 3 || w.rank() != 3 || !w.dims()[2].is_static() || w.dims()[2].value() < 1) {
    node.fail(text("the operands do not fit (input ", x.type(), ", weight ", w.type(), ")"));
  }
  const std::string activation = node.string("activation", "none");
  const std::int64_t k = w.dims()[2].value();
  const Dim batch = x.dims()[0], channels = x.dims()[1], length = x.dims()[2];
  const Dims state_dims{batch, channels, k - 1};
  const Value state = node.has(3) ? fitted_operand(node, node.input(3), state_dims, "past_state")
                                  : ir::full(x.dtype(), state_dims, 0);
  const Value all = ir::concat({state, x}, 2);
  const DType dtype = state_dtype_of(x.dtype());
  const Value wide = ir::cast(all, dtype);
  Value y;
  for (std::int64_t j = 0; j < k; ++j) {
    const Value tap = ir::reshape(ir::slice_axis(ir::cast(w, dtype), 2, j, j + 1), {channels});
    const Value term = ir::slice_axis(wide, 2, j, length + j) * ir::broadcast(tap, x.dims(), {1});
    y = y ? y + term : term;
  }
  if (node.has(2)) y = y + ir::broadcast(ir::cast(node.input(2), dtype), y.dims(), {1});
  if (activation == "silu" || activation == "swish") {
    y = y * ir::unary(Op::Sigmoid, y);
  } else if (activation != "none") {
    node.fail(text("activation '", activation, "' is not none, silu or swish"));
  }
  return {ir::cast(y, x.dtype()), ir::slice_axis(all, 2, length, length + (k - 1))};
}

/// Writes the update into the cache, for each sample from its index on: element p of the cache
/// becomes element p - index of the update if there is one.
Values import_tensor_scatter(NodeContext& node) {
  const Value cache = node.input(0), update = node.input(1);
  const int axis = node.axis(node.integer("axis", -2), cache.rank());
  const bool is_circular = node.string("mode", "linear") == "circular";
  if (axis == 0 || update.rank() != cache.rank()) {
    node.fail(text("axis ", axis, " is that of the batch, or the ranks differ (cache ",
                   cache.type(), ", update ", update.type(), ")"));
  }
  const Dim batch = cache.dims()[0], size = cache.dims()[at(axis)],
            length = update.dims()[at(axis)];
  const Dims positions{batch, size};
  const auto number = [&](const Dim& dim) {
    return ir::broadcast_to(ir::dim_size(dim), positions);
  };
  const ir::Type type{DType::Int64, positions};
  Value source = ir::iota(type, 1);
  if (node.has(2)) source = source - ir::broadcast(node.input(2), positions, {0});
  const Value zero = ir::zeros_like(source);
  if (is_circular) {
    source = ir::binary(Op::Mod, source, number(size));
    source = ir::select(ir::less(source, zero), source + number(size), source);
  }
  const Value inside =
      ir::binary(Op::And, ir::less_equal_to(zero, source), ir::less(source, number(length)));
  const Value index = ir::iota(type, 0) * number(length) + ir::select(inside, source, zero);
  // The update as (batch * length, rest), of which rows are taken, and back.
  Ints order{0, axis};
  for (int i = 1; i < cache.rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  const Value moved = ir::permute(update, order);
  Dims rows(moved.dims().begin() + 2, moved.dims().end());
  rows.insert(rows.begin(), batch * length);
  const Value taken =
      ir::permute(ir::gather(ir::reshape(moved, rows), index, 0), ir::inverse_permutation(order));
  return {ir::select(ir::broadcast(inside, cache.dims(), {0, axis}),
                     fitted_operand(node, taken, cache.dims(), "update"), cache)};
}

constexpr OperatorRow kSequenceStateRows[] = {
    {"CausalConvWithState", {27}, import_causal_conv_with_state},
    {"LinearAttention", {27}, import_linear_attention},
    {"RotaryEmbedding", {23}, import_rotary_embedding},
    {"TensorScatter", {24}, import_tensor_scatter},
};

}  // namespace

std::span<const OperatorRow> sequence_state_operators() { return kSequenceStateRows; }

}  // namespace kiln::onnx
