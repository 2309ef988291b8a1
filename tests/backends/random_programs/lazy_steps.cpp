// Steps of random programs whose bodies create values, or would fail if they ran: lazy branches
// with constants, ranges and draws, loops of no steps, branches beside failures.
#include "tests/backends/random_programs/steps.h"

#include "tests/support/while_loop.h"

namespace kiln::testing {

namespace {

/// A scalar that no value outside of the calling body uses.
Tensor own_scalar(Growing& growing) {
  const std::string dtype(dtype_name(growing.dtype));
  const std::int64_t count = 1 + growing.draw.below(5);
  switch (growing.draw.below(4)) {
    case 0: return constant(growing.draw.between(-1, 1), {.dtype = dtype});
    case 1: return mean(cast(arange(count), dtype)) * 0.3;
    case 2: return mean(sin(constant(2.0, {.dtype = dtype, .shape = {count}})));
    default: return mean(random_uniform({count}, {.minval = -1, .maxval = 1, .dtype = dtype}));
  }
}

/// x through a body that creates a scalar, a mask or noise.
Tensor with_own_values(Growing& growing, const Value& x) {
  switch (growing.draw.below(3)) {
    case 0: return dropout(x.tensor, 0.4) * 0.5;
    case 1: return tanh(x.tensor * own_scalar(growing) + own_scalar(growing));
    default: return x.tensor * 0.5 + own_scalar(growing);
  }
}

Tensor any_condition(Growing& growing) {
  return sum(tanh(growing.any().tensor)) > growing.draw.between(-1, 1);
}

}  // namespace

bool branch_with_own_values(Growing& growing) {
  const Value x = growing.any();
  const Tensor condition = any_condition(growing);
  const bool both = growing.draw.chance(50);
  growing.add(switch_(
                  condition, [&] { return with_own_values(growing, x); },
                  [&] { return both ? with_own_values(growing, x) : sin(x.tensor); }),
              x.dims, x.bound + 2);
  return true;
}

/// A draw in the training phase only, as layers write it.
bool dropout_in_training(Growing& growing) {
  const Value x = growing.any();
  const Tensor training = growing.number(growing.draw.below(2));
  growing.add(in_train_phase([&] { return dropout(x.tensor, 0.5) * 0.5; }, x.tensor, training),
              x.dims, x.bound);
  return true;
}

/// A branch of which the side that is not taken indexes beyond a table, or reduces no elements.
bool branch_beside_a_failure(Growing& growing) {
  const Value table = growing.input({1 + growing.draw.below(5), 3});
  const std::int64_t rows = table.dims[0];
  const bool inside = growing.draw.chance(50);
  const Tensor at =
      growing.number(inside ? growing.draw.below(rows) : rows + growing.draw.below(9));
  const auto found = [&] { return sin(gather(table.tensor, at)); };
  const auto other = [&] { return tanh(sum(table.tensor, {.axis = 0}) * 0.25); };
  growing.add(growing.draw.chance(50) ? switch_(at < rows, found, other)
                                      : switch_(at >= rows, other, found),
              {3}, 1);
  return true;
}

bool branch_of_nothing(Growing& growing) {
  const std::int64_t count = growing.draw.below(3);
  const Value x = growing.input({count});
  if (int_shape(x.tensor)[0] == 0) return false;  // argmax is rejected when it is built
  const Tensor scale = growing.input({}).tensor;
  growing.add(switch_(
                  size(x.tensor) > 0, [&] { return scale * cast(argmax(x.tensor), dtype(scale)); },
                  [&] { return scale * 0.5; }),
              {}, 4);
  return true;
}

/// A loop whose step gathers a row that is the same in every step, and lies beyond the table where
/// no step runs.
bool loop_beside_a_failure(Growing& growing) {
  const std::int64_t batch = 1 + growing.draw.below(4), time = growing.draw.below(3);
  const std::int64_t units = 1 + growing.draw.below(5), rows = 1 + growing.draw.below(4);
  const Value x = growing.input({batch, time, units});
  const Value table = growing.input({rows, units});
  const Value start = growing.input({batch, units});
  const Tensor at = growing.number(time > 0 ? growing.draw.below(rows) : rows + 3);
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const Tensor next = tanh(input + states[0] * 0.5 + gather(table.tensor, at));
    return StepResult{next, {next}};
  };
  const RnnResult result = rnn(step, x.tensor, {start.tensor});
  growing.add(result.outputs, x.dims, 1);
  growing.add(result.new_states[0], {batch, units}, 2);
  return true;
}

/// A loop that ends by the values of its carry, before its first step or later. They are sums of
/// signs, which small differences of the operands do not change.
bool loop_that_ends(Growing& growing) {
  const Value x = growing.any();
  const Tensor signs = sign(off_the_jump(growing, x));
  const Tensor limit = cast(growing.number(growing.draw.below(7)), "int64");
  const auto step = [&](const Tensor& t, const Tensor& h) {
    const Tensor next = h * 0.5 + signs;
    return std::pair(logical_and(t + 1 < limit, sum(next) < 2.3), next);
  };
  const Tensor last = while_loop(logical_and(limit > 0, sum(signs) < 2.3), signs, step);
  growing.add(stop_gradient(last), x.dims, 2);
  return true;
}

}  // namespace kiln::testing
