// Tests kiln/control.h: switch, the phases and the learning phase itself. Expected values are by
// hand; those of switch over leading axes are numpy.where(condition[..., None], x, y).
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;

Array value(const Tensor& x) { return evaluate({}, {x}, {})[0]; }

Array counted(std::vector<std::int64_t> dims, float start = 0) {
  Array array = Array::zeros(std::move(dims));
  for (float& element : array.as<float>()) element = start++;
  return array;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"switch elementwise",
       {bools({3}, {true, false, true}), f32({3}, {1, 2, 3}), f32({3}, {-1, -2, -3})},
       [](const Tensors& x) { return switch_(x[0], x[1], x[2]); },
       f32({3}, {1, -2, 3})},
      {"switch of leading axes",
       {bools({2, 1}, {true, false}), counted({2, 1, 3}), counted({2, 1, 3}, 10)},
       [](const Tensors& x) { return switch_(x[0], x[1], x[2]); },
       f32({2, 1, 3}, {0, 1, 2, 13, 14, 15})},
      {"switch of the first axis alone",
       {i32({2}, {0, -7}), counted({2, 2, 2}), counted({2, 2, 2}, 10)},
       [](const Tensors& x) { return switch_(x[0], x[1], x[2]); },
       f32({2, 2, 2}, {10, 11, 12, 13, 4, 5, 6, 7})},
      {"switch of leading axes, as in the specification",
       {Array{{true, false, true}, {false, false, true}, {true, true, true}, {false, true, false}},
        counted({4, 3, 2}), counted({4, 3, 2}, 100)},
       [](const Tensors& x) { return switch_(x[0], x[1], x[2]); },
       f32({4, 3, 2}, {0,  1,  102, 103, 4,  5,  106, 107, 108, 109, 10,  11,
                       12, 13, 14,  15,  16, 17, 118, 119, 20,  21,  122, 123})},
      {"switch of a last axis of 1",
       {bools({2, 1}, {true, false}), counted({2, 2}), counted({2, 2}, 10)},
       [](const Tensors& x) { return switch_(x[0], x[1], x[2]); },
       f32({2, 2}, {0, 1, 12, 13})},
      {"switch of a number",
       {f32({2}, {1, 2})},
       [](const Tensors& x) { return switch_(0, x[0], 5 * x[0]); },
       f32({2}, {5, 10})},
      {"switch of one number and a function",
       {f32({}, {3}), f32({2}, {1, 2})},
       [](const Tensors& x) { return switch_(x[0], 4, [=] { return x[1]; }); },
       f32({2}, {4, 4})},
      {"switch of numbers",
       {f32({3}, {-0.0f, 0.5, kNaN})},
       [](const Tensors& x) { return switch_(x[0], x[0], 7); },
       f32({3}, {7, 0.5, kNaN})},
      {"switch of a scalar",
       {f32({}, {2}), f32({2}, {1, 2}), f32({2}, {3, 4})},
       [](const Tensors& x) { return switch_(x[0], x[1], x[2]); },
       f32({2}, {1, 2})},
      {"switch of a scalar with functions",
       {i32({}, {0}), f32({2}, {1, 2})},
       [](const Tensors& x) {
         return switch_(x[0], [=] { return x[1] * 2; }, [=] { return x[1] * 3; });
       },
       f32({2}, {3, 6})},
      {"switch of elements with functions",
       {i32({2}, {0, 1}), f32({2}, {1, 2})},
       [](const Tensors& x) {
         return switch_(x[0], [=] { return x[1] * 2; }, [=] { return x[1] * 3; });
       },
       f32({2}, {3, 4})},
      {"switch over nothing",
       {bools({0}, {}), Array::zeros({0, 2}), Array::zeros({0, 2})},
       [](const Tensors& x) { return switch_(x[0], x[1], x[2]); },
       Array::zeros({0, 2})},
      {"switch of integers",
       {bools({2}, {true, false}), i64({2}, {5, 6}), i64({2}, {7, 8})},
       [](const Tensors& x) { return switch_(x[0], x[1], x[2]); },
       i64({2}, {5, 8})},
      {"switch of bools",
       {bools({2}, {true, false}), bools({2}, {false, true})},
       [](const Tensors& x) { return switch_(x[0], x[1], x[0]); },
       bools({2}, {false, false})},
      {"switch gradient",
       {f32({3}, {-1, 2, 0}), f32({3}, {1, 2, 3})},
       [](const Tensors& x) {
         return gradients(sum(switch_(x[0] > 0, square(x[1]), 5 * x[1])), {x[1]})[0];
       },
       f32({3}, {5, 4, 5})},
      {"switch gradient of functions",
       {f32({}, {-1}), f32({2}, {1, 2})},
       [](const Tensors& x) {
         const auto squared = [=] { return square(x[1]); };
         return gradients(sum(switch_(x[0] > 0, squared, [=] { return 5 * x[1]; })), {x[1]})[0];
       },
       f32({2}, {5, 5})},
      {"in_train_phase by a tensor",
       {i32({}, {1}), f32({2}, {1, 2})},
       [](const Tensors& x) { return in_train_phase(x[1] * 2, x[1], x[0]); },
       f32({2}, {2, 4})},
      {"in_train_phase by a tensor of 0",
       {f32({}, {0}), f32({2}, {1, 2})},
       [](const Tensors& x) { return in_train_phase(x[1] * 2, x[1], x[0]); },
       f32({2}, {1, 2})},
      {"in_test_phase by a tensor",
       {bools({}, {true}), f32({2}, {1, 2})},
       [](const Tensors& x) { return in_test_phase(x[1] * 2, x[1], x[0]); },
       f32({2}, {1, 2})},
  };
  return all;
}

