// ctc_decode, ctc_cost and its parts, and the helpers of ctc_impl.h.
#include <kiln/ctc.h>

#include "core/k/base/sparse_impl.h"
#include "core/k/math/formulas_impl.h"
#include "core/k/sequence/ctc_impl.h"
#include "core/k/shape/data_dependent_impl.h"
#include "core/ops/lambda_builder.h"
#include "core/types/counted.h"

#include <kiln/context.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace kiln {

using ir::Dim;
using ir::Dims;
using ir::Op;
using ir::Value;

ir::NodeRef scan_over(const std::vector<Value>& sequences, const std::vector<Value>& initial,
                      const LoopBody& body) {
  std::vector<ir::Type> types{{DType::Int64, {}}};
  for (const Value& value : initial) types.push_back(value.type());
  for (const Value& sequence : sequences) {
    types.push_back({sequence.dtype(), {sequence.dims().begin() + 1, sequence.dims().end()}});
  }
  const ir::LambdaBuilder builder(types);
  const std::span<const Value> parameters(builder.parameters());
  ir::Trace trace;
  const std::vector<Value> next = [&] {
    const ir::Trace::Scope tracing(trace);
    return body(parameters.subspan(1, initial.size()), parameters.subspan(1 + initial.size()));
  }();
  std::vector<Value> results = next;
  results.insert(results.end(), next.begin(), next.end());
  const ir::TracedBody traced{.builder = builder, .results = results, .trace = trace};
  return ir::make_scan(traced, initial, sequences, sequences[0].dims()[0], /*reverse=*/false);
}

Value shifted_by(const Value& x, std::int64_t count, double fill) {
  const int last = x.rank() - 1;
  const auto axes = static_cast<std::size_t>(x.rank());
  Dims low(axes, 0);
  low.back() = count;
  const Value number = is_float(x.dtype())
                           ? ir::scalar_constant(x.dtype(), fill)
                           : ir::scalar_constant_int(x.dtype(), static_cast<std::int64_t>(fill));
  return ir::slice_axis(ir::pad(x, number, low, Dims(axes, 0)), last, 0, x.dims().back());
}

Value integers_of(const Operand& operand, int rank, const char* argument) {
  const Value x = value_of(operand, DType::Int64, argument);
  const std::string type = text(" (", argument, " ", x.type(), ")");
  if (!is_integer(x.dtype())) Call::type_error(argument, text(argument, " is not integer", type));
  if (x.rank() != rank) {
    Call::value_error(argument, text(argument, " has rank ", x.rank(), ", not ", rank, type));
  }
  return x;
}

Value lengths_of(const Operand& operand, const char* argument) {
  const Value x = value_of(operand, DType::Int64, argument);
  if (x.dtype() == DType::Bool) {
    Call::type_error(argument,
                     text(argument, " is bool, not a number (", argument, " ", x.type(), ")"));
  }
  return x;
}

Value truncated_lengths(const Value& lengths) {
  if (lengths.dtype() == DType::UInt64) {  // larger than any size, not negative
    const Value largest =
        ir::scalar_constant_int(DType::UInt64, std::numeric_limits<std::int64_t>::max());
    const Value clipped =
        ir::binary(Op::Minimum, lengths, ir::broadcast_to(largest, lengths.dims()));
    return ir::cast(clipped, DType::Int64);
  }
  const Value truncated = ir::cast(lengths, DType::Int64);
  if (!is_float(lengths.dtype())) return truncated;
  const Value none = ir::broadcast_to(ir::scalar_constant_int(DType::Int64, -1), truncated.dims());
  return ir::select(ir::equal_to(lengths, lengths), truncated, none);
}

