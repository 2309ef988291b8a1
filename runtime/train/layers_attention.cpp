// MultiHeadAttention. Heads are folded into the axis of samples: (samples * heads, steps, size).
#include <kiln/layers_attention.h>

#include "runtime/train/layer_state.h"

#include <cmath>

namespace kiln::layers {
namespace {

/// A projection's variables; bias is empty without one.
struct Projection {
  Tensor kernel, bias;
};

struct AttentionState : Layer::State {
  AttentionState(std::int64_t heads, std::int64_t key_dim, const MultiHeadAttentionOptions& options)
      : State("MultiHeadAttention", "multi_head_attention", options.name, options.dtype,
              options.trainable),
        heads(heads),
        key_dim(key_dim),
        value_dim(options.value_dim.value_or(key_dim)),
        options(options) {}
  std::int64_t heads, key_dim, value_dim;
  MultiHeadAttentionOptions options;
  Projection query, key, value, output;

  void build(const Tensor& q, const Tensor& k, const Tensor& v) {
    const std::int64_t features = size_of(q, 2, {}, "query");
    query = add_projection("query", {features, heads, key_dim}, 1);
    key = add_projection("key", {size_of(k, 2, {}, "key"), heads, key_dim}, 1);
    value = add_projection("value", {size_of(v, 2, {}, "value"), heads, value_dim}, 1);
    output = add_projection("attention_output",
                            {heads, value_dim, options.output_shape.value_or(features)}, 2);
  }

  /// The bias has the axes of the kernel from `bias_axis` on.
  Projection add_projection(const char* part, const std::vector<std::int64_t>& shape,
                            int bias_axis) {
    const MultiHeadAttentionOptions& o = options;
    const std::string kernel = text(part, "/kernel"), bias = text(part, "/bias");
    Projection projection;
    projection.kernel = add_weight(
        kernel.c_str(), shape, {o.kernel_initializer, o.kernel_regularizer, o.kernel_constraint});
    if (o.use_bias) {
      projection.bias = add_weight(bias.c_str(), {shape.begin() + bias_axis, shape.end()},
                                   {o.bias_initializer, o.bias_regularizer, o.bias_constraint});
    }
    return projection;
  }

  void check(const Tensor& x, const Projection& projection, const char* argument) const {
    size_of(x, 2, int_shape(projection.kernel)[0], argument);
  }

