// Imports Loop and Scan: a Scan of the body, or the steps one after the other where the number of
// steps is known and their types differ or the condition ends the loop.
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/ops/lambda_builder.h"
#include "core/types/at.h"
#include "core/types/escaped_text.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Ternary;
using ir::Value;
using Values = std::vector<Value>;

/// At most this many steps become nodes of their own.
constexpr std::int64_t kMaxUnrolledSteps = 256;

ir::Type scan_step_type(const Value& sequence) {
  ir::Type type = sequence.type();
  type.dims.erase(type.dims.begin());
  return type;
}

ir::Type scan_stacked_type(const ir::Type& step, const Dim& length) {
  ir::Type type = step;
  type.dims.insert(type.dims.begin(), length);
  return type;
}

std::vector<ir::Type> body_types(const Values& carries, const Values& sequences) {
  std::vector<ir::Type> types{{DType::Int64, {}}};
  for (const Value& carry : carries) types.push_back(carry.type());
  for (const Value& sequence : sequences) types.push_back(scan_step_type(sequence));
  return types;
}

/// A body on the parameters of a builder: the step number, carries, slices of sequences.
struct StepBody {
  StepBody(const Values& carries, const Values& sequences)
      : builder(body_types(carries, sequences)) {}
  const Value& step() const { return builder.parameters()[0]; }
  Values arguments() const {
    return {builder.parameters().begin() + 1, builder.parameters().end()};
  }
  /// Calls work(), which makes the results, and records its nodes.
  template <class Work>
  void trace_results(const Work& work) {
    const ir::Trace::Scope tracing(trace);
    const ir::PositionScope position(step());
    results = work();
  }

  ir::LambdaBuilder builder;
  ir::Trace trace;
  Values results;
};

bool fits_carry(const Value& result, const Value& carry) {
  return result.dtype() == carry.dtype() && equal(result.dims(), carry.dims()) != Ternary::No;
}

/// Requires the next carries, which are the first results of the body, to have the types of the
/// carries.
void fit_carries(NodeContext& node, StepBody& body, const Values& carries) {
  const ir::Trace::Scope tracing(body.trace);
  for (std::size_t i = 0; i < carries.size(); ++i) {
    Value& next = body.results[i];
    if (!fits_carry(next, carries[i])) {
      node.fail(text("the body turns carried value ", i, " from ", carries[i].type(), " into ",
                     next.type(), "; in a loop of unknown length its type must stay the same"));
    }
    next = ir::with_dims(next, carries[i].dims());
  }
}

Values scan_of(const StepBody& body, const Values& carries, const Values& sequences,
               const Dim& length) {
  const ir::TracedBody traced{
      .builder = body.builder, .results = body.results, .trace = body.trace};
  const ir::NodeRef scan = ir::make_scan(traced, carries, sequences, length, /*reverse=*/false);
  Values results;
  for (std::uint32_t i = 0; i < scan->types.size(); ++i) results.push_back({scan, i});
  return results;
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
  }

  Values run() {
    if (first_ == Ternary::Unknown) {
      node_.fail(text("whether the loop is entered ('", escaped_text(node_.node().input[1]),
                      "') must be known when the model is imported"));
    }
    const bool is_short = !count_ || (count_->is_static() && count_->value() <= kMaxUnrolledSteps);
    if (first_ == Ternary::No) return without_steps();
    if (!is_short) return scanned();
    try {
      return scanned();
    } catch (const Error&) {
      return unrolled();
    }
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
    const Value positive = ir::binary(ir::Op::Maximum, count, ir::zeros_like(count));
    return dims_of(Shape(wrap(positive)), "M").front();
  }

  /// The condition after a step, the next carries and the outputs of the step.
  Values step(const Value& number, const Values& carries) {
    Values arguments{number, ir::scalar_constant_int(DType::Bool, 1)};
    arguments.insert(arguments.end(), carries.begin(), carries.end());
    return node_.run_graph(body_, arguments);
  }

  StepBody traced(Ternary& goes_on) {
    StepBody body(carries_, {});
    body.trace_results([&] { return step(body.step(), body.arguments()); });
    goes_on = node_.truth(body.results[0]);
    body.results.erase(body.results.begin());
    return body;
  }

  Values scanned() {
    Ternary goes_on = Ternary::Unknown;
    StepBody body = traced(goes_on);
    if (goes_on != Ternary::Yes || !count_) {
      node_.fail(text("the condition '", escaped_text(body_.output[0].name),
                      "' of the body may end the loop after any step, which depends on data; only "
                      "loops whose number of steps is known before the first one are imported"));
    }
    fit_carries(node_, body, carries_);
    return scan_of(body, carries_, {}, *count_);
  }

  /// The carries and empty outputs.
  Values without_steps() {
    Ternary goes_on = Ternary::Unknown;
    const StepBody body = traced(goes_on);
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

  NodeContext& node_;
  const GraphProto& body_;
  Values carries_;
  Ternary first_ = Ternary::Yes;
  std::optional<Dim> count_;
};

