// Imports Loop: a Scan of the body; the steps one after the other where their number is known and
// their types differ or the condition ends the loop; a While where the condition depends on data.
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/step_body.h"
#include "core/ops/rewrite_graph.h"
#include "core/types/escaped_text.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Ternary;
using ir::Value;
using Values = std::vector<Value>;

/// At most this many steps become nodes of their own.
constexpr std::int64_t kMaxUnrolledSteps = 256;

/// The type of the outputs of several steps, stacked.
ir::Type scan_stacked_type(const ir::Type& step, const Dim& length) {
  ir::Type type = step;
  type.dims.insert(type.dims.begin(), length);
  return type;
}

/// A Loop node, with the checks that do not depend on its body.
class LoopImport {
 public:
  explicit LoopImport(NodeContext& node) : node_(node), body_(node.graph("body")) {
    for (std::size_t i = 2; i < node.input_count(); ++i) carries_.push_back(node.input(i));
    if (body_.input.size() != carries_.size() + 2 || body_.output.size() <= carries_.size()) {
      node.fail(text("the body has ", body_.input.size(), " inputs and ", body_.output.size(),
                     " outputs for ", carries_.size(), " carried values"));
    }
    if (node.has(1)) first_ = node.truth(node.input(1));
    count_ = trip_count();
    is_short_ = !count_ || (count_->is_static() && count_->value() <= kMaxUnrolledSteps);
  }

  Values run() {
    if (first_ == Ternary::No) return without_steps();
    if (first_ == Ternary::Unknown || limit_) return until_false();
    if (!is_short_) return may_end() ? until_false() : scanned();
    try {
      return scanned();
    } catch (const Error&) {
      // Its types differ from step to step, or its condition may end it: other forms may fit.
    }
    try {
      return unrolled();
    } catch (const Error&) {
      if (!may_end()) throw;
    }
    return until_false();
  }

 private:
  /// The number of steps unless the condition ends the loop; nullopt for no limit.
  std::optional<Dim> trip_count() {
    if (!node_.has(0)) return std::nullopt;
    constexpr std::int64_t kNoLimit = std::int64_t{1} << 40;
    const auto dims = node_.dims(0);
    if (dims && dims->size() == 1) {
      const Dim& count = dims->front();
      if (count.is_static() && count.value() >= kNoLimit) return std::nullopt;
      return max(count, 0);
    }
    const Value count = ir::reshape(ir::cast(node_.input(0), DType::Int64), {1});
    const bool is_stacked = body_.output.size() != carries_.size() + 1;
    if (count.node->is_open && !is_stacked) {
      limit_ = ir::reshape(count, {});
      return std::nullopt;
    }
    const Value positive = ir::binary(ir::Op::Maximum, count, ir::zeros_like(count));
    return dims_of(Shape(wrap(positive)), "M").front();
  }

  /// The condition after a step, the next carries and the outputs of the step.
  Values step(const Value& number, const Values& carries) {
    Values arguments{number, ir::scalar_constant_int(DType::Bool, 1)};
    arguments.insert(arguments.end(), carries.begin(), carries.end());
    return node_.run_graph(body_, arguments);
  }

  /// A step of any number, without its condition.
  StepBody& traced() {
    if (traced_) return *traced_;
    StepBody body(carries_, {});
    body.trace_results([&] { return step(body.step(), body.arguments()); });
    goes_on_ = node_.truth(body.results[0]);
    body.results.erase(body.results.begin());
    return traced_.emplace(std::move(body));
  }

  /// Whether the condition may end the loop, as far as a step of any number tells.
  bool may_end() {
    traced();
    return goes_on_ != Ternary::Yes || !count_;
  }

  Values scanned() {
    if (may_end()) node_.fail("the condition may end the loop");
    StepBody& body = traced();
    if (is_short_ && !keeps_types(body)) node_.fail("the types of carried values change");
    fit_carries(node_, body, carries_);
    return scan_of(body, carries_, {}, *count_);
  }

  /// Whether all carried values are known to keep their types.
  bool keeps_types(const StepBody& body) const {
    for (std::size_t i = 0; i < carries_.size(); ++i) {
      const Value &from = carries_[i], &to = body.results[i];
      const bool is_same =
          from.dtype() == to.dtype() && from.rank() == to.rank() &&
          std::equal(from.dims().begin(), from.dims().end(), to.dims().begin(), ir::same_value);
      if (!is_same) return false;
    }
    return true;
  }

  /// The carries and empty outputs.
  Values without_steps() {
    const StepBody& body = traced();
    Values results = carries_;
    for (std::size_t i = carries_.size(); i < body.results.size(); ++i) {
      const ir::Type type = scan_stacked_type(body.results[i].type(), 0);
      results.push_back(ir::full(type.dtype, type.dims, 0));
    }
    return results;
  }

