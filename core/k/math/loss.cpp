// Losses that stay finite for extreme inputs: probabilities are clipped away from 0 and 1, logits
// go through functions that do not overflow.
#include <kiln/loss.h>

#include "core/k/math/formulas_impl.h"

#include <kiln/context.h>

#include <algorithm>
#include <limits>

namespace kiln {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;

constexpr PairNames kNames{"target", "output"};

std::string both(const Value& target, const Value& output) {
  return text("(target ", target.type(), ", output ", output.type(), ")");
}

/// Clips probabilities to [epsilon(), 1 - epsilon()], away from the poles of the logarithm.
Value clip_probabilities(const Value& probabilities) {
  const double fuzz = epsilon();
  return clipped(probabilities, fuzz, 1 - fuzz);
}

Value log(const Value& x) { return ir::unary(Op::Log, x); }

/// x, but 0 where it is infinite and the weight is 0: 0 * inf is NaN, although a target of 0
/// contributes nothing.
Value without_unweighted_infinities(const Value& x, const Value& weight) {
  const Value infinite =
      ir::equal_to(ir::unary(Op::Abs, x), ir::like(x, std::numeric_limits<double>::infinity()));
  const Value unweighted = ir::equal_to(weight, ir::zeros_like(weight));
  return ir::select(ir::binary(Op::And, infinite, unweighted), ir::zeros_like(x), x);
}

void require_equal_shapes(const Value& target, const Value& output) {
  if (equal(target.dims(), output.dims()) != ir::Ternary::No) return;
  Call::value_error("target",
                    text("target and output have different shapes ", both(target, output)));
}

/// Moves an axis to the end.
Value with_axis_last(const Value& x, int axis) {
  Ints axes = ir::all_axes(x);
  std::rotate(axes.begin() + axis, axes.begin() + axis + 1, axes.end());
  return ir::permute(x, axes);
}

/// Targets as int64 with one element per position.
Value shaped_targets(const Value& target, const Value& output, const Dims& positions) {
  const ir::Dim have = product(target.dims()), need = product(positions);
  if (equal(have, need) == ir::Ternary::No) {
    Call::value_error("target", text("target has ", have, " elements, not one for each of ", need,
                                     " positions ", both(target, output)));
  }
  return ir::reshape(ir::cast(target, DType::Int64), positions);
}

/// Whether 0 <= index < the size of the last axis of x.
Value is_class(const Value& index, const Value& x) {
  const Value count = ir::broadcast_to(ir::dim_size(x.dims().back()), index.dims());
  return ir::binary(Op::And, ir::less_equal_to(ir::zeros_like(index), index),
                    ir::less(index, count));
}

}  // namespace

Tensor categorical_crossentropy(const Operand& target, const Operand& output,
                                const CrossentropyOptions& options) {
  return api_call("categorical_crossentropy", where_of(target, output), [&] {
    const auto [labels, raw] = operand_pair(target, output, kNames);
    float_of(output, "output");
    require_equal_shapes(labels, raw);
    const int axis = axis_of(options.axis, raw.rank());
    const Value x = widened(raw), weights = widened(labels);
    Value logs;
    if (options.from_logits) {
      logs = without_unweighted_infinities(ir::log_softmax(x, axis), weights);
    } else {
      const Value sum = ir::reduce_sum(x, {axis});
      logs = log(clip_probabilities(x / ir::broadcast_over(sum, x.dims(), {axis})));
    }
    const Value loss = -ir::reduce_sum(weights * logs, {axis});
    return wrap(ir::cast(loss, raw.dtype()));
  });
}

Tensor sparse_categorical_crossentropy(const Operand& target, const Operand& output,
                                       const CrossentropyOptions& options) {
  return api_call("sparse_categorical_crossentropy", where_of(target, output), [&] {
    const Value raw = float_of(output, "output");
    const bool is_floating = target.kind() == Operand::Kind::Float;
    const Value labels = value_of(target, is_floating ? DType::Float64 : DType::Int64, "target");
    const Value x = widened(with_axis_last(raw, axis_of(options.axis, raw.rank())));
    const int last = x.rank() - 1;
    const Value classes = shaped_targets(labels, raw, {x.dims().begin(), x.dims().end() - 1});
    const Value logs = ir::log_softmax(options.from_logits ? x : log(clip_probabilities(x)), last);
    const Value loss = -pick_last(logs, classes);
    const Value invalid = ir::like(loss, std::numeric_limits<double>::quiet_NaN());
    return wrap(ir::cast(ir::select(is_class(classes, x), loss, invalid), raw.dtype()));
  });
}

Tensor binary_crossentropy(const Operand& target, const Operand& output,
                           const BinaryCrossentropyOptions& options) {
  return api_call("binary_crossentropy", where_of(target, output), [&] {
    const auto [labels, raw] = broadcast_operands(target, output, kNames);
    float_of(output, "output");
    const Value t = widened(labels);
    Value z = widened(raw);
    if (!options.from_logits) {
      const Value p = clip_probabilities(z);
      z = log(p / (1.0 - p));
    }
    const Value zero = ir::zeros_like(z);
    // max(z, 0) - z t as one product: the difference of two infinities is NaN.
    const Value weight = ir::select(ir::less_equal_to(z, zero), zero, ir::like(z, 1)) - t;
    const Value factor = options.from_logits ? without_unweighted_infinities(z, weight) : z;
    const Value loss = factor * weight + log1p_exp_of_minus_abs(z);
    return wrap(ir::cast(loss, raw.dtype()));
  });
}

Tensor in_top_k(const Operand& predictions, const Operand& targets, WholeNumber k) {
  return api_call("in_top_k", where_of(predictions, targets), [&] {
    const Value scores = number_of(predictions, "predictions");
    const Value classes = value_of(targets, DType::Int64, "targets", "");
    const std::string types =
        text("(predictions ", scores.type(), ", targets ", classes.type(), ")");
    if (!is_integer(classes.dtype())) {
      Call::type_error("targets", text("targets are not integers ", types));
    }
    if (scores.rank() != 2 || classes.rank() != 1) {
      Call::value_error("targets", text("ranks are not 2 and 1 ", types));
    }
    if (equal(scores.dims()[0], classes.dims()[0]) == ir::Ternary::No) {
      Call::value_error("targets", text("batch sizes differ ", types));
    }
    const Value index = ir::cast(classes, DType::Int64);
    const Value score = pick_last(scores, index);
    const Value higher = ir::less(ir::broadcast_over(score, scores.dims(), {1}), scores);
    const Value count = ir::reduce_sum(ir::cast(higher, DType::Int64), {1});
    const Value limit = ir::broadcast_to(ir::scalar_constant_int(DType::Int64, k), count.dims());
    Value is_top = ir::binary(Op::And, is_class(index, scores), ir::less(count, limit));
    if (is_float(scores.dtype())) {
      const Value infinity = ir::like(score, std::numeric_limits<double>::infinity());
      is_top = ir::binary(Op::And, is_top, ir::less(ir::unary(Op::Abs, score), infinity));
    }
    return wrap(is_top);
  });
}

}  // namespace kiln
