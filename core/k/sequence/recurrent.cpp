// rnn: a Scan over time-major slices. Masks, reversal and unrolling are expressed in the graph;
// passes optimise the loop.
#include <kiln/recurrent.h>

#include "core/ir/scope.h"
#include "core/k/base/tensor_impl.h"
#include "core/k/sequence/masked_steps.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/make.h"

#include <algorithm>

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Value;

/// Axes 0 and 1 exchanged.
Value time_major(const Value& x) {
  ir::Ints axes{1, 0};
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  return ir::permute(x, axes);
}

/// Broadcasts a mask (samples) to the dims of x (samples, ..).
Value broadcast_mask(const Value& mask, const Value& x) {
  return ir::broadcast(mask, x.dims(), {0});
}

/// The results of one step, as values.
struct Step {
  Value output;
  std::vector<Value> states;
};

class Rnn {
 public:
  Rnn(const StepFunction& step, const Tensor& inputs, const std::vector<Tensor>& initial_states,
      const RnnOptions& options)
      : step_(step), options_(options) {
    if (!step) Call::value_error("step_function", "step_function is an empty function");
    const Value x = value_of(inputs, "inputs");
    if (x.rank() < 3) {
      Call::value_error("inputs", text("inputs has rank ", x.rank(),
                                       " but at least 3 is needed (inputs ", x.type(), ")"));
    }
    samples_ = x.dims()[0];
    read_mask(x);
    x_ = time_major(x);
    for (std::size_t i = 0; i < initial_states.size(); ++i) {
      initial_.push_back(value_of(initial_states, i, "initial_states"));
    }
    for (std::size_t i = 0; i < options.constants.size(); ++i) {
      constants_.push_back(wrap(value_of(options.constants, i, "constants")));
    }
    limit_length();
    substitute_inputs();
  }

  RnnResult run() { return options_.unroll ? unrolled() : scanned(); }

 private:
  void read_mask(const Value& x) {
    if (options_.mask.empty()) return;
    Value mask = value_of(options_.mask, "mask");
    const bool trailing_one = mask.rank() == 3 && mask.dims()[2].is_one();
    if (mask.rank() != 2 && !trailing_one) {
      Call::value_error("mask", text("mask must be (samples, time) (mask ", mask.type(), ")"));
    }
    const Dims expected{x.dims()[0], x.dims()[1]};
    for (int axis = 0; axis < 2; ++axis) {
      if (equal(mask.dims()[axis], expected[axis]) == ir::Ternary::No) {
        Call::value_error("mask", text("mask does not fit inputs (mask ", mask.type(), ", inputs ",
                                       x.type(), ")"));
      }
    }
    // Guards require symbolic dims to equal those of inputs.
    mask = ir::with_dims(trailing_one ? ir::reshape(mask, {mask.dims()[0], mask.dims()[1]}) : mask,
                         expected);
    mask_ = time_major(ir::cast(mask, DType::Bool));
  }

  void limit_length() {
    length_ = x_.dims()[0];
    if (!options_.input_length) return;
    if (*options_.input_length < 0) {
      Call::value_error("input_length", text("input_length is ", *options_.input_length));
    }
    const Dim limit = std::int64_t{*options_.input_length};
    if (options_.unroll && !length_.is_static()) {
      x_ = ir::slice_axis(x_, 0, 0, limit);
      if (mask_) mask_ = ir::slice_axis(mask_, 0, 0, limit);
      length_ = limit;
      return;
    }
    length_ = min(length_, limit);
    x_ = ir::slice_axis(x_, 0, 0, length_);
    if (mask_) mask_ = ir::slice_axis(mask_, 0, 0, length_);
  }

  void substitute_inputs() {
    if (!mask_) return;
    for (std::size_t i = 0; i < initial_.size(); ++i) {
      require_samples(initial_[i], text("state ", i));
    }
    masked_steps_.emplace(mask_, options_.go_backwards);
    x_ = masked_steps_->inputs(x_);
    for (const Value& state : initial_) substitutes_.push_back(masked_steps_->state(state));
  }