  Values unrolled() {
    const std::int64_t limit = count_ ? count_->value() : kMaxUnrolledSteps + 1;
    if (limit == 0) return without_steps();
    Values carries = carries_;
    std::vector<Values> outputs(body_.output.size() - 1 - carries.size());
    Ternary goes_on = Ternary::Yes;
    for (std::int64_t i = 0; i < limit && goes_on == Ternary::Yes; ++i) {
      Values results = step(ir::scalar_constant_int(DType::Int64, i), carries);
      goes_on = node_.truth(results[0]);
      const bool is_last = count_ && i + 1 == limit;
      if (i == kMaxUnrolledSteps || (goes_on == Ternary::Unknown && !is_last)) {
        node_.fail(text("whether the loop goes on after step ", i, " ('",
                        escaped_text(body_.output[0].name),
                        "') depends on data; only loops of a number of steps that is known before "
                        "the first one, or of up to ",
                        kMaxUnrolledSteps,
                        " known ones, are "
                        "imported"));
      }
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        const Value& one = results[1 + carries.size() + k];
        outputs[k].push_back(ir::reshape(one, scan_stacked_type(one.type(), 1).dims));
      }
      carries.assign(results.begin() + 1,
                     results.begin() + 1 + static_cast<std::ptrdiff_t>(carries.size()));
    }
    for (const Values& rows : outputs) carries.push_back(ir::concat(rows, 0));
    return carries;
  }

  /// A While. Its carries: whether a step begins, the carried values, the number of steps made, and
  /// for each output the outputs of all steps, zeros after the last one.
  Values until_false() {
    if (!count_ && body_.output.size() != carries_.size() + 1) {
      node_.fail(text("the output '", escaped_text(body_.output[carries_.size() + 1].name),
                      "' of each step is stacked, but the condition '",
                      escaped_text(body_.output[0].name),
                      "' depends on data and there is no limit of steps (M)"));
    }
    const StepBody& one = traced();
    const Value first = node_.has(1) ? node_.input(1) : ir::scalar_constant_int(DType::Bool, 1);
    Values carries{condition(first, ir::scalar_constant_int(DType::Int64, 0))};
    carries.insert(carries.end(), carries_.begin(), carries_.end());
    carries.push_back(ir::scalar_constant_int(DType::Int64, 0));
    for (std::size_t i = carries_.size(); i < one.results.size(); ++i) {
      const ir::Type type = scan_stacked_type(one.results[i].type(), *count_);
      carries.push_back(ir::full(type.dtype, type.dims, 0));
    }
    StepBody body(carries, {});
    body.trace_results([&] { return next_carries(body.step(), body.arguments()); });
    fit_carries(node_, body, carries);
    const Dim limit = count_ ? *count_ : Dim(INT64_MAX);
    const ir::NodeRef loop = ir::make_while(
        {.builder = body.builder, .results = body.results, .trace = body.trace}, carries, limit);
    return without_rest(ir::results_of(loop));
  }

  /// Whether the step of this number begins.
  Value condition(const Value& given, const Value& number) const {
    const Value goes_on = ir::reshape(ir::cast(given, DType::Bool), {});
    return limit_ ? ir::binary(ir::Op::And, goes_on, ir::less(number, limit_)) : goes_on;
  }

  Values next_carries(const Value& number, const Values& carries) {
    const auto count = static_cast<std::ptrdiff_t>(carries_.size());
    const Values results = step(number, {carries.begin() + 1, carries.begin() + 1 + count});
    const Value next_number = number + ir::scalar_constant_int(DType::Int64, 1);
    Values next{condition(results[0], next_number)};
    next.insert(next.end(), results.begin() + 1, results.begin() + 1 + count);
    next.push_back(next_number);
    for (std::size_t i = next.size(); i < carries.size(); ++i) {
      next.push_back(with_row(carries[i], number, results[i - 1]));
    }
    return next;
  }

  /// `rows`, in which `row` replaces row `number`.
  static Value with_row(const Value& rows, const Value& number, const Value& row) {
    const ir::Dims& dims = rows.dims();
    const Value numbers = ir::iota({DType::Int64, {dims[0]}}, 0);
    ir::Ints others(dims.size() - 1);
    std::iota(others.begin(), others.end(), std::int64_t{1});
    const Value is_row = ir::equal_to(numbers, ir::broadcast_to(number, numbers.dims()));
    return ir::select(ir::broadcast_over(is_row, dims, others), ir::broadcast_over(row, dims, {0}),
                      rows);
  }

  /// The carried values and the outputs of the steps made.
  Values without_rest(const Values& carries) {
    const std::size_t counter = carries_.size() + 1;
    Values results(carries.begin() + 1, carries.begin() + static_cast<std::ptrdiff_t>(counter));
    if (counter + 1 == carries.size()) return results;
    const Value steps = ir::reshape(carries[counter], {1});
    const Dim made = dims_of(Shape(wrap(steps)), "M").front();
    for (std::size_t i = counter + 1; i < carries.size(); ++i) {
      results.push_back(ir::slice_axis(carries[i], 0, 0, made));
    }
    return results;
  }

  NodeContext& node_;
  const GraphProto& body_;
  Values carries_;
  Ternary first_ = Ternary::Yes;
  std::optional<Dim> count_;
  Value limit_;  // in place of count_: the number of steps, where it changes in an outer loop
  bool is_short_ = false;  // its steps may be unrolled
  std::optional<StepBody> traced_;
  Ternary goes_on_ = Ternary::Unknown;  // the condition of traced_
};

Values import_loop(NodeContext& node) { return LoopImport(node).run(); }

constexpr OperatorRow kLoopRows[] = {
    {"Loop", {1, 11, 13, 16, 19, 21, 23, 24, 25}, import_loop},
};

}  // namespace

std::span<const OperatorRow> loop_operators() { return kLoopRows; }

}  // namespace kiln::onnx
