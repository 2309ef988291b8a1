// ctc_batch_cost: the forward recursion for a whole batch, in log space. The logarithm of
// probability 0 is a large negative number instead of -infinity, so that gradients are not NaN.
#include "core/k/math/formulas_impl.h"
#include "core/k/sequence/ctc_impl.h"
#include "core/ops/lambda_builder.h"

#include <kiln/context.h>
#include <kiln/ctc.h>

#include <limits>

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Op;
using ir::Value;

constexpr double kNever = -1e30;

Value exp(const Value& x) { return ir::unary(Op::Exp, x); }
Value log(const Value& x) { return ir::unary(Op::Log, x); }
Value maximum(const Value& x, const Value& y) { return ir::binary(Op::Maximum, x, y); }

/// The index along `axis`, with those dims.
Value positions(const Dims& dims, int axis) { return ir::iota({DType::Int64, dims}, axis); }

/// Lengths (samples, 1) or (samples,) as int64 (samples). Throws ValueError for others.
Value lengths(const Operand& operand, const Dim& samples, const char* argument) {
  const Value x = lengths_of(operand, argument);
  const std::string type = text(" (", argument, " ", x.type(), ")");
  const bool column = x.rank() == 2 && equal(x.dims()[1], 1) != ir::Ternary::No;
  if (!column && x.rank() != 1) {
    Call::value_error(argument, text(argument, " is not (samples, 1)", type));
  }
  if (equal(x.dims()[0], samples) == ir::Ternary::No) {
    Call::value_error(argument,
                      text(argument, " is not for ", samples, " samples, as y_pred is", type));
  }
  const Value flat = column ? ir::reshape(x, {x.dims()[0]}) : x;
  return ir::with_dims(truncated_lengths(flat), {samples});
}

/// x; the call fails unless 0 <= x < limit, with an index error that names `argument`: a gather
/// from 0 .. limit - 1.
Value within(const Value& x, const Dim& limit, const char* argument) {
  const Value range = ir::iota({DType::Int64, {limit}}, 0);
  ir::Origin origin = ir::current_origin();
  origin.function = argument;
  const ir::OriginScope named(origin, /*replace=*/true);
  return ir::gather(range, x);
}

class BatchCost {
 public:
  BatchCost(const Operand& y_true, const Operand& y_pred, const Operand& input_length,
            const Operand& label_length) {
    const Value raw = float_of(y_pred, "y_pred");
    const Value labels = number_of(y_true, "y_true");
    const std::string types = text(" (y_true ", labels.type(), ", y_pred ", raw.type(), ")");
    if (raw.rank() != 3 || labels.rank() != 2) {
      Call::value_error("y_pred", text("ranks are not 2 and 3", types));
    }
    if (equal(raw.dims()[0], labels.dims()[0]) == ir::Ternary::No) {
      Call::value_error("y_true", text("batch sizes differ", types));
    }
    if (equal(raw.dims()[2], 0) == ir::Ternary::Yes) {
      Call::value_error("y_pred", text("y_pred has no classes", types));
    }
    dtype_ = raw.dtype();
    samples_ = raw.dims()[0];
    time_ = raw.dims()[1];
    classes_ = raw.dims()[2];
    longest_ = labels.dims()[1];
    steps_ = within(lengths(input_length, samples_, "input_length"), time_ + 1,
                    "ctc_batch_cost.input_length");
    count_ = within(lengths(label_length, samples_, "label_length"), longest_ + 1,
                    "ctc_batch_cost.label_length");
    read_labels(ir::with_dims(truncated_lengths(labels), {samples_, longest_}));
    read_probabilities(widened(raw));
  }

  Value cost() {
    const Dims dims{samples_, states()};
    const Value first = ir::equal_to(positions(dims, 1), zeros(dims));
    const Value begin = ir::select(first, ir::full(emitted_.dtype(), dims, 0),
                                   ir::full(emitted_.dtype(), dims, kNever));
    const auto step = [&](std::span<const Value> carries, std::span<const Value> slices) {
      const Value next = advanced(carries[0]) + slices[0];
      const Value is_step = ir::broadcast_over(slices[1], dims, {1});
      return std::vector<Value>{ir::select(is_step, next, carries[0])};
    };
    const ir::NodeRef forward = scan_over({emitted_, is_step_}, {begin}, step);
    return finished({forward, 0});
  }

 private:
  Dim states() const { return 2 * longest_ + 1; }
  static Value zeros(const Dims& dims) {
    return ir::broadcast_to(ir::scalar_constant_int(DType::Int64, 0), dims);
  }