const SmoothRow kControlGradients[] = {
    {"switch",
     {{2, 3}, {2, 3}},
     [](const Tensors& x) {
       const Tensor first = constant({1, 0}, {.dtype = "bool"});
       return switch_(first, square(x[0]) * x[1], exp(x[1]));
     }},
    {"switch of leading axes",
     {{2, 3}, {2, 3}},
     [](const Tensors& x) {
       return switch_(constant({0, 1}, {.dtype = "int32"}), square(x[0]) * x[1], exp(x[1]));
     }},
    {"in_train_phase by a tensor",
     {{2}, {2}},
     [](const Tensors& x) {
       const Tensor none = cast(0 * sum(stop_gradient(x[0])), "int32"), on = 1 + none;
       return in_train_phase([=] { return square(x[0]) * x[1]; }, [=] { return x[0]; }, on);
     }},
    {"switch of a scalar",
     {{2, 3}, {2, 3}},
     [](const Tensors& x) {
       const auto product = [=] { return square(x[0]) * x[1]; };
       return switch_(constant(0), product, [=] { return exp(x[1]) * x[0]; });
     }},
};

/// Resets the session after a test.
struct Session {
  ~Session() { clear_session(); }
};

}  // namespace

TEST_CASE("switch and the phases: values", "[k]") { run(rows()); }

TEST_CASE("switch: gradients", "[k]") {
  for (const SmoothRow& row : kControlGradients) run(row);
}

TEST_CASE("switch and the phases: a number or a fixed phase picks the branch when built", "[k]") {
  const Tensor x = constant({1., 2., 3.}), alt = constant(9);
  const auto never = []() -> Tensor { throw std::logic_error("called"); };
  CHECK(value(in_train_phase(x, alt, 1)) == Array{1.f, 2.f, 3.f});
  CHECK(value(in_train_phase(x, alt, false)) == Array(9.f));
  CHECK(value(in_train_phase(x, never, true)) == Array{1.f, 2.f, 3.f});
  CHECK(value(in_test_phase(x, alt, 1.)) == Array(9.f));
  CHECK(value(in_test_phase(x, never, 0)) == Array{1.f, 2.f, 3.f});
  const Session session;
  set_learning_phase(1);
  CHECK(value(learning_phase()).item<std::int32_t>() == 1);
  CHECK(value(in_train_phase(x, alt)) == Array{1.f, 2.f, 3.f});
  CHECK(value(in_test_phase(x, alt)) == Array(9.f));
  CHECK(value(in_train_phase(x, never, learning_phase())) == Array{1.f, 2.f, 3.f});
  CHECK(value(in_train_phase(x, alt, None)) == Array{1.f, 2.f, 3.f});
  set_learning_phase(0);
  CHECK(value(in_train_phase(never, alt)) == Array(9.f));
  CHECK(value(in_test_phase(x, alt, None)) == Array{1.f, 2.f, 3.f});
}

TEST_CASE("learning phase: graphs keep the one that they were built with", "[k]") {
  const Session session;
  const Tensor phase = learning_phase(), y = in_train_phase(constant(1), constant(0));
  CHECK(same_node(phase, learning_phase()));
  set_learning_phase(1);
  const Function f = function({phase}, {y}, {.backend = tested_backend()});
  CHECK(f({Array(0)})[0] == Array(0.f));
  CHECK(f({Array(true)})[0] == Array(1.f));
  CHECK(value(y) == Array(0.f));
  clear_session();
  CHECK_FALSE(same_node(phase, learning_phase()));
  CHECK(value(in_train_phase(constant(1), constant(0))) == Array(0.f));
}

