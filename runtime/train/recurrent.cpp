// SimpleRNN, LSTM, GRU, Bidirectional.
#include <kiln/layers_recurrent.h>

#include "runtime/train/recurrent_state.h"

#include <limits>

namespace kiln::layers {
namespace {

using Cell = RecurrentState::Cell;

struct BidirectionalState : Layer::State {
  explicit BidirectionalState(const StringArgument& name)
      : State("Bidirectional", "bidirectional", name, {}) {}
  bool has_weights() const override { return false; }  // its two layers have them

  std::string merge_mode;
  std::shared_ptr<RecurrentState> forward, backward;

  /// Runs the layer of one direction, in a scope of its name without this layer's.
  RecurrentOutput run(RecurrentState& layer, const Tensor& sequences, const RecurrentCall& call,
                      Where where) const {
    const CallScope scope(layer.name.substr(name.size() + 1), where);
    return layer.run(sequences, call, where);
  }

  Tensor merge(const Tensor& y, const Tensor& reversed) const {
    if (merge_mode == "concat") return concatenate({y, reversed});
    if (merge_mode == "sum") return y + reversed;
    if (merge_mode == "mul") return y * reversed;
    return (y + reversed) / 2;
  }
};

/// A layer with the options of `pattern`, in one direction.
std::shared_ptr<RecurrentState> directed(const RecurrentState& pattern, const std::string& name,
                                         bool go_backwards) {
  RecurrentOptions options = pattern.options;
  options.name = name;
  options.dtype = pattern.dtype;
  options.go_backwards = go_backwards;
  options.trainable = pattern.is_trainable;
  auto state = std::make_shared<RecurrentState>(pattern.cell, pattern.units, options);
  state->zero_output_for_mask = true;
  return state;
}

std::shared_ptr<RecurrentState> make_recurrent(const char* kind, Cell cell, std::int64_t units,
                                               const RecurrentOptions& options, Where where) {
  return at_call(kind, where, [&] {
    require_positive(kind, "units", units, where);
    if (units > std::numeric_limits<std::int64_t>::max() / 4) {  // gates * units overflows
      throw ValueError(kind, "units", text("units ", units, " is too large"), where);
    }
    require_rate(kind, "dropout", options.dropout, where);
    require_rate(kind, "recurrent_dropout", options.recurrent_dropout, where);
    return std::make_shared<RecurrentState>(cell, units, options);
  });
}

/// The states of stateful layers.
Results<Tensor> states_of(const std::vector<const RecurrentState*>& layers) {
  Results<Tensor> all;
  for (const RecurrentState* layer : layers) {
    layer->require_stateful();
    all.insert(all.end(), layer->state_variables.begin(), layer->state_variables.end());
  }
  return all;
}

void reset_states(const std::vector<const RecurrentState*>& layers) {
  for (const RecurrentState* layer : layers) layer->require_stateful();
  for (const RecurrentState* layer : layers) layer->reset_state();
}

}  // namespace

SimpleRNN::SimpleRNN(WholeNumber units, const RecurrentOptions& options, Where where)
    : Recurrent(make_recurrent("SimpleRNN", Cell::SimpleRNN, units, options, where)) {}

LSTM::LSTM(WholeNumber units, const RecurrentOptions& options, Where where)
    : Recurrent(make_recurrent("LSTM", Cell::LSTM, units, options, where)) {}

GRU::GRU(WholeNumber units, const RecurrentOptions& options, Where where)
    : Recurrent(make_recurrent("GRU", Cell::GRU, units, options, where)) {}

RecurrentOutput Recurrent::operator()(const Tensor& sequences, const RecurrentCall& call,
                                      Where where) const {
  return call_layer(*state_, where, [&] {
    return static_cast<RecurrentState&>(*state_).run(sequences, call, where);
  });
}

Results<Tensor> Recurrent::states(Where where) const {
  return at_call("states", where,
                 [&] { return states_of({static_cast<const RecurrentState*>(state_.get())}); });
}

void Recurrent::reset_state(Where where) const {
  at_call("reset_state", where,
          [&] { reset_states({static_cast<const RecurrentState*>(state_.get())}); });
}

Bidirectional::Bidirectional(const Recurrent& layer, const BidirectionalOptions& options,
                             Where where)
    : Layer(at_call("Bidirectional", where, [&] {
        require_one_of("Bidirectional", "merge_mode", options.merge_mode,
                       {"concat", "sum", "mul", "ave"}, where);
        const auto& pattern = static_cast<const RecurrentState&>(*layer.state_);
        if (pattern.options.go_backwards) {
          throw ValueError("Bidirectional", "layer",
                           text("layer '", pattern.name, "' goes backwards"), where);
        }
        auto state = std::make_shared<BidirectionalState>(options.name);
        state->merge_mode = options.merge_mode;
        const auto name = [&](const char* direction) {
          return text(state->name, "/", direction, "_", pattern.name);
        };
        state->forward = directed(pattern, name("forward"), false);
        state->backward = directed(pattern, name("backward"), true);
        state->inner = {state->forward, state->backward};
        return state;
      })) {}

RecurrentOutput Bidirectional::operator()(const Tensor& sequences, const RecurrentCall& call,
                                          Where where) const {
  return call_layer(*state_, where, [&]() -> RecurrentOutput {
    auto& self = static_cast<BidirectionalState&>(*state_);
    const std::size_t each = self.forward->states(), given = call.initial_state.size();
    if (given != 0 && given != 2 * each) {
      self.reject("initial_state", text("requires ", 2 * each, " states, not ", given));
    }
    const auto middle = call.initial_state.begin() + static_cast<std::ptrdiff_t>(given / 2);
    const RecurrentCall forth{.mask = call.mask,
                              .initial_state = {call.initial_state.begin(), middle},
                              .training = call.training};
    const RecurrentCall back{.mask = call.mask,
                             .initial_state = {middle, call.initial_state.end()},
                             .training = call.training};
    const RecurrentOutput y = self.run(*self.forward, sequences, forth, where);
    const RecurrentOutput reversed = self.run(*self.backward, sequences, back, where);
    const bool is_sequence = self.forward->options.return_sequences;
    std::vector<Tensor> states = y.states;
    states.insert(states.end(), reversed.states.begin(), reversed.states.end());
    const Tensor in_time = is_sequence ? reverse(reversed, 1) : Tensor(reversed);
    return {self.merge(y, in_time), states};
  });
}

Results<Tensor> Bidirectional::states(Where where) const {
  return at_call("states", where, [&] {
    const auto& self = static_cast<const BidirectionalState&>(*state_);
    return states_of({self.forward.get(), self.backward.get()});
  });
}

void Bidirectional::reset_state(Where where) const {
  at_call("reset_state", where, [&] {
    const auto& self = static_cast<const BidirectionalState&>(*state_);
    reset_states({self.forward.get(), self.backward.get()});
  });
}

}  // namespace kiln::layers
