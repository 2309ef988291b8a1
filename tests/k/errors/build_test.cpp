// Tests mistakes that are found while the graph or a function is built, at the user's line. Errors
// of single K functions are tested with their values in tests/k.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::Bystanders;
using testing::throws;
using testing::throws_at;
using testing::Misuse;

constexpr unsigned kInput = __LINE__ + 2;
Tensor input(const Shape& shape, const char* name, const char* dtype = "float32") {
  return placeholder({.shape = shape, .dtype = dtype, .name = name});
}

StepResult as_it_is(const Tensor& in, const std::vector<Tensor>&) { return StepResult{in, {}}; }

std::string at(unsigned line) { return std::string(__FILE__) + ":" + std::to_string(line); }

}  // namespace

TEST_CASE("building: shapes, dtypes and ranks that clash") {
  const Tensor a = input({2, 3}, "a"), b = input({4, 5}, "b"), whole = input({2, 3}, "i", "int32");
  const std::vector<Tensor> one_empty{a, Tensor()};
  testing::run({
      {throws<ValueError>(), [&] { stack({a, b}); },
       "stack: x[0] and x[1] have different shapes (x[0] float32[2,3], x[1] float32[4,5])"},
      {throws<TypeError>(), [&] { stack({a, a, whole}); },
       "stack: x[0] and x[2] have different dtypes (x[0] float32[2,3], x[2] int32[2,3])"},
      {throws<ValueError>(), [&] { stack({a, a[0]}); },
       "stack: x[0] and x[1] have different shapes (x[0] float32[2,3], x[1] float32[3])"},
      {throws<ValueError>(), [&] { stack(one_empty); }, "stack: x[1] is an empty tensor"},
      {throws<ValueError>(), [&] { concatenate(one_empty); },
       "concatenate: tensors[1] is an empty tensor"},
      {throws<ValueError>(), [&] { reshape(a, {4, 4}); },
       "reshape: cannot reshape to [4,4]: 6 elements are not 16 (x float32[2,3])"},
      {throws<ValueError>(), [&] { reshape(a, {4, -1}); },
       "reshape: cannot reshape to [4,-1]: 6 elements are not a multiple of 4 (x float32[2,3])"},
      {throws<ValueError>(), [&] { reshape(a, {0, -1}); },
       "reshape: a size of -1 is ambiguous if another size is 0 (x float32[2,3])"},
      {throws<ValueError>(), [&] { reshape(a, {-2, -1}); },
       "reshape: size -2 is negative (x float32[2,3])"},
      {throws<ValueError>(), [&] { reshape(a, {-2, -3}); },
       "reshape: size -2 is negative (x float32[2,3])"},
      {throws<TypeError>(), [&] { cast(a, "float33"); }, "cast: dtype 'float33' is not known"},
      {throws<ValueError>(), [&] { dropout(a, 1.0); }, "dropout: level 1 is outside [0, 1)"},
      {throws<TypeError>(), [&] { dropout(whole, 0.5); },
       "dropout: x is not floating point (x int32[2,3])"},
      {throws<ValueError>(), [&] { count_params(input({None}, "n")); },
       "count_params: x has an unknown size (x float32[n.0])"},
      {throws<ValueError>(), [&] { switch_(a, b, b); },
       "switch: condition does not fit the branches (condition float32[2,3], then_expression "
       "float32[4,5])"},
      {throws<ValueError>(), [&] { switch_(a, a, b); },
       "switch: the branches have different shapes (then_expression float32[2,3], else_expression "
       "float32[4,5])"},
      {throws<TypeError>(), [&] { switch_(true, a, whole); },
       "switch: the branches have different dtypes (then_expression float32[2,3], else_expression "
       "int32[2,3])"},
  });
}