namespace {

/// lengths_of(); throws ValueError unless it is a vector.
Value length_vector(const Operand& operand, const char* argument) {
  const Value x = lengths_of(operand, argument);
  if (x.rank() == 1) return x;
  Call::value_error(
      argument, text(argument, " has rank ", x.rank(), ", not 1 (", argument, " ", x.type(), ")"));
}

Value exp(const Value& x) { return ir::unary(Op::Exp, x); }
Value log(const Value& x) { return ir::unary(Op::Log, x); }
Value logical_and(const Value& x, const Value& y) { return ir::binary(Op::And, x, y); }
Value integer(const Value& like, std::int64_t value) {
  return ir::broadcast_to(ir::scalar_constant_int(like.dtype(), value), like.dims());
}

/// A mask over the states: the first `count`.
Value is_below(const Value& count, const Dim& states) {
  const Dims dims{states};
  return ir::less(ir::iota({DType::Int64, dims}, 0),
                  ir::broadcast_to(ir::cast(count, DType::Int64), dims));
}

/// The state of the forward recursion.
struct Forward {
  Value active;  // the number of states that can be reached
  Value logs;    // their log probabilities
};

/// One step of the forward recursion in log space: ctc_update_log_p with the skip indices as a mask
/// over the states. The next probability of state s is y[s] (p[s] + p[s - 1]), plus y[s] p[s - 2]
/// if may_skip[s - 2]; the largest p is factored out, so that exp does not underflow.
Forward forward(const Value& may_skip, const Value& zeros, const Value& active,
                const Value& current, const Value& previous) {
  const Dim states = current.dims()[0];
  const Value reached = is_below(active, states);
  const Value skips = logical_and(may_skip, reached);
  const Value index = ir::iota({DType::Int64, {states}}, 0);
  const Value last_skip = ir::reduce_max(ir::select(skips, index, integer(index, -1)), {0});
  const Value wide = ir::cast(active, DType::Int64);
  const Value ahead =
      ir::binary(Op::Maximum, wide + integer(wide, 1), last_skip + integer(wide, 3));
  const Value next = ir::binary(Op::Minimum, ahead, ir::dim_size(states));
  const Value nothing = ir::like(previous, 0);
  const Value known =
      ir::select(reached, previous, ir::like(previous, -std::numeric_limits<double>::infinity()));
  const Value high = ir::stop_gradient(ir::reduce_max(known, {0}));
  const Value raised = ir::broadcast_to(high, previous.dims());
  const Value p =
      ir::select(reached, exp(ir::select(reached, previous - raised, nothing)), nothing);
  const Value sum = p + shifted_by(p, 1, 0) + shifted_by(ir::select(skips, p, nothing), 2, 0);
  const Value reachable = is_below(next, states);
  const Value logs = log(ir::select(reachable, sum, ir::like(sum, 1)));
  return {ir::cast(next, active.dtype()), ir::select(reachable, current + logs + raised, zeros)};
}

/// A mask over the states (labels between blanks): whether the blank after the state may be
/// skipped.
Value may_skip(const Value& labels) {
  const Dim states = labels.dims()[0];
  const Value index = ir::iota({DType::Int64, {states}}, 0);
  const Value two = integer(index, 2);
  const Value odd = ir::equal_to(ir::binary(Op::Mod, index, two), integer(index, 1));
  const Value inside = ir::less(index + two, ir::broadcast_to(ir::dim_size(states), {states}));
  const Value ahead = ir::reverse(shifted_by(ir::reverse(labels, {0}), 2, 0), {0});
  return logical_and(logical_and(odd, inside), ir::logical_not(ir::equal_to(labels, ahead)));
}

CtcPathProbs path_probs(const Operand& predict, const Value& labels, double alpha) {
  const Value raw = float_of(predict, "predict");
  if (raw.rank() != 2) {
    Call::value_error("predict",
                      text("predict has rank ", raw.rank(), ", not 2 (predict ", raw.type(), ")"));
  }
  const Value index = ir::cast(labels, DType::Int64);
  const Value count = ir::broadcast_to(ir::dim_size(raw.dims()[1]), index.dims());
  const Value from_end = ir::less(index, integer(index, 0));
  const Value classes = ir::select(from_end, index + count, index);
  const Value picked = ir::gather(widened(raw), classes, 1);
  const Value states = ir::cast(ir::dim_size(picked.dims()[1]), picked.dtype());
  const Value part = ir::broadcast_to(alpha / states, picked.dims());
  const Value logs = log(picked * (1 - alpha) + part);
  const Value backwards = ir::reverse(logs, {0, 1});
  const Value zeros = ir::full(logs.dtype(), {logs.dims()[1]}, 0);
  const Value one = ir::scalar_constant_int(DType::Int64, 1);
  const Value skip_forward = may_skip(labels), skip_backward = may_skip(ir::reverse(labels, {0}));
  const ir::NodeRef both_ways =
      scan_over({logs, backwards}, {one, zeros, one, zeros}, [&](auto carries, auto slices) {
        const Forward f = forward(skip_forward, zeros, carries[0], slices[0], carries[1]);
        const Forward b = forward(skip_backward, zeros, carries[2], slices[1], carries[3]);
        return std::vector<Value>{f.active, f.logs, b.active, b.logs};
      });
  const auto reached = [&](std::uint32_t result) {
    const Value active{both_ways, result};
    return ir::less(ir::iota({DType::Int64, logs.dims()}, 1),
                    ir::broadcast_over(active, logs.dims(), {1}));
  };
  const Value sum = Value{both_ways, 5} + ir::reverse({both_ways, 7}, {0, 1}) - logs;
  const Value mask = logical_and(reached(4), ir::reverse(reached(6), {0, 1}));
  return {wrap(ir::cast(sum, raw.dtype())), wrap(mask)};
}

/// A vector of labels of a signed dtype, which can hold -1.
Value labels_of(const Operand& operand) {
  const Value labels = integers_of(operand, 1, "Y");
  if (info(labels.dtype()).kind == DTypeKind::Signed) return labels;
  Call::type_error("Y", text("Y is unsigned and cannot hold -1 (Y ", labels.type(), ")"));
}

/// The labels with blanks (-1) before, between and after them.
Value interleaved(const Value& labels) {
  const Dim count = labels.dims()[0];
  const auto blanks = [&](const Dims& dims) {
    return ir::broadcast_to(ir::scalar_constant_int(labels.dtype(), -1), dims);
  };
  const Value pairs = ir::concat({blanks({count, 1}), ir::reshape(labels, {count, 1})}, 1);
  return ir::concat({ir::reshape(pairs, {2 * count}), blanks({1})}, 0);
}

/// The limit of paths: a list in a module has at most 65536 items, and log_prob is one of them.
constexpr std::int64_t kMaxPaths = 65535;

/// The number of label sequences that fit into `steps` steps, with `labels` different labels; equal
/// neighbours need a blank between them. At most kMaxPaths + 1.
std::int64_t count_sequences(std::int64_t steps, std::int64_t labels) {
  constexpr std::int64_t kMany = kMaxPaths + 1;
  if (labels == 0) return 1;
  labels = std::min(labels, kMany);
  // `before` and `current` count sequences whose shortest alignment has t - 1 and t steps; the
  // empty sequence has no last label.
  std::int64_t all = 1, before = 0, current = 0;
  for (std::int64_t t = 1; t <= steps && all < kMany; ++t) {
    const std::int64_t next = t == 1 ? labels : (labels - 1) * current + before;
    before = std::exchange(current, std::min(next, kMany));
    all = std::min(all + current, kMany);
  }
  return all;
}

/// Throws ValueError if `paths` exceeds the number of label sequences that static dims of y_pred
/// allow.
void require_existing_paths(std::int64_t paths, const Value& y_pred) {
  const Dim& steps = y_pred.dims()[1];
  const Dim& classes = y_pred.dims()[2];
  if (!classes.is_static() || (!steps.is_static() && classes.value() > 1)) return;
  const std::int64_t count =
      count_sequences(steps.is_static() ? steps.value() : 1, classes.value() - 1);
  if (paths <= count) return;
  Call::value_error("top_paths",
                    text("top_paths ", paths, " exceeds the ",
                         counted(static_cast<std::size_t>(count), "possible label sequence"),
                         " (y_pred ", y_pred.type(), ")"));
}

void require_paths(const CtcDecodeOptions& options) {
  if (options.beam_width < 1) {
    Call::value_error("beam_width", text("beam_width is ", options.beam_width));
  }
  if (options.top_paths < 1) {
    Call::value_error("top_paths", text("top_paths is ", options.top_paths));
  }
  if (options.top_paths > options.beam_width) {
    Call::value_error("top_paths", text("top_paths ", options.top_paths, " exceeds beam_width ",
                                        options.beam_width));
  }
  if (options.top_paths > kMaxPaths) {
    Call::value_error("top_paths", text("top_paths ", options.top_paths, " exceeds ", kMaxPaths));
  }
}

}  // namespace