Values import_loop(NodeContext& node) { return LoopImport(node).run(); }

Value with_moved_axis(const Value& x, int from, int to) {
  Ints axes = ir::all_axes(x);
  axes.erase(axes.begin() + from);
  axes.insert(axes.begin() + to, from);
  return ir::permute(x, axes);
}

/// The last states and the stacked outputs of a Scan over axis 0 of all sequences.
Values scan_steps(NodeContext& node, const Values& states, Values sequences) {
  const GraphProto& graph = node.graph("body");
  const Dim length = sequences.front().dims()[0];
  for (Value& sequence : sequences) {
    Dims dims = sequence.dims();
    if (equal(dims[0], length) == Ternary::No) {
      node.fail(text("the sequences have ", length, " and ", dims[0], " steps"));
    }
    dims[0] = length;
    sequence = ir::with_dims(sequence, dims);
  }
  StepBody body(states, sequences);
  body.trace_results([&] { return node.run_graph(graph, body.arguments()); });
  if (body.results.size() < states.size()) {
    node.fail(
        text("the body has ", body.results.size(), " outputs for ", states.size(), " states"));
  }
  fit_carries(node, body, states);
  return scan_of(body, states, sequences, length);
}

struct ScanOperands {
  Values states, sequences;
};

ScanOperands scan_operands(NodeContext& node, std::size_t first) {
  const std::int64_t count = node.integer("num_scan_inputs");
  const auto given = static_cast<std::int64_t>(node.input_count() - first);
  if (count < 1 || count > given) node.fail(text("num_scan_inputs is ", count, " of ", given));
  ScanOperands operands;
  for (std::size_t i = first; i < node.input_count(); ++i) {
    const bool is_state = static_cast<std::int64_t>(i - first) < given - count;
    (is_state ? operands.states : operands.sequences).push_back(node.input(i));
  }
  return operands;
}

/// Entry i of a list attribute, 0 if it is absent.
std::int64_t scan_flag(NodeContext& node, const char* name, std::size_t i, std::size_t count) {
  const auto flags = node.integers(name);
  if (!flags) return 0;
  if (flags->size() != count) {
    node.fail(text(name, " has ", flags->size(), " entries, not ", count));
  }
  return (*flags)[i];
}

/// Opset 8: axis 0 of all operands is a batch, each entry of which is scanned over its axis 0.
Values import_batched_scan(NodeContext& node) {
  if (node.has(0))
    node.fail("sequence_lens, different numbers of steps in a batch, are not supported");
  const ScanOperands given = scan_operands(node, 1);
  Values operands = given.states;
  operands.insert(operands.end(), given.sequences.begin(), given.sequences.end());
  Dim batch;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Dims dims = operands[i].dims();
    if (dims.size() < (i < given.states.size() ? 1u : 2u)) {
      node.fail(
          text("operand ", i, " lacks axes of the batch and the steps (", operands[i].type(), ")"));
    }
    if (i == 0) batch = dims[0];
    dims[0] = batch;
    operands[i] = ir::with_dims(operands[i], dims);
  }
  StepBody body({}, operands);
  body.trace_results([&] {
    const Values entries = body.arguments();
    const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(given.states.size());
    Values sequences(middle, entries.end());
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const bool is_reversed = scan_flag(node, "directions", i, sequences.size()) != 0;
      if (is_reversed) sequences[i] = ir::reverse(sequences[i], {0});
    }
    return scan_steps(node, {entries.begin(), middle}, sequences);
  });
  return scan_of(body, {}, operands, batch);
}

Values import_scan(NodeContext& node) {
  if (node.opset() < 9) return import_batched_scan(node);
  ScanOperands operands = scan_operands(node, 0);
  const std::size_t count = operands.sequences.size();
  for (std::size_t i = 0; i < count; ++i) {
    Value& x = operands.sequences[i];
    const std::int64_t axis = scan_flag(node, "scan_input_axes", i, count);
    x = with_moved_axis(x, node.axis(axis, x.rank(), "scan_input_axes"), 0);
    if (scan_flag(node, "scan_input_directions", i, count) != 0) x = ir::reverse(x, {0});
  }
  Values results = scan_steps(node, operands.states, operands.sequences);
  const std::size_t states = operands.states.size(), outputs = results.size() - states;
  for (std::size_t i = 0; i < outputs; ++i) {
    Value& y = results[states + i];
    const std::int64_t axis = scan_flag(node, "scan_output_axes", i, outputs);
    if (scan_flag(node, "scan_output_directions", i, outputs) != 0) y = ir::reverse(y, {0});
    y = with_moved_axis(y, 0, node.axis(axis, y.rank(), "scan_output_axes"));
  }
  return results;
}

constexpr OperatorRow kLoopRows[] = {
    {"Loop", {1, 11, 13, 16, 19, 21, 23, 24, 25}, import_loop},
    {"Scan", {8, 9, 11, 16, 19, 21, 23, 24, 25}, import_scan},
};

}  // namespace

std::span<const OperatorRow> loop_operators() { return kLoopRows; }

}  // namespace kiln::onnx