  /// The arguments of the step function; `mask` (samples) is empty without a mask.
  std::vector<Tensor> step_arguments(const std::vector<Value>& states, const Value& mask) const {
    std::vector<Tensor> arguments;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const Value& state = states[i];
      arguments.push_back(
          wrap(mask ? ir::select(broadcast_mask(mask, state), state, substitutes_[i]) : state));
    }
    arguments.insert(arguments.end(), constants_.begin(), constants_.end());
    return arguments;
  }

  /// Calls the step function; `mask` (samples) is empty without a mask. Throws ValueError unless
  /// the new states have the types of the old ones.
  Step call_step(const Value& input, const std::vector<Value>& states, const Value& mask) {
    const std::vector<Tensor> arguments = step_arguments(states, mask);
    const Step step = traced_step(input, arguments, states);
    if (!mask) return step;
    std::vector<Value> given{input};
    for (std::size_t i = 0; i < states.size(); ++i) given.push_back(*dense_value_of(arguments[i]));
    return with_stand_ins(step, given);
  }

  /// The step on stand-ins of constants and captured tensors, which are made outside of the
  /// trace: they are computed once.
  Step with_stand_ins(const Step& step, const std::vector<Value>& given) {
    std::vector<Value> results = step.states;
    results.push_back(step.output);
    const ir::Replacements map =
        masked_steps_->outside(operands_of_step(results, given, trace_), given);
    const ir::Trace::Scope tracing(trace_);
    results = ir::replace_values(results, map);
    return {results.back(), {results.begin(), results.end() - 1}};
  }

  Step traced_step(const Value& input, const std::vector<Tensor>& arguments,
                   const std::vector<Value>& states) {
    const ir::Trace::Scope tracing(trace_);
    const StepResult result = [&] {
      const ir::OriginScope callback(ir::origin_of_callback(), /*replace=*/true);
      return step_(wrap(input), arguments);
    }();
    Step step{value_of(result.output, "step_function"), {}};
    if (step.output.rank() < 1) {
      Call::value_error("step_function", "the step's output is a scalar; its axis 0 is samples");
    }
    if (result.states.size() != states.size()) {
      Call::value_error("step_function",
                        text("the step returns ", result.states.size(), " states but got ",
                             states.size(), " initial states"));
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
      step.states.push_back(
          fitted_state(value_of(result.states[i], "step_function"), states[i], i));
    }
    require_maskable(step);
    return step;
  }

  /// Throws ValueError unless a mask can select outputs and states along axis 0.
  void require_maskable(const Step& step) const {
    if (!mask_) return;
    require_samples(step.output, "the step's output");
    for (std::size_t i = 0; i < step.states.size(); ++i) {
      require_samples(step.states[i], text("state ", i));
    }
  }

  void require_samples(const Value& x, const std::string& what) const {
    if (x.rank() > 0 && equal(x.dims()[0], samples_) != ir::Ternary::No) return;
    Call::value_error(
        "mask", text(what, " has no axis 0 of ", samples_, " samples for the mask (", what, " ",
                     x.type(), ", mask ", value_of(options_.mask, "mask").type(), ")"));
  }

  /// Throws ValueError unless an unrolled step's output has the type of the one before.
  static void require_same_output(const Value& now, const Value& before) {
    const bool fits = equal(now.dims(), before.dims()) != ir::Ternary::No;
    if (fits && now.dtype() == before.dtype()) return;
    Call::value_error("step_function", text("the step returns output ", now.type(), " but gave ",
                                            before.type(), " the step before"));
  }

  static Value fitted_state(const Value& state, const Value& old, std::size_t i) {
    const bool fits = equal(state.dims(), old.dims()) != ir::Ternary::No;
    if (!fits || state.dtype() != old.dtype()) {
      Call::value_error("step_function", text("the step returns state ", i, " as ", state.type(),
                                              " but got it as ", old.type()));
    }
    return ir::with_dims(state, old.dims());
  }

  static Step masked(const Step& step, const Value& mask, const Value& previous_output,
                     const std::vector<Value>& previous_states) {
    Step selected{ir::select(broadcast_mask(mask, step.output), step.output, previous_output), {}};
    for (std::size_t i = 0; i < step.states.size(); ++i) {
      const Value condition = broadcast_mask(mask, step.states[i]);
      selected.states.push_back(ir::select(condition, step.states[i], previous_states[i]));
    }
    return selected;
  }

  Value step_of(const Value& stacked, const Dim& t) const {
    const Value one = ir::slice_axis(stacked, 0, t, t + 1);
    return ir::reshape(one, Dims(one.dims().begin() + 1, one.dims().end()));
  }

  RnnResult unrolled() {
    if (!length_.is_static()) {
      Call::value_error("unroll", text("unrolling needs a known number of steps; give "
                                       "input_length (inputs has ",
                                       length_, " steps)"));
    }
    const std::int64_t length = length_.value();
    if (length == 0) return scanned();
    std::vector<Value> outputs, states = initial_;
    Value output;
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t t = options_.go_backwards ? length - 1 - i : i;
      const ir::PositionScope position(ir::scalar_constant_int(DType::Int64, t));
      const Value mask = mask_ ? step_of(mask_, t) : Value();
      Step step = call_step(step_of(x_, t), states, mask);
      if (output) require_same_output(step.output, output);
      if (mask) {
        if (!output) output = ir::zeros_like(step.output);
        step = masked(step, mask, output, states);
      }
      output = step.output;
      states = step.states;
      Dims stacked = output.dims();
      stacked.insert(stacked.begin(), 1);
      outputs.push_back(ir::reshape(output, stacked));
    }
    return result(output, ir::concat(std::move(outputs), 0), states);
  }

  std::vector<Value> states_of(const ir::LambdaBuilder& builder) const {
    const auto first = builder.parameters().begin() + 1;
    return {first, first + static_cast<std::ptrdiff_t>(initial_.size())};
  }

  RnnResult scanned() {
    // Parameters: t, states, x[t], with a mask mask[t]; later the output after the states.
    std::vector<ir::Type> types{{DType::Int64, {}}};
    for (const Value& state : initial_) types.push_back(state.type());
    ir::Type slice = x_.type();
    slice.dims.erase(slice.dims.begin());
    types.push_back(slice);
    if (mask_) types.push_back({DType::Bool, {samples_}});

    const ir::LambdaBuilder builder(types);
    const Value& t = builder.parameters()[0];
    const Value& input = builder.parameters()[1 + initial_.size()];
    const Value mask = mask_ ? builder.parameters().back() : Value();
    Step step;
    {
      const ir::PositionScope position(t);
      step = call_step(input, states_of(builder), mask);
    }
    return close_scan(builder, types, step);
  }

  RnnResult close_scan(const ir::LambdaBuilder& traced, const std::vector<ir::Type>& types,
                       Step step) {
    if (const auto state = output_state(step)) return loop_over_states(traced, step, *state);
    // The output is carried, too: it gives the last output, zeros over no steps. Its type is known
    // only after the trace, so the traced body is moved to a second set of parameters.
    const std::size_t states = initial_.size();
    std::vector<ir::Type> all = types;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(states) + 1, step.output.type());
    const ir::LambdaBuilder builder(all);
    const std::vector<Value>& own = builder.parameters();
    ir::Replacements map;
    for (std::size_t i = 0; i < types.size(); ++i) {
      map.emplace(traced.parameters()[i], own[i <= states ? i : i + 1]);
    }

    std::vector<Value> results = step.states;
    results.push_back(step.output);
    results = ir::replace_values(results, map);
    Step substituted{results.back(), {results.begin(), results.end() - 1}};
    if (mask_) {
      const auto first = own.begin() + 1;
      const std::vector<Value> old(first, first + static_cast<std::ptrdiff_t>(states));
      substituted = masked(substituted, own[states + 3], own[states + 1], old);
    }
    return make_loop(builder, substituted);
  }

  RnnResult make_loop(const ir::LambdaBuilder& builder, const Step& step) {
    std::vector<Value> next = step.states, carry = initial_, xs{x_};
    next.push_back(step.output);
    carry.push_back(ir::zeros_like(step.output));
    if (mask_) xs.push_back(mask_);
    const ir::NodeRef scan = make_scan(builder, next, step.output, carry, xs);
    return result({scan, static_cast<std::uint32_t>(initial_.size())}, scan, carry.size());
  }

  /// The state that is the output of each step, as in simple recurrent networks, GRUs and LSTMs.
  /// None with a mask: masked first outputs are zeros, masked first states the initial ones.
  std::optional<std::uint32_t> output_state(const Step& step) const {
    const auto found = std::find(step.states.begin(), step.states.end(), step.output);
    if (mask_ || found == step.states.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - step.states.begin());
  }

  /// The last output is the last state with that number, or zeros over no steps.
  RnnResult loop_over_states(const ir::LambdaBuilder& builder, const Step& step,
                             std::uint32_t state) {
    const ir::NodeRef scan = make_scan(builder, step.states, step.output, initial_, {x_});
    Value last{scan, state};
    if (!ir::has_step(length_)) {
      const Value none = ir::scalar_constant_int(DType::Int64, 0);
      const Value has_step = ir::less(none, ir::dim_size(length_));
      last = ir::select(ir::broadcast(has_step, last.dims(), {}), last, ir::zeros_like(last));
    }
    return result(last, scan, initial_.size());
  }

  /// A loop that carries `next` and stacks `output`.
  ir::NodeRef make_scan(const ir::LambdaBuilder& builder, std::vector<Value> next,
                        const Value& output, const std::vector<Value>& carry,
                        const std::vector<Value>& xs) {
    next.push_back(output);
    const ir::TracedBody traced{.builder = builder, .results = next, .trace = trace_};
    return ir::make_scan(traced, carry, xs, length_, options_.go_backwards);
  }

  /// The results of a loop with so many carries, the states first.
  RnnResult result(const Value& last, const ir::NodeRef& scan, std::size_t carries) {
    std::vector<Value> states;
    for (std::uint32_t i = 0; i < initial_.size(); ++i) states.push_back({scan, i});
    Value outputs{scan, static_cast<std::uint32_t>(carries)};
    if (options_.go_backwards) outputs = ir::reverse(outputs, {0});  // order of iteration
    return result(last, outputs, states);
  }

  RnnResult result(const Value& last, const Value& outputs, const std::vector<Value>& states) {
    RnnResult all{wrap(last), wrap(time_major(outputs)), {}};
    for (const Value& state : states) all.new_states.push_back(wrap(state));
    return all;
  }

  const StepFunction& step_;
  const RnnOptions& options_;
  Dim samples_, length_;
  Value x_, mask_;  // time-major
  std::vector<Value> initial_, substitutes_;  // states; those of masked samples, (samples, ..)
  std::optional<MaskedSteps> masked_steps_;  // with a mask
  std::vector<Tensor> constants_;
  ir::Trace trace_;  // of the step function
};

}  // namespace

RnnResult rnn(const StepFunction& step_function, const Tensor& inputs,
              const std::vector<Tensor>& initial_states, const RnnOptions& options, Where where) {
  return api_call("rnn", where,
                  [&] { return Rnn(step_function, inputs, initial_states, options).run(); });
}

}  // namespace kiln
