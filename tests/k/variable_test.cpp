// Tests kiln/update.h and kiln/variable.h: updates and the values of variables. Expected values are
// by hand.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;

const DType kNumbers[] = {DType::Int8,    DType::Int16,    DType::Int32,   DType::Int64,
                          DType::UInt8,   DType::UInt16,   DType::UInt32,  DType::UInt64,
                          DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};

/// The new value of the update's variable, by a call on the tested backend.
Array after(const UpdateOp& op) {
  function({}, {}, {.updates = {op}, .backend = tested_backend()})({});
  return get_value(op.variable);
}

}  // namespace

TEST_CASE("updates: every dtype", "[k]") {
  for (const DType dtype : kNumbers) {
    INFO(dtype);
    const Variable x = variable({5, 7}, {.dtype = dtype});
    CHECK(after(update(x, constant({1, 2}, {.dtype = dtype}))) == Array{1, 2}.astype(dtype));
    CHECK(after(update(x, 9)) == Array{9, 9}.astype(dtype));
    CHECK(after(update(x, Array{3.f, 4.f})) == Array{3, 4}.astype(dtype));
    CHECK(after(update_add(x, 1)) == Array{4, 5}.astype(dtype));
    CHECK(after(update_sub(x, constant(2, {.dtype = dtype}))) == Array{2, 3}.astype(dtype));
    CHECK(after(update_add(x, x)) == Array{4, 6}.astype(dtype));
  }
  const Variable flags = variable({true, false}, {.dtype = "bool"});
  CHECK(after(update(flags, Array{0, 2})) == Array{false, true});
}

TEST_CASE("updates: scalars, single elements and nothing", "[k]") {
  const Variable count = variable(Array(0), {.dtype = "int64"});
  for (int i = 1; i <= 3; ++i) CHECK(after(update_add(count, 1)) == Array(i).astype(DType::Int64));
  const Variable one = variable({{1.}}), none = variable(Array::zeros({0, 2}));
  CHECK(after(update_sub(one, 0.5)) == Array{{0.5f}});
  CHECK(after(update_add(none, 1)) == Array::zeros({0, 2}));
  const Variable matrix = variable(Array::zeros({2, 3}));
  CHECK(after(update_add(matrix, constant({1., 2., 3.}))) ==
        Array{{1.f, 2.f, 3.f}, {1.f, 2.f, 3.f}});
  CHECK(after(update_sub(matrix, constant({{1.}, {2.}}))) ==
        Array{{0.f, 1.f, 2.f}, {-1.f, 0.f, 1.f}});
}

TEST_CASE("eval: executes an update and gives the new value", "[k]") {
  const Variable x = variable({1., 2.});
  CHECK(eval(update_add(x, 1)) == Array{2.f, 3.f});
  CHECK(get_value(x) == Array{2.f, 3.f});
  CHECK(eval(x) == Array{2.f, 3.f});
  const UpdateOp pair{x, 2 * x};
  CHECK(eval(pair) == Array{4.f, 6.f});
}

TEST_CASE("updates: a pair of variable and value", "[k]") {
  const Variable x = variable({1., 2.}), y = variable({5., 6.});
  const Function swap =
      function({}, {x}, {.updates = {{x, y}, {y, x}}, .backend = tested_backend()});
  CHECK(swap({})[0] == Array{1.f, 2.f});
  CHECK(get_value(x) == Array{5.f, 6.f});
  CHECK(get_value(y) == Array{1.f, 2.f});
}

TEST_CASE("moving averages: the formula, without bias correction", "[k]") {
  const Variable x = variable({0., 8.});
  CHECK(after(moving_average_update(x, constant({10., 0.}), 0.75)) == Array{2.5f, 6.f});
  CHECK(after(moving_average_update(x, constant({10., 0.}), 0.75)) == Array{4.375f, 4.5f});
  CHECK(after(moving_average_update(x, 1, 0)) == Array{1.f, 1.f});
  CHECK(after(moving_average_update(x, constant({3, 5}, {.dtype = "int32"}), 0.5)) ==
        Array{2.f, 3.f});
  CHECK(after(moving_average_update(x, constant({3., 5.}, {.dtype = "float64"}), constant(1))) ==
        Array{2.f, 3.f});
  const Variable wide = variable({1.}, {.dtype = "float64"});
  CHECK(after(moving_average_update(wide, constant({2.}), 0.5)) == Array{1.5});
}

TEST_CASE("set_value: values are cast to the dtype of the variable", "[k]") {
  const Variable x = variable({0, 0}, {.dtype = "int32"});
  set_value(x, Array{2.9, -2.9});
  CHECK(get_value(x) == Array{2, -2});
  set_value(x, Array{true, false});
  CHECK(get_value(x) == Array{1, 0});
  const Variable scalar = variable(Array(1.)), none = variable(Array::zeros({0}));
  set_value(scalar, Array(3));
  set_value(none, Array::zeros({0}, DType::Int64));
  CHECK(get_value(scalar) == Array(3.f));
  CHECK(get_value(none) == Array::zeros({0}));
  CHECK(get_variable_shape(variable(Array::zeros({2, 0, 1}))) ==
        std::vector<std::int64_t>{2, 0, 1});
  CHECK(get_variable_shape(scalar).empty());
}

