// Imports RNN, LSTM and GRU. Each direction is one matmul of the inputs of all steps, then a Scan
// over the steps, which holds the matmul of the state alone.
#include "core/k/base/tensor_impl.h"
#include "core/onnx/import/cell_activation.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/onnx/import/positions.h"
#include "core/ops/lambda_builder.h"
#include "core/types/at.h"

#include <limits>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;
using Values = std::vector<Value>;

/// The parameters of one direction. Gates are side by side, in ONNX's order.
struct RecurrentCell {
  Value recurrence;  // R (gates * hidden, hidden)
  Value hidden_bias;  // GRU with linear_before_reset: Rbh (hidden); else empty
  Value peepholes;  // LSTM: P (3 * hidden), of i, o, f; empty: none
  Dim hidden;
  bool couples_forget = false;  // LSTM: input_forget
  bool resets_after_matmul = false;  // GRU: linear_before_reset
  std::span<const CellActivation> activations;
};

/// Computes the next states of a cell, of which the first is the output. `x` (batch, gates *
/// hidden): the inputs times W, with all biases but RecurrentCell::hidden_bias.
using CellStep = Values (*)(const RecurrentCell& cell, const Value& x, const Values& states);

/// Gate i of (.., gates * hidden).
Value gate_of(const Value& gates, std::int64_t i, const Dim& hidden) {
  return ir::slice_axis(gates, gates.rank() - 1, hidden * i, hidden * (i + 1));
}

/// h (batch, hidden) times the transpose of rows (n, hidden).
Value recurrent_matmul(const Value& h, const Value& rows) {
  return ir::dot(h, {0, 1}, rows, {2, 1}, {0, 2});
}

Value along_batch(const Value& vector, const Value& like) {
  return ir::broadcast(vector, like.dims(), {1});
}

Values rnn_step(const RecurrentCell& cell, const Value& x, const Values& states) {
  return {cell.activations[0](x + recurrent_matmul(states[0], cell.recurrence))};
}

Values lstm_step(const RecurrentCell& cell, const Value& x, const Values& states) {
  const Value &h = states[0], &c = states[1];
  const auto &f = cell.activations[0], &g = cell.activations[1];
  // onnxruntime clips the operands of gates only, not the cell state.
  CellActivation output = cell.activations[2];
  output.clip = std::numeric_limits<double>::infinity();
  const Value gates = x + recurrent_matmul(h, cell.recurrence);
  const auto gate = [&](std::int64_t i) { return gate_of(gates, i, cell.hidden); };
  const auto with_peephole = [&](const Value& pre, std::int64_t i, const Value& memory) {
    if (!cell.peepholes) return pre;
    return pre + along_batch(gate_of(cell.peepholes, i, cell.hidden), memory) * memory;
  };
  const Value in = f(with_peephole(gate(0), 0, c));
  const Value keep = cell.couples_forget ? 1.0 - in : f(with_peephole(gate(2), 2, c));
  const Value next = keep * c + in * g(gate(3));
  const Value out = f(with_peephole(gate(1), 1, next));
  return {out * output(next), next};
}

Values gru_step(const RecurrentCell& cell, const Value& x, const Values& states) {
  const Value& h = states[0];
  const auto &f = cell.activations[0], &g = cell.activations[1];
  const Dim n = cell.hidden;
  const auto rows = [&](const Dim& from, const Dim& to) {
    return ir::slice_axis(cell.recurrence, 0, from, to);
  };
  const bool is_after = cell.resets_after_matmul;
  const Value gates = recurrent_matmul(h, is_after ? cell.recurrence : rows(0, n * 2));
  const Value update = f(gate_of(x, 0, n) + gate_of(gates, 0, n));
  const Value reset = f(gate_of(x, 1, n) + gate_of(gates, 1, n));
  const Value inner = [&] {
    if (!is_after) return recurrent_matmul(reset * h, rows(n * 2, n * 3));
    const Value linear = gate_of(gates, 2, n);
    if (!cell.hidden_bias) return reset * linear;
    return reset * (linear + along_batch(cell.hidden_bias, linear));
  }();
  const Value candidate = g(gate_of(x, 2, n) + inner);
  return {(1.0 - update) * candidate + update * h};
}

/// A kind of node: its number of gates and states, and the default activations.
struct CellKind {
  std::int64_t gates;
  std::size_t states;
  std::span<const std::string_view> activations;
  CellStep step;
};

