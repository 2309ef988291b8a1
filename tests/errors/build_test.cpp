// Mistakes that are found while the graph is built or a function is made, at the user's line. Those
// of single K functions stand beside their values in tests/k.
#include "tests/catch.h"
#include "tests/misuse.h"

namespace kiln::test {
namespace {

using testing::Bystanders;
using testing::Fault;
using testing::Misuse;

constexpr unsigned kInput = __LINE__ + 2;
Tensor input(const Shape& shape, const char* name, const char* dtype = "float32") {
  return placeholder({.shape = shape, .dtype = dtype, .name = name});
}

StepResult as_it_is(const Tensor& in, const std::vector<Tensor>&) { return StepResult{in, {}}; }

std::string at(unsigned line) { return std::string(__FILE__) + ":" + std::to_string(line); }

}  // namespace

TEST_CASE("shapes, dtypes and ranks that clash") {
  const Tensor a = input({2, 3}, "a"), b = input({4, 5}, "b"), whole = input({2, 3}, "i", "int32");
  const std::vector<Tensor> one_empty{a, Tensor()};
  testing::run({
      {__LINE__, Fault::Value, [&] { stack({a, b}); },
       "stack: x[0] and x[1] have different shapes (x[0] float32[2,3], x[1] float32[4,5])"},
      {__LINE__, Fault::Type, [&] { stack({a, a, whole}); },
       "stack: x[0] and x[2] have different dtypes (x[0] float32[2,3], x[2] int32[2,3])"},
      {__LINE__, Fault::Value, [&] { stack({a, a[0]}); },
       "stack: x[0] and x[1] have different shapes (x[0] float32[2,3], x[1] float32[3])"},
      {__LINE__, Fault::Value, [&] { stack(one_empty); }, "stack: x[1] is an empty tensor"},
      {__LINE__, Fault::Value, [&] { concatenate(one_empty); },
       "concatenate: tensors[1] is an empty tensor"},
      {__LINE__, Fault::Value, [&] { reshape(a, {4, 4}); },
       "reshape: cannot reshape to [4,4]: 6 elements are not 16 (x float32[2,3])"},
      {__LINE__, Fault::Value, [&] { reshape(a, {4, -1}); },
       "reshape: cannot reshape to [4,-1]: 6 elements are no multiple of 4 (x float32[2,3])"},
      {__LINE__, Fault::Value, [&] { reshape(a, {0, -1}); },
       "reshape: -1 beside a size of 0 can be anything (x float32[2,3])"},
      {__LINE__, Fault::Value, [&] { reshape(a, {-2, -1}); },
       "reshape: size -2 is negative (x float32[2,3])"},
      {__LINE__, Fault::Value, [&] { reshape(a, {-2, -3}); },
       "reshape: size -2 is negative (x float32[2,3])"},
      {__LINE__, Fault::Type, [&] { cast(a, "float33"); }, "cast: dtype 'float33' is not known"},
      {__LINE__, Fault::Value, [&] { dropout(a, 1.0); }, "dropout: level 1 is outside [0, 1)"},
      {__LINE__, Fault::Type, [&] { dropout(whole, 0.5); },
       "dropout: x is not floating point (x int32[2,3])"},
      {__LINE__, Fault::Value, [&] { count_params(input({None}, "n")); },
       "count_params: x has an unknown size (x float32[n.0])"},
      {__LINE__, Fault::Value, [&] { switch_(a, b, b); },
       "switch: condition does not fit the branches (condition float32[2,3], then_expression "
       "float32[4,5])"},
      {__LINE__, Fault::Value, [&] { switch_(a, a, b); },
       "switch: the branches have different shapes (then_expression float32[2,3], else_expression "
       "float32[4,5])"},
      {__LINE__, Fault::Type, [&] { switch_(true, a, whole); },
       "switch: the branches have different dtypes (then_expression float32[2,3], else_expression "
       "int32[2,3])"},
  }, __FILE__);
}

TEST_CASE("tensors and variables that cannot be made") {
  testing::run({
      {__LINE__, Fault::Value, [] { placeholder({.name = "nothing"}); },
       "placeholder: neither shape nor ndim is given"},
      {__LINE__, Fault::Value, [] { placeholder({.shape = {3, -2}}); },
       "placeholder: shape[1] is -2"},
      {__LINE__, Fault::Type, [] { placeholder({.shape = {2}, .dtype = "text"}); },
       "placeholder: dtype 'text' is not known"},
      {__LINE__, Fault::Type, [] { zeros({2}, {.dtype = static_cast<DType>(200)}); },
       "zeros: dtype 'DType(200)' is not known"},
      {__LINE__, Fault::Type, [] { placeholder({.shape = {2}, .dtype = static_cast<DType>(13)}); },
       "placeholder: dtype 'DType(13)' is not known"},
      {__LINE__, Fault::Value, [] { zeros({2, None}); },
       "zeros: shape[1] is None; a size is needed"},
      {__LINE__, Fault::Value, [] { ones({-1}); }, "ones: shape[0] is -1"},
      {__LINE__, Fault::Value, [] { eye({2, -1}); }, "eye: size [2,-1] is negative"},
      {__LINE__, Fault::Value, [] { constant(Array{1.f, 2.f}, {.shape = {3}}); },
       "constant: shape [3] has 3 elements but value has 2"},
      {__LINE__, Fault::Type, [] { variable(Array(1.f), {.dtype = "f"}); },
       "variable: dtype 'f' is not known"},
      {__LINE__, Fault::Value, [] { variable(input({2}, "x") * 2); },
       "variable: a result depends on a placeholder that is not fed (x float32[2], made at "
       "" + at(kInput) + ")"},
      {__LINE__, Fault::Type, [] { random_normal({2}, {.dtype = "int32"}); },
       "random_normal: dtype int32 is not floating point"},
      {__LINE__, Fault::Value, [] { random_uniform({None}); },
       "random_uniform: shape[0] is None; a size is needed"},
      {__LINE__, Fault::Type, [] { random_normal_variable({2}, 0, 1, {.dtype = "bool"}); },
       "random_normal_variable: dtype bool is not floating point"},
  }, __FILE__);
}

TEST_CASE("options that were made before, on another line, name the line of the call") {
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
      {__LINE__, Fault::Value, [&] { sum(x, axis); }, "sum: axis 7 is out of range for rank 2"},
      {__LINE__, Fault::Type, [&] { zeros({2}, unplaced); }, "zeros: dtype 'float31' is not known"},
      {__LINE__, Fault::Type, [&] { ones({2}, braces); }, "ones: dtype 'float31' is not known"},
      {__LINE__, Fault::Type, [&] { random_normal({2}, normal); },
       "random_normal: dtype int8 is not floating point"},
      {__LINE__, Fault::Value, [&] { rnn(as_it_is, x, {}, loop); },
       "rnn: inputs has rank 2 but at least 3 is needed (inputs float32[2,3])"},
  }, __FILE__);
}

