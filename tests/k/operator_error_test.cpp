// Every operator with operands that clash: tensors on both sides, a number on either side.
#include "tests/catch.h"
#include "tests/k/row.h"
#include "tests/misuse.h"

namespace kiln::test {
namespace {

using testing::Fault;

struct Operator {
  std::string symbol;
  unsigned line;  // of the expression
  bool arithmetic;
  Tensor (*tensors)(const Tensor& x, const Tensor& y);
  Tensor (*right)(const Tensor& x, const double& y);
  Tensor (*left)(const double& x, const Tensor& y);
};

template <class Apply>
Operator operator_of(const char* symbol, unsigned line, bool arithmetic, Apply apply) {
  return {symbol, line, arithmetic, apply, apply, apply};
}

const Operator kOperators[] = {
    operator_of("+", __LINE__, true, [](const auto& x, const auto& y) { return x + y; }),
    operator_of("-", __LINE__, true, [](const auto& x, const auto& y) { return x - y; }),
    operator_of("*", __LINE__, true, [](const auto& x, const auto& y) { return x * y; }),
    operator_of("/", __LINE__, true, [](const auto& x, const auto& y) { return x / y; }),
    operator_of("<", __LINE__, false, [](const auto& x, const auto& y) { return x < y; }),
    operator_of("<=", __LINE__, false, [](const auto& x, const auto& y) { return x <= y; }),
    operator_of(">", __LINE__, false, [](const auto& x, const auto& y) { return x > y; }),
    operator_of(">=", __LINE__, false, [](const auto& x, const auto& y) { return x >= y; }),
    operator_of("==", __LINE__, false, [](const auto& x, const auto& y) { return x == y; }),
    operator_of("!=", __LINE__, false, [](const auto& x, const auto& y) { return x != y; }),
};

Tensor of(const Shape& shape, const char* dtype = "float32") {
  return placeholder({.shape = shape, .dtype = dtype, .name = "p"});
}

struct TensorClash {
  Fault fault;
  Tensor x, y;
  const char* fact;
};

std::vector<TensorClash> tensor_clashes() {
  return {
      {Fault::Value, of({2, 3}), of({4}),
       "shapes do not broadcast: sizes 3 and 4 of axis -1 (x float32[2,3], y float32[4])"},
      {Fault::Value, of({5, 3}), of({4, 3}),
       "shapes do not broadcast: sizes 5 and 4 of axis -2 (x float32[5,3], y float32[4,3])"},
      {Fault::Value, of({2, 3}), of({2, 3, 4}),
       "shapes do not broadcast: sizes 2 and 3 of axis -2 (x float32[2,3], y float32[2,3,4])"},
      {Fault::Type, of({2}), of({2}, "int32"),
       "x has dtype float32 but y has dtype int32 (x float32[2], y int32[2])"},
      {Fault::Type, of({}, "bool"), of({2}, "uint8"),
       "x has dtype bool but y has dtype uint8 (x bool[], y uint8[2])"},
      {Fault::Type, of({2}, "float16"), of({2}, "bfloat16"),
       "x has dtype float16 but y has dtype bfloat16 (x float16[2], y bfloat16[2])"},
      {Fault::Value, Tensor(), of({2}), "x is an empty tensor"},
      {Fault::Value, of({2}), Tensor(), "y is an empty tensor"},
  };
}

/// A number beside a tensor: the fact begins with the side that the number is on.
struct NumberClash {
  Fault fault;
  Tensor tensor;
  double number;
  const char* fact;
};

std::vector<NumberClash> number_clashes() {
  return {
      {Fault::Type, of({2}, "int32"), 0.5, "0.5 is not integral beside a tensor of dtype int32"},
      {Fault::Type, of({2}, "uint64"), kNaN, "nan is not integral beside a tensor of dtype uint64"},
      {Fault::Type, of({2}, "int8"), -kInf, "-inf is not integral beside a tensor of dtype int8"},
      {Fault::Value, of({2}, "int8"), 128, "128 is outside the range of int8"},
      {Fault::Value, of({2}, "uint16"), -1, "-1 is outside the range of uint16"},
      {Fault::Type, of({2}, "bool"), 2, "2 is not 0 or 1 beside a tensor of dtype bool"},
  };
}

void check(const Operator& op, Fault fault, const std::function<void()>& call,
           const std::string& fact) {
  testing::run({op.line, fault, call, "operator" + op.symbol + ": " + fact}, __FILE__);
}

}  // namespace

TEST_CASE("tensors that clash, with every operator", "[k]") {
  for (const Operator& op : kOperators) {
    for (const TensorClash& clash : tensor_clashes()) {
      check(op, clash.fault, [&] { op.tensors(clash.x, clash.y); }, clash.fact);
    }
  }
}

TEST_CASE("numbers that clash, on both sides of every operator", "[k]") {
  for (const Operator& op : kOperators) {
    for (const NumberClash& clash : number_clashes()) {
      const std::string fact = clash.fact;
      check(op, clash.fault, [&] { op.right(clash.tensor, clash.number); }, "y " + fact);
      check(op, clash.fault, [&] { op.left(clash.number, clash.tensor); }, "x " + fact);
    }
    check(op, Fault::Value, [&] { op.right(Tensor(), 1); }, "x is an empty tensor");
    check(op, Fault::Value, [&] { op.left(1, Tensor()); }, "y is an empty tensor");
  }
}

TEST_CASE("arithmetic on bool is refused, comparison is not", "[k]") {
  const Tensor x = of({2}, "bool"), y = of({3, 1}, "bool");
  for (const Operator& op : kOperators) {
    if (!op.arithmetic) {
      CHECK(dtype(op.tensors(x, y)) == "bool");
      continue;
    }
    check(op, Fault::Type, [&] { op.tensors(x, y); },
          "x is bool, not a number (x bool[2], y bool[3,1])");
    check(op, Fault::Type, [&] { op.right(x, 1); },
          "x is bool, not a number (x bool[2], y bool[])");
    check(op, Fault::Type, [&] { op.left(0, x); },
          "x is bool, not a number (x bool[], y bool[2])");
  }
  unsigned line = __LINE__ + 1;
  const auto negated = [](const Tensor& x) { return -x; };
  testing::run({line, Fault::Type, [&] { negated(x); },
                "operator-: x is bool, not a number (x bool[2])"}, __FILE__);
  testing::run({line, Fault::Value, [&] { negated(Tensor()); },
                "operator-: x is an empty tensor"}, __FILE__);
}

}  // namespace kiln::test
