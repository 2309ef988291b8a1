// Variables and steps of recurrent layers.
#include "runtime/train/recurrent_state.h"

#include <algorithm>
#include <cstdint>

namespace kiln::layers {
namespace {

const char* kind_of(RecurrentState::Cell cell) {
  switch (cell) {
    case RecurrentState::Cell::LSTM: return "LSTM";
    case RecurrentState::Cell::GRU: return "GRU";
    default: return "SimpleRNN";
  }
}

const char* prefix_of(RecurrentState::Cell cell) {
  switch (cell) {
    case RecurrentState::Cell::LSTM: return "lstm";
    case RecurrentState::Cell::GRU: return "gru";
    default: return "simple_rnn";
  }
}

}  // namespace

RecurrentState::RecurrentState(Cell cell, std::int64_t units, const RecurrentOptions& options)
    : State(kind_of(cell), prefix_of(cell), options.name, options.dtype, options.trainable),
      cell(cell),
      units(units),
      options(options) {}

Initializer RecurrentState::lstm_bias() const {
  const Initializer initializer = options.bias_initializer;
  if (!options.unit_forget_bias) return initializer;
  return [initializer, units = units](const std::vector<std::int64_t>&, DType dtype) {
    const auto part = [&](const Initializer& make, std::int64_t count) {
      return constant(make({count * units}, dtype), {.dtype = dtype});
    };
    return eval(concatenate({part(initializer, 1), part("ones", 1), part(initializer, 2)}));
  };
}

void RecurrentState::build(std::int64_t features) {
  const RecurrentOptions& o = options;
  const std::int64_t columns = gates() * units;
  kernel = add_weight("kernel", {features, columns},
                      {o.kernel_initializer, o.kernel_regularizer, o.kernel_constraint});
  recurrent_kernel =
      add_weight("recurrent_kernel", {units, columns},
                 {o.recurrent_initializer, o.recurrent_regularizer, o.recurrent_constraint});
  if (!o.use_bias) return;
  std::vector<std::int64_t> shape{columns};
  if (cell == Cell::GRU && o.reset_after) shape = {2, columns};
  bias = add_weight("bias", shape,
                    {cell == Cell::LSTM ? lstm_bias() : o.bias_initializer, o.bias_regularizer,
                     o.bias_constraint});
}

Tensor RecurrentState::part(const Tensor& z, std::int64_t i, std::int64_t count) const {
  return slice(z, {0, i * units}, {-1, count * units});
}

StepResult RecurrentState::step(const Tensor& x, const std::vector<Tensor>& states) const {
  if (cell == Cell::LSTM) return lstm_step(x, states);
  if (cell == Cell::GRU) return gru_step(x, states[0]);
  Tensor z = dot(x, kernel);
  if (options.use_bias) z = z + bias;
  const Tensor h = options.activation(z + dot(states[0], recurrent_kernel));
  return {h, {h}};
}

StepResult RecurrentState::lstm_step(const Tensor& x, const std::vector<Tensor>& states) const {
  const RecurrentOptions& o = options;
  Tensor z = dot(x, kernel) + dot(states[0], recurrent_kernel);
  if (o.use_bias) z = z + bias;
  const Tensor kept = o.recurrent_activation(part(z, 1)) * states[1];
  const Tensor c = kept + o.recurrent_activation(part(z, 0)) * o.activation(part(z, 2));
  const Tensor h = o.recurrent_activation(part(z, 3)) * o.activation(c);
  return {h, {h, c}};
}

StepResult RecurrentState::gru_step(const Tensor& x, const Tensor& h) const {
  const RecurrentOptions& o = options;
  const bool is_after = o.reset_after;
  Tensor of_x = dot(x, kernel);
  Tensor of_h = dot(h, is_after ? recurrent_kernel : part(recurrent_kernel, 0, 2));
  if (o.use_bias) of_x = of_x + (is_after ? bias[0] : bias);
  if (o.use_bias && is_after) of_h = of_h + bias[1];
  const Tensor z = o.recurrent_activation(part(of_x, 0) + part(of_h, 0));
  const Tensor r = o.recurrent_activation(part(of_x, 1) + part(of_h, 1));
  const Tensor inner = is_after ? r * part(of_h, 2) : dot(r * h, part(recurrent_kernel, 2));
  const Tensor next = z * h + (1 - z) * o.activation(part(of_x, 2) + inner);
  return {next, {next}};
}

std::vector<Tensor> RecurrentState::initial_states(const Tensor& sequences,
                                                   const RecurrentCall& call) const {
  if (call.initial_state.empty() && options.stateful) {
    return {state_variables.begin(), state_variables.end()};
  }
  if (call.initial_state.empty()) {
    const Tensor zero = sum(zeros_like(sequences), {.axis = {1, 2}, .keepdims = true});
    return std::vector<Tensor>(states(), tile(squeeze(zero, 2), {1, units}));
  }
  if (call.initial_state.size() != states()) {
    reject("initial_state",
           text("requires ", states(), " states, not ", call.initial_state.size()));
  }
  for (const Tensor& state : call.initial_state) {
    require_rank(state, 2, "initial_state");
    require_dtype(state, "initial_state");
    if (int_shape(state)[1] != units) {
      reject("initial_state", text("requires states of ", units, " units, not ", state));
    }
  }
  return call.initial_state;
}

void RecurrentState::create_state_variables(std::int64_t samples) {
  state_variables.clear();
  for (std::size_t i = 0; i < states(); ++i) {
    state_variables.push_back(
        variable(Array::zeros({samples, units}, dtype),
                 {.dtype = dtype, .name = text(name, i == 0 ? "/rnn_state" : "/rnn_state_1")}));
  }
}

void RecurrentState::require_stateful() const {
  if (!options.stateful) reject("stateful", "is not stateful");
}

void RecurrentState::reset_state() const {
  std::vector<std::pair<Tensor, Array>> zeros;
  for (const Variable& state : state_variables) zeros.emplace_back(state, Array(0.f));
  batch_set_value(zeros);
}

Tensor RecurrentState::drop_features(const Tensor& sequences,
                                     const OptionalOperand& training) const {
  if (options.dropout == 0) return sequences;
  const Tensor dropped =
      dropout(sequences, options.dropout, {.noise_shape = {None, 1, None}, .seed = options.seed});
  return in_train_phase(dropped, sequences, training);
}

Tensor RecurrentState::recurrent_mask(const Tensor& state, const OptionalOperand& training) const {
  if (options.recurrent_dropout == 0) return {};
  // Another seed than that of the inputs, whose masks would be the same for as many units.
  std::optional<Seed> seed = options.seed;
  if (seed) seed = Seed(static_cast<std::uint64_t>(std::int64_t{*seed}) + 1);
  const Tensor all = ones_like(state);
  const Tensor mask =
      in_train_phase(dropout(all, options.recurrent_dropout, {.seed = seed}), all, training);
  return same_node(mask, all) ? Tensor() : mask;
}

RecurrentOutput RecurrentState::run(const Tensor& sequences, const RecurrentCall& call,
                                    Where where) {
  require_rank(sequences, 3, "sequences");
  require_dtype(sequences, "sequences");
  build_once([&] {
    build(size_of(sequences, 2, {}, "sequences"));
    if (options.stateful) create_state_variables(size_of(sequences, 0, {}, "sequences"));
  });
  size_of(sequences, 2, int_shape(kernel)[0], "sequences");
  if (options.stateful) size_of(sequences, 0, int_shape(state_variables[0])[0], "sequences");
  const std::vector<Tensor> begin = initial_states(sequences, call);
  const Tensor kept_units = recurrent_mask(begin[0], call.training);
  const StepFunction one = [&](const Tensor& x, std::vector<Tensor> states) {
    return named_call(kind, where, [&] {
      if (!kept_units.empty()) states[0] = states[0] * kept_units;
      return step(x, states);
    });
  };
  const RnnResult result = rnn(
      one, drop_features(sequences, call.training), begin,
      {.go_backwards = options.go_backwards, .mask = call.mask, .unroll = options.unroll}, where);
  updates.clear();
  for (std::size_t i = 0; i < state_variables.size(); ++i) {
    updates.emplace_back(state_variables[i], result.new_states[i], where);
  }
  if (!options.return_sequences) return {result.last_output, result.new_states};
  if (call.mask.empty() || !zero_output_for_mask) return {result.outputs, result.new_states};
  const Tensor is_step = not_equal(cast(call.mask, "int32"), 0);
  const Tensor kept = options.go_backwards ? reverse(is_step, 1) : is_step;
  return {switch_(kept, result.outputs, zeros_like(result.outputs)), result.new_states};
}

}  // namespace kiln::layers