TEST_CASE("building: invalid tensors and variables") {
  testing::run({
      {throws<ValueError>(), [] { placeholder({.name = "nothing"}); },
       "placeholder: neither shape nor ndim is given"},
      {throws<ValueError>(), [] { placeholder({.shape = {3, -2}}); },
       "placeholder: shape[1] is -2"},
      {throws<TypeError>(), [] { placeholder({.shape = {2}, .dtype = "text"}); },
       "placeholder: dtype 'text' is not known"},
      {throws<TypeError>(), [] { zeros({2}, {.dtype = static_cast<DType>(200)}); },
       "zeros: dtype 'DType(200)' is not known"},
      {throws<TypeError>(), [] { placeholder({.shape = {2}, .dtype = static_cast<DType>(13)}); },
       "placeholder: dtype 'DType(13)' is not known"},
      {throws<ValueError>(), [] { zeros({2, None}); }, "zeros: shape[1] is None; a size is needed"},
      {throws<ValueError>(), [] { ones({-1}); }, "ones: shape[0] is -1"},
      {throws<ValueError>(), [] { eye({2, -1}); }, "eye: size [2,-1] is negative"},
      {throws<ValueError>(), [] { constant(Array{1.f, 2.f}, {.shape = {3}}); },
       "constant: shape [3] has 3 elements but value has 2"},
      {throws<TypeError>(), [] { variable(Array(1.f), {.dtype = "f"}); },
       "variable: dtype 'f' is not known"},
      {throws<ValueError>(), [] { variable(input({2}, "x") * 2); },
       "variable: a result depends on a placeholder that is not fed (x float32[2], made at "
       "" + at(kInput) +
           ")"},
      {throws<TypeError>(), [] { random_normal({2}, {.dtype = "int32"}); },
       "random_normal: dtype int32 is not floating point"},
      {throws<ValueError>(), [] { random_uniform({None}); },
       "random_uniform: shape[0] is None; a size is needed"},
      {throws<TypeError>(), [] { random_normal_variable({2}, 0, 1, {.dtype = "bool"}); },
       "random_normal_variable: dtype bool is not floating point"},
  });
}

TEST_CASE("building: options made on another line name the line of the call") {
  const Tensor x = input({2, 3}, "x");
  AxisOptions axis;
  axis.axis = {7};
  CreateOptions unplaced, braces{};
  unplaced.dtype = braces.dtype = "float31";
  RandomNormalOptions normal;
  normal.dtype = "int8";
  RnnOptions loop;
  loop.unroll = true;
  testing::run({
      {throws<ValueError>(), [&] { sum(x, axis); }, "sum: axis 7 is out of range for rank 2"},
      {throws<TypeError>(), [&] { zeros({2}, unplaced); }, "zeros: dtype 'float31' is not known"},
      {throws<TypeError>(), [&] { ones({2}, braces); }, "ones: dtype 'float31' is not known"},
      {throws<TypeError>(), [&] { random_normal({2}, normal); },
       "random_normal: dtype int8 is not floating point"},
      {throws<ValueError>(), [&] { rnn(as_it_is, x, {}, loop); },
       "rnn: inputs has rank 2 but at least 3 is needed (inputs float32[2,3])"},
  });
}

TEST_CASE("building: tensors of a step that are used outside of its loop") {
  const Tensor x = input({2, 4, 3}, "x");
  Tensor leaked, item;
  const auto keeps = [&](const Tensor& in, const std::vector<Tensor>&) {
    leaked = in * 2;
    return StepResult{leaked, {}};
  };
  const auto adds = [&](const Tensor& in, const std::vector<Tensor>&) {
    return StepResult{in + leaked, {}};
  };
  const auto evaluates = [](const Tensor& in, const std::vector<Tensor>&) {
    return StepResult{in * constant(eval(sum(in))), {}};
  };
  const unsigned loop = __LINE__ + 1;
  rnn(keeps, x, {});
  const unsigned map = __LINE__ + 1;
  map_fn([&](const Tensor& in) { return item = in + 1; }, x);
  const Tensor other = rnn(adds, x, {}).outputs;
  const std::string message =
      "a result depends on an argument of the step of rnn, outside of that "
      "loop (float32[2,3], made at " +
      at(loop) + ")";
  testing::run({
      {throws<ValueError>(), [&] { function({x}, {leaked}); }, "function: " + message},
      {throws<ValueError>(), [&] { function({x}, {sum(x) + sum(leaked)}); },
       "function: " + message},
      {throws<ValueError>(), [&] { function({x}, {other}); }, "function: " + message},
      {throws<ValueError>(), [&] { eval(leaked); }, "eval: " + message},
      {throws<ValueError>(), [&] { eval(item); },
       "eval: a result depends on an argument of the step of map_fn, outside of that loop "
       "(float32[4,3], made at " +
           at(map) + ")"},
  });
  CHECK_THROWS_AS(rnn(evaluates, x, {}), ValueError);
  CHECK(function({x}, {sum(rnn(keeps, x, {}).outputs)})({Array::full({2, 4, 3}, 1)})[0] ==
        Array(48.f));
}