  /// Sets the states (labels between blanks), (samples, states), and where a blank may be skipped.
  void read_labels(const Value& labels) {
    const Dims dims = labels.dims();
    const Value known = ir::less(positions(dims, 1), ir::broadcast_over(count_, dims, {1}));
    const Value checked =
        within(ir::select(known, labels, zeros(dims)), classes_ - 1, "ctc_batch_cost.y_true");
    const Value blank = ir::broadcast_to(ir::dim_size(classes_ - 1), {samples_, longest_, 1});
    const Value pairs = ir::concat({blank, ir::reshape(checked, {samples_, longest_, 1})}, 2);
    const Value last = ir::broadcast_to(ir::dim_size(classes_ - 1), {samples_, 1});
    states_ = ir::concat({ir::reshape(pairs, {samples_, 2 * longest_}), last}, 1);
    const Value two_before = shifted_by(states_, 2, -1);
    const Value is_blank =
        ir::equal_to(states_, ir::broadcast_to(ir::dim_size(classes_ - 1), states_.dims()));
    may_skip_ = ir::logical_not(ir::binary(Op::Or, is_blank, ir::equal_to(states_, two_before)));
  }

  /// Sets the log probabilities of each state's class, (time, samples, states).
  void read_probabilities(const Value& probabilities) {
    const Dims dims = probabilities.dims();
    const Value step = ir::less(positions({samples_, time_}, 1),
                                ir::broadcast_over(steps_, {samples_, time_}, {1}));
    is_step_ = ir::permute(step, {1, 0});
    // Probabilities after the last step are arbitrary and must not affect the gradient.
    const Value used =
        ir::select(ir::broadcast_over(step, dims, {2}), probabilities, ir::like(probabilities, 1));
    const Value raised = used + epsilon();
    const Value sum = ir::reduce_sum(raised, {2});
    const Value logs = log(raised) - ir::broadcast_over(log(sum), dims, {2});
    const Dims chosen{samples_, states(), classes_};
    const Value is_class =
        ir::equal_to(ir::broadcast_over(states_, chosen, {2}), positions(chosen, 2));
    constexpr std::int64_t kSample = 0, kTime = 1, kClass = 2, kState = 3;
    emitted_ = ir::dot(logs, {kSample, kTime, kClass}, ir::cast(is_class, logs.dtype()),
                       {kSample, kState, kClass}, {kTime, kSample, kState});
  }

  /// One step of the recursion: logsumexp of each state, the state before, and the one before that
  /// if the blank between may be skipped.
  Value advanced(const Value& alpha) const {
    const Value one = shifted_by(alpha, 1, kNever);
    const Value two = ir::select(may_skip_, shifted_by(alpha, 2, kNever), ir::like(alpha, kNever));
    const Value high = ir::stop_gradient(maximum(maximum(alpha, one), two));
    return high + log(exp(alpha - high) + exp(one - high) + exp(two - high));
  }

  /// The cost, from the two last states: the last label and the blank after it.
  Value finished(const Value& alpha) const {
    const Value two = ir::scalar_constant_int(DType::Int64, 2);
    const Value end = count_ * ir::broadcast_to(two, count_.dims());
    const Value blank = pick_last(alpha, end);
    const Value none = ir::equal_to(count_, zeros(count_.dims()));
    const Value before =
        end - ir::broadcast_to(ir::scalar_constant_int(DType::Int64, 1), end.dims());
    const Value label = ir::select(none, ir::like(blank, kNever), pick_last(alpha, before));
    const Value high = ir::stop_gradient(maximum(blank, label));
    const Value sum = high + log(exp(blank - high) + exp(label - high));
    const Value impossible = ir::less(sum, ir::like(sum, kNever / 2));
    const Value cost =
        ir::select(impossible, ir::like(sum, std::numeric_limits<double>::infinity()), -sum);
    return ir::cast(ir::reshape(cost, {samples_, 1}), dtype_);
  }

  DType dtype_ = DType::Float32;
  Dim samples_, time_, classes_, longest_;
  Value steps_, count_, states_, may_skip_, is_step_, emitted_;
};

}  // namespace

Tensor ctc_batch_cost(const Operand& y_true, const Operand& y_pred, const Operand& input_length,
                      const Operand& label_length) {
  return api_call("ctc_batch_cost", where_of(y_true, y_pred), [&] {
    return wrap(BatchCost(y_true, y_pred, input_length, label_length).cost());
  });
}

}  // namespace kiln
