// Imports Scan, over any axes and in both directions.
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/step_body.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Ternary;
using ir::Value;
using Values = std::vector<Value>;

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

constexpr OperatorRow kScanRows[] = {
    {"Scan", {8, 9, 11, 16, 19, 21, 23, 24, 25}, import_scan},
};

}  // namespace

std::span<const OperatorRow> scan_operators() { return kScanRows; }

}  // namespace kiln::onnx