CtcDecoded ctc_decode(const Operand& y_pred, const Operand& input_length,
                      const CtcDecodeOptions& options) {
  return api_call("ctc_decode", where_of(y_pred, input_length), [&] {
    const Value raw = float_of(y_pred, "y_pred");
    const Value lengths = length_vector(input_length, "input_length");
    const std::string types = text(" (y_pred ", raw.type(), ", input_length ", lengths.type(), ")");
    if (raw.rank() != 3) Call::value_error("y_pred", text("y_pred has no three axes", types));
    if (equal(raw.dims()[2], 0) == ir::Ternary::Yes) {
      Call::value_error("y_pred", text("y_pred has no classes", types));
    }
    if (equal(raw.dims()[0], lengths.dims()[0]) == ir::Ternary::No) {
      Call::value_error("input_length", text("batch sizes differ", types));
    }
    if (!options.greedy) {
      require_paths(options);
      require_existing_paths(options.top_paths, raw);
    }
    const Dim samples = raw.dims()[0];
    const std::int64_t paths = options.greedy ? 1 : std::int64_t{options.top_paths};
    std::vector<ir::Type> results;
    for (std::int64_t i = 0; i < paths; ++i) {
      results.push_back({DType::Int64, {samples, Dim::fresh("ctc_decode.longest")}});
    }
    results.push_back({DType::Float64, {samples, paths}});
    const std::string payload =
        options.greedy ? "" : text(options.beam_width, " ", paths, " ", options.merge_repeated);
    const std::vector<Value> found =
        data_dependent_call(options.greedy ? "ctc_greedy" : "ctc_beam_search", payload, results,
                            {ir::cast(raw, DType::Float64) + epsilon(),
                             ir::with_dims(truncated_lengths(lengths), {samples})});
    CtcDecoded decoded;
    for (std::size_t i = 0; i + 1 < found.size(); ++i) decoded.decoded.push_back(wrap(found[i]));
    decoded.log_prob = wrap(ir::cast(found.back(), raw.dtype()));
    return decoded;
  });
}