TEST_CASE("batch_get_value and batch_set_value: several values at once", "[k]") {
  CHECK(batch_get_value({}).empty());
  batch_set_value({});
  const Variable x = variable({1., 2.}), y = variable(Array(3), {.dtype = "int64"});
  batch_set_value({{x, Array{4, 5}}, {y, Array(0)}});
  const std::vector<Array> values = batch_get_value({y, x, y});
  REQUIRE(values.size() == 3);
  CHECK(values[0] == Array(0).astype(DType::Int64));
  CHECK(values[1] == Array{4.f, 5.f});
  CHECK(values[2] == values[0]);
  batch_set_value({{x, Array{6, 7}}, {x, Array{8, 9}}});
  CHECK(get_value(x) == Array{8.f, 9.f});
  CHECK_THROWS_AS(batch_set_value({{y, Array(1)}, {x, Array{1, 2, 3}}}), ValueError);
  CHECK(get_value(y) == Array(0).astype(DType::Int64));
}

TEST_CASE("get_value: the result does not follow the variable", "[k]") {
  const Variable x = variable({1., 2.});
  const Array before = get_value(x);
  after(update_add(x, 1));
  CHECK(before == Array{1.f, 2.f});
  Array mine = get_value(x);
  mine.as<float>()[0] = 100;
  CHECK(get_value(x) == Array{2.f, 3.f});
}

TEST_CASE("updates and values: misuse", "[k]") {
  static const Variable x = variable({1., 2.}, {.name = "x"});
  static const Variable n = variable({1, 2}, {.dtype = "int32", .name = "n"});
  const std::vector<Misuse> rows = {
      {throws<TypeError>(), [] { update(of({2}), 1); },
       "update: x is not a variable (x p float32[2])"},
      {throws<TypeError>(), [] { update_add(x + 1, 1); },
       "update_add: x is not a variable (x float32[2])"},
      {throws<ValueError>(), [] { update_sub(Tensor(), 1); }, "update_sub: x is an empty tensor"},
      {throws<ValueError>(), [] { update(x, of({3})); },
       "update: new_x does not fit the variable (x float32[2], new_x float32[3])"},
      {throws<ValueError>(), [] { update(x, of({1, 2})); },
       "update: new_x has rank 2 but the variable has rank 1 (x float32[2], new_x float32[1,2])"},
      {throws<TypeError>(), [] { update(x, of({2}, "float64")); },
       "update: new_x has dtype float64 but the variable has float32 (x float32[2], new_x "
       "float64[2])"},
      {throws<TypeError>(), [] { update_add(n, 0.5); },
       "update_add: increment 0.5 is floating point but the dtype is int32: write an integer"},
      {throws<ValueError>(), [] { update_add(x, of({3})); },
       "update_add: increment does not fit the variable (x float32[2], increment float32[3])"},
      {throws<ValueError>(), [] { update(x, Array{1, 2, 3}); },
       "update: new_x does not fit the variable (x float32[2], new_x float32[3])"},
      {throws<ValueError>(), [] { update(x, of({1})); },
       "update: new_x does not fit the variable (x float32[2], new_x float32[1])"},
      {throws<ValueError>(), [] { update_sub(x, of({2, 2})); },
       "update_sub: decrement does not fit the variable (x float32[2], decrement float32[2,2])"},
      {throws<TypeError>(), [] { moving_average_update(of({2}), 1, 0.5); },
       "moving_average_update: variable is not a variable (variable p float32[2])"},
      {throws<ValueError>(), [] { moving_average_update(x, of({3}), 0.5); },
       "moving_average_update: value does not fit the variable (variable float32[2], value "
       "float32[3])"},
      {throws<TypeError>(), [] { moving_average_update(n, 1, 0.5); },
       "moving_average_update: momentum 0.5 is floating point but the dtype is int32: write "
       "an integer"},
      {throws<TypeError>(), [] { get_value(x + 1); },
       "get_value: x is not a variable (x float32[2])"},
      {throws<ValueError>(), [] { get_value(Tensor()); }, "get_value: x is an empty tensor"},
      {throws<TypeError>(), [] { batch_get_value({x, of({2})}); },
       "batch_get_value: xs[1] is not a variable (xs[1] p float32[2])"},
      {throws<ValueError>(), [] { set_value(x, Array{1, 2, 3}); },
       "set_value: value has shape [3] but the variable is float32[2]"},
      {throws<ValueError>(), [] { set_value(x, Array(1)); },
       "set_value: value has shape [] but the variable is float32[2]"},
      {throws<TypeError>(), [] { set_value(of({2}), Array(1)); },
       "set_value: x is not a variable (x p float32[2])"},
      {throws<ValueError>(), [] { batch_set_value({{n, Array{1, 2}}, {x, Array{1}}}); },
       "batch_set_value: tuples[1] has shape [1] but the variable is float32[2]"},
      {throws<TypeError>(), [] { get_variable_shape(of({2})); },
       "get_variable_shape: x is not a variable (x p float32[2])"},
      {throws<TypeError>(), [] { Variable(of({2})); },
       "Variable: tensor is not a variable (tensor p float32[2])"},
  };
  run(rows);
  CHECK(get_value(x) == Array{1.f, 2.f});
  CHECK(get_value(n) == Array{1, 2});
}

}  // namespace kiln::test