TEST_CASE("tensors of a step that are used outside of its loop") {
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
  const std::string fact = "a result depends on an argument of the step of rnn, outside of that "
                           "loop (float32[2,3], made at " + at(loop) + ")";
  testing::run({
      {__LINE__, Fault::Value, [&] { function({x}, {leaked}); }, "function: " + fact},
      {__LINE__, Fault::Value, [&] { function({x}, {sum(x) + sum(leaked)}); }, "function: " + fact},
      {__LINE__, Fault::Value, [&] { function({x}, {other}); }, "function: " + fact},
      {__LINE__, Fault::Value, [&] { eval(leaked); }, "eval: " + fact},
      {__LINE__, Fault::Value, [&] { eval(item); },
       "eval: a result depends on an argument of the step of map_fn, outside of that loop "
       "(float32[4,3], made at " + at(map) + ")"},
  }, __FILE__);
  CHECK_THROWS_AS(rnn(evaluates, x, {}), ValueError);
  CHECK(function({x}, {sum(rnn(keeps, x, {}).outputs)})({Array::full({2, 4, 3}, 1)})[0] ==
        Array(48.f));
}

TEST_CASE("steps that do not fit their loop") {
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
  const auto throws = [](const Tensor& in, const std::vector<Tensor>&) {
    return StepResult{dot(in, in), {}};
  };
  testing::run({
      {__LINE__, Fault::Value, [&] { rnn(as_it_is, x, {h}); },
       "rnn: the step gives 0 states but got 1 initial states"},
      {__LINE__, Fault::Value, [&] { rnn(as_it_is, x, {h, Tensor()}); },
       "rnn: initial_states[1] is an empty tensor"},
      {__LINE__, Fault::Value, [&] { rnn(wider, x, {h}); },
       "rnn: the step gives state 0 as float32[2,6] but it went in as float32[2,3]"},
      {__LINE__, Fault::Value, [&] { rnn(whole, x, {h}); },
       "rnn: the step gives state 0 as int32[2,3] but it went in as float32[2,3]"},
      {__LINE__, Fault::Value, [&] { rnn(scalar, x, {}); },
       "rnn: the step's output is a scalar; its axis 0 is samples"},
      {in_step, Fault::Value, [&] { rnn(throws, x, {}); },
       "dot: axis 1 of x has size 3 but axis 0 of y has size 2 (x float32[2,3], y float32[2,3])"},
      {__LINE__, Fault::Value, [&] { rnn(as_it_is, x, {}, {.mask = mask}); },
       "rnn: mask does not fit inputs (mask float32[4,2], inputs float32[2,4,3])"},
      {__LINE__, Fault::Value, [&] { rnn(as_it_is, x, {}, {.mask = h[0]}); },
       "rnn: mask must be (samples, time) (mask float32[3])"},
      {__LINE__, Fault::Value, [&] { rnn(as_it_is, x, {}, {.input_length = -1}); },
       "rnn: input_length is -1"},
      {__LINE__, Fault::Value, [&] { rnn(as_it_is, endless, {}, {.unroll = true}); },
       "rnn: unrolling needs a known number of steps; give input_length (inputs has x.1 steps)"},
  }, __FILE__);
}