TEST_CASE("building: steps that do not fit their loop") {
  const Tensor x = input({2, 4, 3}, "x"), h = zeros({2, 3}), mask = input({4, 2}, "mask");
  const Tensor endless = input({2, None, 3}, "x");
  const auto wider = [](const Tensor& in, const std::vector<Tensor>& states) {
    return StepResult{in, {concatenate({states[0], states[0]})}};
  };
  const auto whole = [](const Tensor& in, const std::vector<Tensor>& states) {
    return StepResult{in, {cast(states[0], "int32")}};
  };
  const auto scalar = [](const Tensor& in, const std::vector<Tensor>&) {
    return StepResult{sum(in), {}};
  };
  const unsigned in_step = __LINE__ + 2;
  const auto throwing = [](const Tensor& in, const std::vector<Tensor>&) {
    return StepResult{dot(in, in), {}};
  };
  testing::run({
      {throws<ValueError>(), [&] { rnn(as_it_is, x, {h}); },
       "rnn: the step returns 0 states but got 1 initial states"},
      {throws<ValueError>(), [&] { rnn(as_it_is, x, {h, Tensor()}); },
       "rnn: initial_states[1] is an empty tensor"},
      {throws<ValueError>(), [&] { rnn(wider, x, {h}); },
       "rnn: the step returns state 0 as float32[2,6] but got it as float32[2,3]"},
      {throws<ValueError>(), [&] { rnn(whole, x, {h}); },
       "rnn: the step returns state 0 as int32[2,3] but got it as float32[2,3]"},
      {throws<ValueError>(), [&] { rnn(scalar, x, {}); },
       "rnn: the step's output is a scalar; its axis 0 is samples"},
      {throws_at<ValueError>(in_step), [&] { rnn(throwing, x, {}); },
       "dot: axis 1 of x has size 3 but axis 0 of y has size 2 (x float32[2,3], y float32[2,3])"},
      {throws<ValueError>(), [&] { rnn(as_it_is, x, {}, {.mask = mask}); },
       "rnn: mask does not fit inputs (mask float32[4,2], inputs float32[2,4,3])"},
      {throws<ValueError>(), [&] { rnn(as_it_is, x, {}, {.mask = h[0]}); },
       "rnn: mask must be (samples, time) (mask float32[3])"},
      {throws<ValueError>(), [&] { rnn(as_it_is, x, {}, {.input_length = -1}); },
       "rnn: input_length is -1"},
      {throws<ValueError>(), [&] { rnn(as_it_is, endless, {}, {.unroll = true}); },
       "rnn: unrolling needs a known number of steps; give input_length (inputs has x.1 steps)"},
  });
}

TEST_CASE("building: missing gradients") {
  const Tensor w = variable(Array{1.f, 2.f}, {.name = "w"});
  const Tensor lost = variable(Array(1.f), {.name = "lost"}), nameless = variable(Array{1.f});
  const std::vector<Tensor> gradient = gradients(sum(square(w)), {w, lost, nameless});
  CHECK_FALSE(gradient[0].empty());
  REQUIRE(gradient[1].empty());
  const Tensor cut = gradients(sum(round(w)), {w})[0];
  testing::run({
      {throws<ValueError>(), [&] { gradient[1] * 2; },
       "operator*: x is empty: the loss does not depend on lost, so it has no gradient"},
      {throws<ValueError>(), [&] { 2 - gradient[2]; },
       "operator-: y is empty: the loss does not depend on float32[1], so it has no gradient"},
      {throws<ValueError>(), [&] { function({}, {w, gradient[1]}); },
       "function: outputs[1] is empty: the loss does not depend on lost, so it has no gradient"},
      {throws<ValueError>(), [&] { update_sub(w, gradient[1]); },
       "update_sub: decrement is empty: the loss does not depend on lost, so it has no gradient"},
      {throws<ValueError>(), [&] { eval(gradient[1]); },
       "eval: x is empty: the loss does not depend on lost, so it has no gradient"},
      {throws<ValueError>(), [&] { cut + 1; },
       "operator+: x is empty: the loss does not depend on w, so it has no gradient; round on the "
       "path to the loss is not differentiable"},
      {throws<TypeError>(), [&] { gradients(argmax(w), {w}); },
       "gradients: loss is not floating point (loss int64[])"},
      {throws<ValueError>(), [&] { gradients(Tensor(), {w}); },
       "gradients: loss is an empty tensor"},
      {throws<ValueError>(), [&] { gradients(sum(w), {w, Tensor()}); },
       "gradients: variables[1] is an empty tensor"},
      {throws<ValueError>(), [&] { gradients(gradient[1], {w}); },
       "gradients: loss is empty: the loss does not depend on lost, so it has no gradient"},
  });
  CHECK(eval(gradient[0]) == Array{2.f, 4.f});
}

