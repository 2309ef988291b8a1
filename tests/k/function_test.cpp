// Tests function, gradients, stop_gradient and print_tensor. Expected values are by hand.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <iostream>
#include <sstream>

namespace kiln::test {
namespace {

using testing::throws;

Function compile(const Tensors& inputs, const Tensors& outputs,
                 const std::vector<UpdateOp>& updates = {}) {
  return function(inputs, outputs, {.updates = updates, .backend = tested_backend()});
}

/// Captures std::cout for a scope.
class Printed {
 public:
  Printed() : before_(std::cout.rdbuf(captured_.rdbuf())) {}
  ~Printed() { std::cout.rdbuf(before_); }
  std::string text() const { return captured_.str(); }

 private:
  std::ostringstream captured_;
  std::streambuf* before_;
};

}  // namespace

TEST_CASE("function: feeds are cast to the dtype of their placeholder", "[k]") {
  const Tensor x = of({2}), wide = of({2}, "float64"), n = of({2}, "int64"),
               half = of({2}, "float16");
  const Function f = compile({x, wide, n, half}, {x, wide, n, half});
  const auto found = f({Array{1.5, 2.5}, Array{1, 2}, Array{true, false}, Array{0.5f, 2.f}});
  CHECK(found[0] == Array{1.5f, 2.5f});
  CHECK(found[1] == Array{1., 2.});
  CHECK(found[2] == Array({1, 0}).astype(DType::Int64));
  CHECK(found[3] == Array({0.5f, 2.f}).astype(DType::Float16));
  CHECK(f({Array{1, 2}, Array{1.f, 2.f}, Array({3, 4}).astype(DType::UInt8), Array{1., 2.}})[2] ==
        Array({3, 4}).astype(DType::Int64));
}

TEST_CASE("function: unused inputs, no outputs, and outputs that are inputs", "[k]") {
  const Tensor x = of({None}), unused = of({3}, "int32");
  const Function f = compile({unused, x}, {x, x, sum(x)});
  const Array feed{1.f, 2.f};
  const auto found = f({Array{7, 8, 9}, feed});
  CHECK(found[0] == feed);
  CHECK(found[1] == feed);
  CHECK(found[2] == Array(3.f));  // a scalar has no axis
  CHECK(found[2].dims().empty());
  CHECK(compile({x}, {})({feed}).empty());
  CHECK(compile({}, {})({}).empty());
  CHECK(compile({}, {constant(2)})({})[0] == Array(2.f));
}

TEST_CASE("function: outputs and updates read the old state; updates take effect together", "[k]") {
  const Variable p = variable(Array(10.f)), v = variable(Array(0.f)),
                 t = variable(Array(0), {.dtype = "int64"});
  const Tensor slope = of({});
  // Momentum as Keras writes it: the new velocity, and the weights moved by it.
  const Tensor velocity = 0.5 * v - slope;
  const Function step =
      compile({slope}, {p, v, t}, {update(v, velocity), {p, p + velocity}, update_add(t, 1)});
  const auto first = step({Array(2.f)});
  CHECK(first[0] == Array(10.f));
  CHECK(first[1] == Array(0.f));
  CHECK(first[2] == Array(0).astype(DType::Int64));
  CHECK(get_value(v) == Array(-2.f));
  CHECK(get_value(p) == Array(8.f));
  const auto second = step({Array(1.f)});
  CHECK(second[0] == Array(8.f));
  CHECK(get_value(v) == Array(-2.f));
  CHECK(get_value(p) == Array(6.f));
  CHECK(get_value(t) == Array(2).astype(DType::Int64));
  const Variable a = variable(Array(1.f)), b = variable(Array(2.f)), c = variable(Array(3.f));
  compile({}, {}, {{a, b}, {b, c}, {c, a}})({});
  CHECK(batch_get_value({a, b, c}) == std::vector<Array>{Array(2.f), Array(3.f), Array(1.f)});
}

TEST_CASE("gradients: with respect to any tensor between variables and loss", "[k]") {
  const Tensor x = of({2}), y = x * 3, z = square(y), alone = of({2});
  const Tensor loss = sum(z) + sum(x);
  const Tensors slopes = gradients(loss, {x, y, z, loss, alone, x});
  REQUIRE(slopes.size() == 6);
  CHECK(slopes[4].empty());
  const auto found =
      compile({x}, {slopes[0], slopes[1], slopes[2], slopes[3], slopes[5]})({Array{1.f, 2.f}});
  CHECK(found[0] == Array{19.f, 37.f});
  CHECK(found[1] == Array{6.f, 12.f});
  CHECK(found[2] == Array{1.f, 1.f});
  CHECK(found[3] == Array(1.f));
  CHECK(found[4] == found[0]);
  CHECK(gradients(loss, {}).empty());
}

TEST_CASE("gradients: a loss that is no scalar is summed, and gradients have gradients", "[k]") {
  const Tensor x = of({None});
  const Tensor first = gradients(pow(x, 3), {x})[0], second = gradients(first, {x})[0];
  const Tensor third = gradients(second, {x})[0];
  const auto found = compile({x}, {first, second, third})({Array{1.f, 2.f}});
  CHECK(found[0] == Array{3.f, 12.f});
  CHECK(found[1] == Array{6.f, 12.f});
  CHECK(found[2] == Array{6.f, 6.f});
  const Tensor w = variable({1., 2.});
  CHECK(gradients(3.0, {w})[0].empty());
}

TEST_CASE("gradients: every float dtype keeps the dtype of the variable", "[k]") {
  for (const char* dtype : {"float16", "bfloat16", "float32", "float64"}) {
    const Tensor x = of({2}, dtype);
    const Tensor slope = gradients(sum(cast(square(x), "float32")), {x})[0];
    CHECK(kiln::dtype(slope) == dtype);
    CHECK(compile({x}, {slope})({Array{1.f, 3.f}})[0] ==
          Array({2.f, 6.f}).astype(*dtype_of_name(dtype)));
  }
}

TEST_CASE("stop_gradient: no gradient passes", "[k]") {
  const Tensor x = of({2});
  const Tensor loss = sum(square(x)), same = loss + stop_gradient(loss);
  const Tensors stopped = stop_gradient({x, loss});
  CHECK(stopped.size() == 2);
  const auto found = compile({x}, {same, gradients(same, {x})[0], gradients(loss, {x})[0],
                                   gradients(sum(stopped[0] * x) + stopped[1], {x})[0],
                                   stop_gradient(x)})({Array{1.f, 3.f}});
  CHECK(found[0] == Array(20.f));
  CHECK(found[1] == found[2]);
  CHECK(found[3] == Array{1.f, 3.f});
  CHECK(found[4] == Array{1.f, 3.f});
  CHECK(gradients(sum(stop_gradient(x)), {x})[0].empty());
  CHECK(stop_gradient(Tensors()).empty());
}

TEST_CASE("print_tensor: a value is printed each time it is computed", "[k]") {
  const Tensor x = of({None, 1}), seen = print_tensor(x, {.message = "msg"});
  const Function f = compile({x}, {seen * 2, gradients(sum(square(seen)), {x})[0]});
  const Function unseen = compile({x}, {x + 1});
  const Printed printed;
  const auto found = f({Array{{1.f}}});
  CHECK(printed.text() == "msg [[1.]]\n");
  f({Array{{2.f}, {3.f}}});
  unseen({Array{{4.f}}});
  CHECK(printed.text() == "msg [[1.]]\nmsg [[2.]\n [3.]]\n");
  CHECK(found[0] == Array{{2.f}});
  CHECK(found[1] == Array{{2.f}});
}

TEST_CASE("print_tensor: every dtype, and an empty message", "[k]") {
  const Printed printed;
  for (const char* dtype : {"bool", "int8", "uint64", "float16", "float64"}) {
    const Tensor x = constant({1, 0}, {.dtype = dtype});
    CHECK(compile({}, {print_tensor(x)})({})[0] == Array({1, 0}).astype(*dtype_of_name(dtype)));
  }
  compile({}, {print_tensor(constant(Array::zeros({0, 2})), {.message = "none"})})({});
  INFO(printed.text());
  CHECK(printed.text().find("[ True False]\n[1 0]\n[1 0]\n[1. 0.]\n[1. 0.]\n") !=
        std::string::npos);
}

TEST_CASE("function and gradients: misuse", "[k]") {
  const Tensor x = of({2}), w = variable({1., 2.}, {.name = "w"});
  const unsigned first = __LINE__ + 1;
  const UpdateOp once = update(w, x), again = update_add(w, 1);
  const std::string location = __FILE__ ":" + std::to_string(first);
  testing::run({
      {throws<TypeError>(), [&] { function({w}, {w}); },
       "function: inputs[0] is not a placeholder (w float32[2])"},
      {throws<TypeError>(), [&] { function({x, x + 1}, {x}); },
       "function: inputs[1] is not a placeholder (float32[2])"},
      {throws<ValueError>(), [&] { function({x, x}, {x}); },
       "function: inputs[1] is given twice (p float32[2])"},
      {throws<ValueError>(), [&] { function({x, Tensor()}, {x}); },
       "function: inputs[1] is an empty tensor"},
      {throws<ValueError>(), [&] { function({x}, {x, Tensor()}); },
       "function: outputs[1] is an empty tensor"},
      {throws<ValueError>(), [&] { function({x}, {}, {.updates = {once, again}}); },
       "function: updates[1] updates a variable that has an update already (w float32[2], first "
       "at " +
           location + ")"},
      {throws<TypeError>(), [&] { function({x}, {}, {.updates = {{x, x}}}); },
       "function: updates[0] does not update a variable (p float32[2])"},
      {throws<TypeError>(), [&] { function({x}, {}, {.updates = {{w, cast(x, "int32")}}}); },
       "function: updates[0] gives int32[2] to the variable w float32[2]"},
      {throws<ValueError>(), [&] { function({x}, {}, {.updates = {{w, x[0]}}}); },
       "function: updates[0] gives float32[] to the variable w float32[2]"},
      {throws<TypeError>(), [&] { gradients(cast(w, "int32"), {w}); },
       "gradients: loss is not floating point (loss int32[2])"},
      {throws<ValueError>(), [&] { gradients(sum(w), {w, Tensor()}); },
       "gradients: variables[1] is an empty tensor"},
      {throws<ValueError>(), [&] { stop_gradient({x, Tensor()}); },
       "stop_gradient: variables[1] is an empty tensor"},
      {throws<ValueError>(), [&] { stop_gradient(Tensor()); },
       "stop_gradient: variables is an empty tensor"},
      {throws<ValueError>(), [&] { print_tensor(Tensor()); }, "print_tensor: x is an empty tensor"},
      {throws<ValueError>(), [&] { eval(Tensor()); }, "eval: x is an empty tensor"},
  });
}

}  // namespace kiln::test