TEST_CASE("learning phase: both branches in one function", "[k]") {
  const Tensor x = of({None});
  const Tensor y = in_train_phase([&] { return x * 2; }, [&] { return x; });
  const Tensor z = in_test_phase([&] { return x * 2; }, [&] { return x; });
  const Function f = function({x, learning_phase()}, {y, z}, {.backend = tested_backend()});
  const Array feed{1.f, 3.f}, doubled{2.f, 6.f};
  CHECK(f({feed, Array(1)})[0] == doubled);
  CHECK(f({feed, Array(1)})[1] == feed);
  CHECK(f({feed, Array(0.)})[0] == feed);
  CHECK(f({feed, Array(0.)})[1] == doubled);
}

TEST_CASE("switch: a branch that no size can enter compiles, and never runs", "[k]") {
  const Tensor x = of({4, 1}), w = of({None, 5}), u = of({5, 5}), enters = of({});
  // The sum requires 4 rows of w, the second matmul one.
  const Tensor y = switch_(
      enters > 0, [&] { return sum(square(dot(w, u) + dot(sigmoid(x), w))); },
      [&] { return sum(square(w)); });
  const Tensor slope = sum(square(gradients(y, {x})[0])) + sum(square(gradients(y, {w})[0]));
  const Function f =
      function({x, w, u, enters}, {y, gradients(slope, {w})[0]}, {.backend = tested_backend()});
  const Array rows = Array::full({3, 5}, 2), ones = Array::full({4, 1}, 1);
  const std::vector<Array> found = f({ones, rows, Array::full({5, 5}, 1), Array(0.f)});
  CHECK(found[0] == Array(60.f));
  CHECK(found[1] == Array::full({3, 5}, 16));  // of the sum of (2 w)^2
  CHECK_THROWS_AS(f({ones, rows, Array::full({5, 5}, 1), Array(1.f)}), Error);
}

TEST_CASE("switch and the phases: misuse", "[k]") {
  const std::vector<Misuse> rows = {
      {throws<ValueError>(), [] { switch_(of({2, 3}, "bool"), of({2}), of({2})); },
       "switch: condition has a higher rank than the branches (condition bool[2,3], "
       "then_expression float32[2])"},
      {throws<ValueError>(), [] { switch_(of({3}, "bool"), of({2, 3}), of({2, 3})); },
       "switch: condition does not fit the branches (condition bool[3], then_expression "
       "float32[2,3])"},
      {throws<ValueError>(), [] { switch_(of({}, "bool"), of({2}), of({3})); },
       "switch: the branches have different shapes (then_expression float32[2], else_expression "
       "float32[3])"},
      {throws<TypeError>(), [] { switch_(of({}), of({2}), of({2}, "int32")); },
       "switch: the branches have different dtypes (then_expression float32[2], else_expression "
       "int32[2])"},
      {throws<TypeError>(), [] { switch_(of({}), of({2}, "int32"), 0.5); },
       "switch: else_expression 0.5 is floating point but the dtype is int32: write "
       "cast(then_expression, \"float32\") or an integer"},
      {throws<ValueError>(), [] { switch_(Tensor(), of({2}), of({2})); },
       "switch: condition is an empty tensor"},
      {throws<ValueError>(), [] { switch_(of({}), of({2}), [] { return Tensor(); }); },
       "switch: else_expression is an empty tensor"},
      {throws<ValueError>(), [] { switch_(of({}), std::function<Tensor()>(), of({2})); },
       "switch: then_expression is an empty function"},
      {throws<ValueError>(), [] { in_train_phase(of({2}), std::function<Tensor()>(), 0); },
       "in_train_phase: alt is an empty function"},
      {throws<ValueError>(), [] { in_train_phase(of({2}), of({3})); },
       "in_train_phase: the branches have different shapes (x float32[2], alt float32[3])"},
      {throws<TypeError>(), [] { in_test_phase(of({2}), of({2}, "bool")); },
       "in_test_phase: the branches have different dtypes (alt bool[2], x float32[2])"},
      {throws<ValueError>(), [] { in_train_phase(of({2}), of({2}), of({3})); },
       "in_train_phase: training does not fit the branches (training float32[3], x float32[2])"},
      {throws<ValueError>(), [] { in_test_phase(of({2}), Tensor(), 1); },
       "in_test_phase: alt is an empty tensor"},
      {throws<ValueError>(), [] { in_train_phase(of({2}), of({2}), Tensor()); },
       "in_train_phase: training is an empty tensor"},
      {throws<ValueError>(), [] { set_learning_phase(2); },
       "set_learning_phase: value 2 is neither 0 nor 1"},
  };
  run(rows);
}

}  // namespace kiln::test