TEST_CASE("gradients that are not there") {
  const Tensor w = variable(Array{1.f, 2.f}, {.name = "w"});
  const Tensor lost = variable(Array(1.f), {.name = "lost"}), nameless = variable(Array{1.f});
  const std::vector<Tensor> gradient = gradients(sum(square(w)), {w, lost, nameless});
  CHECK_FALSE(gradient[0].empty());
  REQUIRE(gradient[1].empty());
  const Tensor cut = gradients(sum(round(w)), {w})[0];
  testing::run({
      {__LINE__, Fault::Value, [&] { gradient[1] * 2; },
       "operator*: x is empty: the loss does not depend on lost, so it has no gradient"},
      {__LINE__, Fault::Value, [&] { 2 - gradient[2]; },
       "operator-: y is empty: the loss does not depend on float32[1], so it has no gradient"},
      {__LINE__, Fault::Value, [&] { function({}, {w, gradient[1]}); },
       "function: outputs[1] is empty: the loss does not depend on lost, so it has no gradient"},
      {__LINE__, Fault::Value, [&] { update_sub(w, gradient[1]); },
       "update_sub: decrement is empty: the loss does not depend on lost, so it has no gradient"},
      {__LINE__, Fault::Value, [&] { eval(gradient[1]); },
       "eval: x is empty: the loss does not depend on lost, so it has no gradient"},
      {__LINE__, Fault::Value, [&] { cut + 1; },
       "operator+: x is empty: the loss does not depend on w, so it has no gradient; round on the "
       "way is not differentiable"},
      {__LINE__, Fault::Type, [&] { gradients(argmax(w), {w}); },
       "gradients: loss is not floating point (loss int64[])"},
      {__LINE__, Fault::Value, [&] { gradients(Tensor(), {w}); },
       "gradients: loss is an empty tensor"},
      {__LINE__, Fault::Value, [&] { gradients(sum(w), {w, Tensor()}); },
       "gradients: variables[1] is an empty tensor"},
      {__LINE__, Fault::Value, [&] { gradients(gradient[1], {w}); },
       "gradients: loss is empty: the loss does not depend on lost, so it has no gradient"},
  }, __FILE__);
  CHECK(eval(gradient[0]) == Array{2.f, 4.f});
}