Tensor ctc_label_dense_to_sparse(const Operand& labels, const Operand& label_lengths) {
  return api_call("ctc_label_dense_to_sparse", where_of(labels, label_lengths), [&] {
    const Value dense = number_of(labels, "labels");
    const Value lengths = length_vector(label_lengths, "label_lengths");
    const std::string types =
        text(" (labels ", dense.type(), ", label_lengths ", lengths.type(), ")");
    if (dense.rank() != 2) Call::value_error("labels", text("labels are not a matrix", types));
    if (equal(dense.dims()[0], lengths.dims()[0]) == ir::Ternary::No) {
      Call::value_error("label_lengths", text("batch sizes differ", types));
    }
    const Dim own = Dim::fresh("ctc_label_dense_to_sparse.count");
    const Dims row{dense.dims()[0]};
    SparseParts parts;
    parts.indices = data_dependent_call("ctc_label_indices", "", {{DType::Int64, {own, 2}}},
                                        {ir::dim_size(dense.dims()[1]),
                                         ir::with_dims(truncated_lengths(lengths), row)})
                        .front();
    const Dim count = parts.indices.dims()[0];
    parts.dims = dense.dims();
    const Value i = ir::reshape(ir::slice_axis(parts.indices, 1, 0, 1), {count});
    const Value j = ir::reshape(ir::slice_axis(parts.indices, 1, 1, 2), {count});
    const Value width = ir::broadcast_to(ir::dim_size(dense.dims()[1]), {count});
    const Value flat = ir::reshape(dense, {dense.dims()[0] * dense.dims()[1]});
    parts.values = ir::stop_gradient(ir::gather(flat, i * width + j));
    return wrap_sparse(std::move(parts));
  });
}