constexpr std::string_view kRnnActivations[] = {"Tanh"};
constexpr std::string_view kLstmActivations[] = {"Sigmoid", "Tanh", "Tanh"};
constexpr std::string_view kGruActivations[] = {"Sigmoid", "Tanh"};
constexpr CellKind kRnn{1, 1, kRnnActivations, rnn_step};
constexpr CellKind kLstm{4, 2, kLstmActivations, lstm_step};
constexpr CellKind kGru{3, 1, kGruActivations, gru_step};

class RecurrentNode {
 public:
  RecurrentNode(NodeContext& node, const CellKind& kind) : node_(node), kind_(kind) {
    const std::string direction = node.string("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
      node.fail(text("direction '", direction, "' is not forward, reverse or bidirectional"));
    }
    directions_ = direction == "bidirectional" ? 2 : 1;
    is_reverse_ = direction == "reverse";
    is_batch_first_ = node.integer("layout", 0) != 0;
    activations_ = cell_activations(node, kind.activations, at(directions_));
    x_ = node.input(0);
    const Value recurrence = node.input(2);
    if (x_.rank() != 3 || recurrence.rank() != 3 || node.input(1).rank() != 3) {
      node.fail(text("X, W and R are not of rank 3 (X ", x_.type(), ", W ", node.input(1).type(),
                     ", R ", recurrence.type(), ")"));
    }
    hidden_ = recurrence.dims()[2];
    if (is_batch_first_) x_ = ir::permute(x_, {1, 0, 2});
    read_lengths();
  }