TEST_CASE("functions that cannot be") {
  Bystanders& by = Bystanders::here();
  const Tensor w = by.weights, x = input({2}, "x");
  const unsigned made = __LINE__ + 1;
  const Tensor stranger = placeholder({.shape = {2}, .name = "stranger"});
  const unsigned first = __LINE__ + 1;
  const std::vector<UpdateOp> twice{update_add(w, x), update_sub(w, x)};
  const std::vector<UpdateOp> wrong{{w, x + 1.0}, {x, x}};
  testing::run({
      {__LINE__, Fault::Value, [&] { function({x}, {}, {.updates = twice}); },
       "function: updates[1] updates a variable that has an update already (weights float32[2], "
       "first at " + at(first) + ")"},
      {__LINE__, Fault::Type, [&] { function({x}, {}, {.updates = wrong}); },
       "function: updates[1] does not update a variable (x float32[2])"},
      {__LINE__, Fault::Value, [&] { function({x}, {x + stranger}); },
       "function: a result depends on a placeholder that is not fed (stranger float32[2], made at "
       "" + at(made) + ")"},
      {__LINE__, Fault::Value, [&] { function({}, {}, {.updates = {update(w, stranger)}}); },
       "function: a result depends on a placeholder that is not fed (stranger float32[2], made at "
       "" + at(made) + ")"},
      {__LINE__, Fault::Type, [&] { function({w}, {w}); },
       "function: inputs[0] is not a placeholder (weights float32[2])"},
      {__LINE__, Fault::Type, [&] { function({x, x * 2}, {x}); },
       "function: inputs[1] is not a placeholder (float32[2])"},
      {__LINE__, Fault::Value, [&] { function({x, x}, {x}); },
       "function: inputs[1] is given twice (x float32[2])"},
      {__LINE__, Fault::Value, [&] { function({x, Tensor()}, {x}); },
       "function: inputs[1] is an empty tensor"},
      {__LINE__, Fault::Value, [&] { function({x}, {x, Tensor()}); },
       "function: outputs[1] is an empty tensor"},
      {__LINE__, Fault::Value, [&] { eval(stranger * 2); },
       "eval: a result depends on a placeholder that is not fed (stranger float32[2], made at "
       "" + at(made) + ")"},
      {__LINE__, Fault::Value, [&] { Function()({}); },
       "Function: an empty Function is called: it was not made by K::function"},
  }, __FILE__);
}

TEST_CASE("updates and values that do not fit their variable") {
  Bystanders& by = Bystanders::here();
  const Tensor w = by.weights, x = input({2}, "x"), three = input({3}, "three");
  const Array one{1.f}, two{1.f, 2.f};
  const std::vector<std::pair<Tensor, Array>> second_is_short{{by.count, Array(7)}, {w, one}};
  const std::vector<std::pair<Tensor, Array>> second_is_none{{w, two}, {x, two}};
  testing::run({
      {__LINE__, Fault::Type, [&] { update(x, x); },
       "update: x is not a variable (x x float32[2])"},
      {__LINE__, Fault::Value, [&] { update(w, three); },
       "update: new_x does not fit the variable (x float32[2], new_x float32[3])"},
      {__LINE__, Fault::Value, [&] { update(w, sum(x)); },
       "update: new_x has rank 0 but the variable has rank 1 (x float32[2], new_x float32[])"},
      {__LINE__, Fault::Value, [&] { update_add(w, three); },
       "update_add: increment does not fit the variable (x float32[2], increment float32[3])"},
      {__LINE__, Fault::Value, [&] { update_sub(by.count, input({2}, "i", "int32")); },
       "update_sub: decrement does not fit the variable (x int32[], decrement int32[2])"},
      {__LINE__, Fault::Type, [&] { update_add(w, input({2}, "i", "int32")); },
       "update_add: increment has dtype int32 but the variable has float32 (x float32[2], "
       "increment int32[2])"},
      {__LINE__, Fault::Type, [&] { update_add(by.count, 0.5); },
       "update_add: increment 0.5 is not integral beside a tensor of dtype int32"},
      {__LINE__, Fault::Type, [&] { update_sub(by.flags, true); },
       "update_sub: x is bool, not a number (x bool[2])"},
      {__LINE__, Fault::Type, [&] { moving_average_update(by.count, 1, 0.5); },
       "moving_average_update: momentum 0.5 is not integral beside a tensor of dtype int32"},
      {__LINE__, Fault::Value, [&] { moving_average_update(w, three, 0.5); },
       "moving_average_update: value does not fit the variable (variable float32[2], value "
       "float32[3])"},
      {__LINE__, Fault::Value, [&] { set_value(w, one); },
       "set_value: value has shape [1] but the variable is float32[2]"},
      {__LINE__, Fault::Type, [&] { set_value(x, two); },
       "set_value: x is not a variable (x x float32[2])"},
      {__LINE__, Fault::Value, [&] { batch_set_value(second_is_short); },
       "batch_set_value: tuples[1] has shape [1] but the variable is float32[2]"},
      {__LINE__, Fault::Type, [&] { batch_set_value(second_is_none); },
       "batch_set_value: tuples[1] is not a variable (tuples[1] x float32[2])"},
      {__LINE__, Fault::Type, [&] { get_value(x); },
       "get_value: x is not a variable (x x float32[2])"},
      {__LINE__, Fault::Type, [&] { batch_get_value({w, x}); },
       "batch_get_value: xs[1] is not a variable (xs[1] x float32[2])"},
      {__LINE__, Fault::Value, [&] { get_value(Tensor()); }, "get_value: x is an empty tensor"},
  }, __FILE__);
}

}  // namespace kiln::test