TEST_CASE("building: invalid functions") {
  Bystanders& by = Bystanders::here();
  const Tensor w = by.weights, x = input({2}, "x");
  const unsigned line = __LINE__ + 1;
  const Tensor stranger = placeholder({.shape = {2}, .name = "stranger"});
  const unsigned first = __LINE__ + 1;
  const std::vector<UpdateOp> twice{update_add(w, x), update_sub(w, x)};
  const std::vector<UpdateOp> wrong{{w, x + 1.0}, {x, x}};
  testing::run({
      {throws<ValueError>(), [&] { function({x}, {}, {.updates = twice}); },
       "function: updates[1] updates a variable that has an update already (weights float32[2], "
       "first at " +
           at(first) + ")"},
      {throws<TypeError>(), [&] { function({x}, {}, {.updates = wrong}); },
       "function: updates[1] does not update a variable (x float32[2])"},
      {throws<ValueError>(), [&] { function({x}, {x + stranger}); },
       "function: a result depends on a placeholder that is not fed (stranger float32[2], made at "
       "" + at(line) +
           ")"},
      {throws<ValueError>(), [&] { function({}, {}, {.updates = {update(w, stranger)}}); },
       "function: a result depends on a placeholder that is not fed (stranger float32[2], made at "
       "" + at(line) +
           ")"},
      {throws<TypeError>(), [&] { function({w}, {w}); },
       "function: inputs[0] is not a placeholder (weights float32[2])"},
      {throws<TypeError>(), [&] { function({x, x * 2}, {x}); },
       "function: inputs[1] is not a placeholder (float32[2])"},
      {throws<ValueError>(), [&] { function({x, x}, {x}); },
       "function: inputs[1] is given twice (x float32[2])"},
      {throws<ValueError>(), [&] { function({x, Tensor()}, {x}); },
       "function: inputs[1] is an empty tensor"},
      {throws<ValueError>(), [&] { function({x}, {x, Tensor()}); },
       "function: outputs[1] is an empty tensor"},
      {throws<ValueError>(), [&] { eval(stranger * 2); },
       "eval: a result depends on a placeholder that is not fed (stranger float32[2], made at "
       "" + at(line) +
           ")"},
      {throws<ValueError>(), [&] { Function()({}); },
       "Function: an empty Function is called: it was not created by K::function"},
  });
}

TEST_CASE("building: updates and values that do not fit their variable") {
  Bystanders& by = Bystanders::here();
  const Tensor w = by.weights, x = input({2}, "x"), three = input({3}, "three");
  const Array one{1.f}, two{1.f, 2.f};
  const std::vector<std::pair<Tensor, Array>> second_is_short{{by.count, Array(7)}, {w, one}};
  const std::vector<std::pair<Tensor, Array>> second_is_none{{w, two}, {x, two}};
  testing::run({
      {throws<TypeError>(), [&] { update(x, x); }, "update: x is not a variable (x x float32[2])"},
      {throws<ValueError>(), [&] { update(w, three); },
       "update: new_x does not fit the variable (x float32[2], new_x float32[3])"},
      {throws<ValueError>(), [&] { update(w, sum(x)); },
       "update: new_x has rank 0 but the variable has rank 1 (x float32[2], new_x float32[])"},
      {throws<ValueError>(), [&] { update_add(w, three); },
       "update_add: increment does not fit the variable (x float32[2], increment float32[3])"},
      {throws<ValueError>(), [&] { update_sub(by.count, input({2}, "i", "int32")); },
       "update_sub: decrement does not fit the variable (x int32[], decrement int32[2])"},
      {throws<TypeError>(), [&] { update_add(w, input({2}, "i", "int32")); },
       "update_add: increment has dtype int32 but the variable has float32 (x float32[2], "
       "increment int32[2])"},
      {throws<TypeError>(), [&] { update_add(by.count, 0.5); },
       "update_add: increment 0.5 is floating point but the dtype is int32: write an integer"},
      {throws<TypeError>(), [&] { update_sub(by.flags, true); },
       "update_sub: x is bool, not a number (x bool[2])"},
      {throws<TypeError>(), [&] { moving_average_update(by.count, 1, 0.5); },
       "moving_average_update: momentum 0.5 is floating point but the dtype is int32: write "
       "an integer"},
      {throws<ValueError>(), [&] { moving_average_update(w, three, 0.5); },
       "moving_average_update: value does not fit the variable (variable float32[2], value "
       "float32[3])"},
      {throws<ValueError>(), [&] { set_value(w, one); },
       "set_value: value has shape [1] but the variable is float32[2]"},
      {throws<TypeError>(), [&] { set_value(x, two); },
       "set_value: x is not a variable (x x float32[2])"},
      {throws<ValueError>(), [&] { batch_set_value(second_is_short); },
       "batch_set_value: tuples[1] has shape [1] but the variable is float32[2]"},
      {throws<TypeError>(), [&] { batch_set_value(second_is_none); },
       "batch_set_value: tuples[1] is not a variable (tuples[1] x float32[2])"},
      {throws<TypeError>(), [&] { get_value(x); },
       "get_value: x is not a variable (x x float32[2])"},
      {throws<TypeError>(), [&] { batch_get_value({w, x}); },
       "batch_get_value: xs[1] is not a variable (xs[1] x float32[2])"},
      {throws<ValueError>(), [&] { get_value(Tensor()); }, "get_value: x is an empty tensor"},
  });
}

}  // namespace kiln::test