  Tensor attend(const Tensor& weights, const OptionalOperand& training) const {
    if (options.dropout == 0) return weights;
    return in_train_phase(dropout(weights, options.dropout, {.seed = options.seed}), weights,
                          training);
  }
};

/// A size of x: a number, or a tensor where it is unknown.
ShapeEntry entry_of(const Tensor& x, std::size_t axis) {
  const std::optional<std::int64_t> size = int_shape(x)[axis];
  return size ? ShapeEntry(*size) : ShapeEntry(shape(x)[static_cast<std::int64_t>(axis)]);
}

/// (samples, steps, features) to (samples * heads, steps, size of a head).
Tensor project(const Tensor& x, const Projection& to) {
  const auto sizes = get_variable_shape(to.kernel);  // features, heads, size
  Tensor y = dot(x, reshape(to.kernel, {sizes[0], sizes[1] * sizes[2]}));
  if (!to.bias.empty()) y = y + reshape(to.bias, {sizes[1] * sizes[2]});
  const ShapeEntry steps = entry_of(x, 1);
  const Tensor split = reshape(y, {-1, steps, sizes[1], sizes[2]});
  return reshape(permute_dimensions(split, {0, 2, 1, 3}), {-1, steps, sizes[2]});
}

/// (samples * heads, steps, size of a head) to (samples, steps, outputs).
Tensor join(const Tensor& x, const Projection& to) {
  const auto sizes = get_variable_shape(to.kernel);  // heads, size, outputs
  const ShapeEntry steps = entry_of(x, 1);
  const Tensor split = reshape(x, {-1, sizes[0], steps, sizes[1]});
  const Tensor joined =
      reshape(permute_dimensions(split, {0, 2, 1, 3}), {-1, steps, sizes[0] * sizes[1]});
  const Tensor y = dot(joined, reshape(to.kernel, {sizes[0] * sizes[1], sizes[2]}));
  return to.bias.empty() ? y : y + to.bias;
}

Tensor as_bool(const Tensor& mask) { return dtype(mask) == "bool" ? mask : not_equal(mask, 0); }

/// All masks of a call as one, which broadcasts to (samples, heads, T, S); empty without any.
Tensor mask_of(const AttentionState& self, const Tensor& query, const Tensor& value,
               const AttentionCall& call) {
  Tensor all;
  const auto add = [&all](const Tensor& mask) { all = all.empty() ? mask : all && mask; };
  const auto add_steps = [&](const Tensor& mask, const char* argument, int axis) {
    if (mask.empty()) return;
    self.require_rank(mask, 2, argument);
    add(expand_dims(expand_dims(as_bool(mask), {.axis = axis}), {.axis = 1}));
  };
  add_steps(call.query_mask, "query_mask", 2);
  add_steps(call.value_mask, "value_mask", 1);
  add_steps(call.key_mask, "key_mask", 1);
  if (!call.attention_mask.empty()) {
    const Tensor mask = as_bool(call.attention_mask);
    if (ndim(mask) != 4) self.require_rank(call.attention_mask, 3, "attention_mask");
    add(ndim(mask) == 4 ? mask : expand_dims(mask, {.axis = 1}));
  }
  if (call.use_causal_mask) {
    const auto steps_of = [](const Tensor& x) {
      const ShapeEntry entry = entry_of(x, 1);
      return entry.is_tensor() ? arange(entry.tensor()) : arange(entry.size());
    };
    const Tensor causal = greater_equal(expand_dims(steps_of(query)), steps_of(value));
    add(expand_dims(expand_dims(causal, {.axis = 0}), {.axis = 0}));
  }
  return all;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(WholeNumber num_heads, WholeNumber key_dim,
                                       const MultiHeadAttentionOptions& options, Where where)
    : Layer(at_call("MultiHeadAttention", where, [&] {
        require_positive("MultiHeadAttention", "num_heads", num_heads, where);
        require_positive("MultiHeadAttention", "key_dim", key_dim, where);
        require_positive("MultiHeadAttention", "value_dim", options.value_dim.value_or(1), where);
        require_positive("MultiHeadAttention", "output_shape", options.output_shape.value_or(1),
                         where);
        require_rate("MultiHeadAttention", "dropout", options.dropout, where);
        return std::make_shared<AttentionState>(num_heads, key_dim, options);
      })) {}

AttentionOutput MultiHeadAttention::operator()(const Tensor& query, const Tensor& value,
                                               const AttentionCall& call, Where where) const {
  return call_layer(*state_, where, [&]() -> AttentionOutput {
    auto& self = static_cast<AttentionState&>(*state_);
    const Tensor& key = call.key.empty() ? value : call.key;
    for (const auto& [x, argument] :
         {std::pair(&query, "query"), std::pair(&value, "value"), std::pair(&key, "key")}) {
      self.require_rank(*x, 3, argument);
      self.require_dtype(*x, argument);
    }
    self.build_once([&] { self.build(query, key, value); });
    self.check(query, self.query, "query");
    self.check(key, self.key, "key");
    self.check(value, self.value, "value");
    const Tensor q = project(query, self.query), k = project(key, self.key);
    const Tensor v = project(value, self.value);
    Tensor scores =
        batch_dot(q, k, {.axes = {2, 2}}) / std::sqrt(static_cast<double>(self.key_dim));
    const ShapeEntry to = entry_of(query, 1), from = entry_of(key, 1);
    const Tensor mask = mask_of(self, query, value, call);
    if (!mask.empty()) {
      const double masked = self.dtype == DType::Float16 ? -3e4 : -1e9;
      const Tensor of_heads = reshape(scores, {-1, self.heads, to, from});
      scores = reshape(of_heads + (1 - cast(mask, self.dtype)) * masked, {-1, to, from});
    }
    const Tensor weights = softmax(scores);
    const Tensor heads = batch_dot(self.attend(weights, call.training), v, {.axes = {2, 1}});
    return {join(heads, self.output), reshape(weights, {-1, self.heads, to, from})};
  });
}

}  // namespace kiln::layers