Tensor ctc_interleave_blanks(const Operand& Y) {
  return api_call("ctc_interleave_blanks", Y.where(),
                  [&] { return wrap(interleaved(labels_of(Y))); });
}

Tensor ctc_create_skip_idxs(const Operand& Y) {
  return api_call("ctc_create_skip_idxs", Y.where(), [&] {
    const Value labels = ir::cast(labels_of(Y), DType::Int64);
    const ir::Type result{DType::Int64, {Dim::fresh("ctc_create_skip_idxs.count")}};
    return wrap(data_dependent_call("ctc_skip_idxs", "", {result}, {labels}).front());
  });
}

CtcStep ctc_update_log_p(const Operand& skip_idxs, const Operand& zeros, const Operand& active,
                         const Operand& log_p_curr, const Operand& log_p_prev) {
  return api_call("ctc_update_log_p", where_of(log_p_curr, log_p_prev), [&]() -> CtcStep {
    const Value indices = ir::cast(integers_of(skip_idxs, 1, "skip_idxs"), DType::Int64);
    const auto [current, previous] =
        operand_pair(log_p_curr, log_p_prev, {"log_p_curr", "log_p_prev"});
    const Value none = value_of(zeros, current.dtype(), "zeros");
    for (const Value& value : {current, previous, none}) {
      if (is_float(value.dtype()) && value.rank() == 1) continue;
      Call::value_error("log_p_curr",
                        text("log_p_curr, log_p_prev and zeros are not vectors of ",
                             "floating point (log_p_curr ", current.type(), ", log_p_prev ",
                             previous.type(), ", zeros ", none.type(), ")"));
    }
    const Dims states = current.dims();
    const Value ones = ir::broadcast_to(ir::scalar_constant_int(DType::Int64, 1), indices.dims());
    const Value hits = ir::scatter_add(indices, ones, 0, states[0]);
    const Forward next =
        forward(ir::less(integer(hits, 0), hits), ir::with_dims(none, states),
                integers_of(active, 0, "active"), current, ir::with_dims(previous, states));
    return {wrap(next.active), wrap(next.logs)};
  });
}

CtcPathProbs ctc_path_probs(const Operand& predict, const Operand& Y,
                            const CtcPathOptions& options) {
  return api_call("ctc_path_probs", where_of(predict, Y),
                  [&] { return path_probs(predict, labels_of(Y), options.alpha); });
}

Tensor ctc_cost(const Operand& predict, const Operand& Y) {
  return api_call("ctc_cost", where_of(predict, Y), [&] {
    const CtcPathProbs paths =
        path_probs(predict, interleaved(labels_of(Y)), CtcPathOptions().alpha);
    const Value mask = value_of(paths.mask, "mask"), logs = value_of(paths.log_probs, "log_probs");
    const Value low = ir::like(logs, -std::numeric_limits<double>::infinity());
    const Value high = ir::stop_gradient(ir::reduce_max(ir::select(mask, logs, low), {0, 1}));
    const Value none = ir::like(logs, 0);
    const Value shifted = ir::select(mask, logs - ir::broadcast_to(high, logs.dims()), none);
    const Value sum = ir::reduce_sum(ir::select(mask, exp(shifted), none), {0, 1});
    return wrap(-(log(sum) + high));
  });
}

}  // namespace kiln