  /// Y, then the last states.
  Values run() {
    std::vector<Values> parts(kind_.states + 1);
    for (int d = 0; d < directions_; ++d) {
      const Values results = direction(d);
      for (std::size_t i = 0; i < results.size(); ++i) {
        // Y with an axis of directions after that of time, states with one before all.
        Dims dims = results[i].dims();
        dims.insert(dims.begin() + (i == 0 ? 1 : 0), 1);
        parts[i].push_back(ir::reshape(results[i], dims));
      }
    }
    Values outputs;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Value joined = ir::concat(parts[i], i == 0 ? 1 : 0);
      if (!is_batch_first_) outputs.push_back(joined);
      else outputs.push_back(ir::permute(joined, i == 0 ? Ints{2, 0, 1, 3} : Ints{1, 0, 2}));
    }
    return outputs;
  }

 private:
  /// The mask of the steps within sequence_lens, which calls check to be at most the number of
  /// steps; inputs outside become 0, so that their gradients are finite.
  void read_lengths() {
    if (!node_.has(4)) return;
    const Dims steps{x_.dims()[0], x_.dims()[1]};
    const auto known = node_.dims(4);
    const auto is_whole = [&](const Dim& n) { return equal(n, steps[0]) == ir::Ternary::Yes; };
    if (known && std::all_of(known->begin(), known->end(), is_whole)) return;
    const Value lengths = checked_indices(
        fitted_operand(node_, node_.input(4), {steps[1]}, "sequence_lens"), steps[0] + 1);
    mask_ = ir::less(ir::iota({DType::Int64, steps}, 0), ir::broadcast(lengths, steps, {1}));
    x_ = ir::select(ir::broadcast(mask_, x_.dims(), {0, 1}), x_, ir::zeros_like(x_));
  }

  /// Entry d of an axis of directions.
  Value part(const Value& x, int d, int axis = 0) const {
    const Dim size = axis < x.rank() ? x.dims()[at(axis)] : Dim(0);
    if (equal(size, directions_) == ir::Ternary::No) {
      node_.fail(text("axis ", axis, " has size ", size, ", not ", directions_,
                      ", the number of directions (x ", x.type(), ")"));
    }
    Dims dims = x.dims();
    dims.erase(dims.begin() + axis);
    return ir::reshape(ir::slice_axis(x, axis, d, d + 1), dims);
  }

  Value initial_state(std::size_t input, int d) const {
    const Dims dims{x_.dims()[1], hidden_};
    if (!node_.has(input)) return ir::full(x_.dtype(), dims, 0);
    return fitted_operand(node_, part(node_.input(input), d, is_batch_first_ ? 1 : 0), dims,
                          "the initial state");
  }

  RecurrentCell cell_of(int d) const {
    const std::size_t count = kind_.activations.size();
    return {.recurrence = fitted_operand(node_, part(node_.input(2), d),
                                         {hidden_ * kind_.gates, hidden_}, "R"),
            .hidden_bias = {},
            .peepholes = node_.has(7)
                             ? fitted_operand(node_, part(node_.input(7), d), {hidden_ * 3}, "P")
                             : Value(),
            .hidden = hidden_,
            .couples_forget = node_.integer("input_forget", 0) != 0,
            .resets_after_matmul = node_.integer("linear_before_reset", 0) != 0,
            .activations = std::span(activations_).subspan(at(d) * count, count)};
  }

  /// X W^T + Wb + Rb of all steps (time, batch, gates * hidden); sets RecurrentCell::hidden_bias.
  Value projected(int d, RecurrentCell& cell) const {
    const Dim width = hidden_ * kind_.gates;
    const Value w = fitted_operand(node_, part(node_.input(1), d), {width, x_.dims()[2]}, "W");
    const Value y = ir::dot(x_, {0, 1, 2}, w, {3, 2}, {0, 1, 3});
    if (!node_.has(3)) return y;
    const Value both = fitted_operand(node_, part(node_.input(3), d), {width * 2}, "B");
    const Value input_bias = ir::slice_axis(both, 0, 0, width);
    Value bias = input_bias + ir::slice_axis(both, 0, width, width * 2);
    if (cell.resets_after_matmul) {
      const Dim start = hidden_ * 2;
      cell.hidden_bias = ir::slice_axis(both, 0, width + start, width * 2);
      bias = ir::concat(
          {ir::slice_axis(bias, 0, 0, start), ir::slice_axis(input_bias, 0, start, width)}, 0);
    }
    return y + ir::broadcast(bias, y.dims(), {2});
  }

  /// The outputs of all steps, then the last states, of one direction. Beyond the length of a
  /// sequence, states stay and outputs are 0.
  Values direction(int d) const {
    RecurrentCell cell = cell_of(d);
    Values xs{projected(d, cell)}, carry;
    for (std::size_t i = 0; i < kind_.states; ++i) carry.push_back(initial_state(5 + i, d));
    std::vector<ir::Type> types{{DType::Int64, {}}};
    for (const Value& state : carry) types.push_back(state.type());
    const Dims& dims = xs[0].dims();
    types.push_back({x_.dtype(), {dims[1], dims[2]}});
    if (mask_) {
      xs.push_back(mask_);
      types.push_back({DType::Bool, {dims[1]}});
    }
    const ir::LambdaBuilder builder(types);
    ir::Trace trace;
    Values results;
    {
      const ir::Trace::Scope tracing(trace);
      results = step_results(cell, builder.parameters());
    }
    const ir::TracedBody body{.builder = builder, .results = results, .trace = trace};
    const ir::NodeRef scan = ir::make_scan(body, carry, xs, dims[0], is_reverse_ || d == 1);
    Values outputs{{scan, static_cast<std::uint32_t>(kind_.states)}};
    for (std::uint32_t i = 0; i < kind_.states; ++i) outputs.push_back({scan, i});
    return outputs;
  }

  /// The next states and the output. `parameters`: the step number, the states, the slices.
  Values step_results(const RecurrentCell& cell, const Values& parameters) const {
    const auto first = parameters.begin() + 1;
    const Values old(first, first + static_cast<std::ptrdiff_t>(kind_.states));
    Values next = kind_.step(cell, parameters[1 + kind_.states], old);
    if (!mask_) {
      next.push_back(next[0]);
      return next;
    }
    const Value inside = ir::broadcast(parameters.back(), old[0].dims(), {0});
    const Value output = ir::select(inside, next[0], ir::zeros_like(next[0]));
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = ir::select(inside, next[i], old[i]);
    next.push_back(output);
    return next;
  }

  NodeContext& node_;
  const CellKind& kind_;
  int directions_ = 1;
  bool is_reverse_ = false, is_batch_first_ = false;
  std::vector<CellActivation> activations_;
  Value x_, mask_;  // (time, batch, input), (time, batch) or empty
  Dim hidden_;
};

Values import_rnn(NodeContext& node) { return RecurrentNode(node, kRnn).run(); }
Values import_lstm(NodeContext& node) { return RecurrentNode(node, kLstm).run(); }
Values import_gru(NodeContext& node) { return RecurrentNode(node, kGru).run(); }

constexpr OperatorRow kRecurrentRows[] = {
    {"GRU", {3, 7, 14, 22}, import_gru},
    {"LSTM", {1, 7, 14, 22}, import_lstm},
    {"RNN", {1, 7, 14, 22}, import_rnn},
};

}  // namespace

std::span<const OperatorRow> recurrent_operators() { return kRecurrentRows; }

}  // namespace kiln::onnx
