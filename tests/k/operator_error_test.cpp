// Tests every operator with operands that clash: two tensors, or a number on either side.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/error_text.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::ExpectedError;
using testing::throws;
using testing::throws_at;

struct Operator {
  std::string symbol;
  unsigned line;  // of the expression
  bool arithmetic;
  Tensor (*tensors)(const Tensor& x, const Tensor& y);
  Tensor (*right)(const Tensor& x, const double& y);
  Tensor (*left)(const double& x, const Tensor& y);
  Tensor (*right_integer)(const Tensor& x, const int& y);
  Tensor (*left_integer)(const int& x, const Tensor& y);
};

template <class Apply>
Operator operator_of(const char* symbol, unsigned line, bool arithmetic, Apply apply) {
  return {symbol, line, arithmetic, apply, apply, apply, apply, apply};
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

struct TensorClash {
  ExpectedError error;
  Tensor x, y;
  const char* message;
};

std::vector<TensorClash> tensor_clashes() {
  return {
      {throws<ValueError>(), of({2, 3}), of({4}),
       "shapes do not broadcast: sizes 3 and 4 of axis -1 (x float32[2,3], y float32[4])"},
      {throws<ValueError>(), of({5, 3}), of({4, 3}),
       "shapes do not broadcast: sizes 5 and 4 of axis -2 (x float32[5,3], y float32[4,3])"},
      {throws<ValueError>(), of({2, 3}), of({2, 3, 4}),
       "shapes do not broadcast: sizes 2 and 3 of axis -2 (x float32[2,3], y float32[2,3,4])"},
      {throws<TypeError>(), of({2}), of({2}, "int32"),
       "x has dtype float32 but y has dtype int32 (x float32[2], y int32[2])"},
      {throws<TypeError>(), of({}, "bool"), of({2}, "uint8"),
       "x has dtype bool but y has dtype uint8 (x bool[], y uint8[2])"},
      {throws<TypeError>(), of({2}, "float16"), of({2}, "bfloat16"),
       "x has dtype float16 but y has dtype bfloat16 (x float16[2], y bfloat16[2])"},
      {throws<ValueError>(), Tensor(), of({2}), "x is an empty tensor"},
      {throws<ValueError>(), of({2}), Tensor(), "y is an empty tensor"},
  };
}

/// A number with a tensor: the message begins with the side of the number.
struct IntegerClash {
  ExpectedError error;
  Tensor tensor;
  int number;
  const char* message;
};

std::vector<IntegerClash> integer_clashes() {
  return {
      {throws<ValueError>(), of({2}, "int8"), 128, "128 is outside the range of int8"},
      {throws<ValueError>(), of({2}, "uint16"), -1, "-1 is outside the range of uint16"},
      {throws<TypeError>(), of({2}, "bool"), 2, "2 is not 0 or 1, as dtype bool requires"},
  };
}

void check(const Operator& op, ExpectedError error, const std::function<void()>& call,
           const std::string& message) {
  error.where.line = op.line;
  testing::run({error, call, "operator" + op.symbol + ": " + message});
}

}  // namespace

TEST_CASE("operators: tensors of clashing shapes or dtypes", "[k]") {
  for (const Operator& op : kOperators) {
    for (const TensorClash& clash : tensor_clashes()) {
      check(op, clash.error, [&] { op.tensors(clash.x, clash.y); }, clash.message);
    }
  }
}

TEST_CASE("operators: numbers that do not fit the tensor, on both sides", "[k]") {
  for (const Operator& op : kOperators) {
    for (const IntegerClash& clash : integer_clashes()) {
      const std::string message = clash.message;
      check(op, clash.error, [&] { op.right_integer(clash.tensor, clash.number); }, "y " + message);
      check(op, clash.error, [&] { op.left_integer(clash.number, clash.tensor); }, "x " + message);
    }
    check(op, throws<ValueError>(), [&] { op.right(Tensor(), 1); }, "x is an empty tensor");
    check(op, throws<ValueError>(), [&] { op.left(1, Tensor()); }, "y is an empty tensor");
  }
}

TEST_CASE("operators: a floating-point number beside integers or bool, even a whole one", "[k]") {
  const std::pair<double, const char*> numbers[] = {{0.5, "0.5"}, {2.0, "2"},    {255.0, "255"},
                                                    {-0.0, "-0"}, {kNaN, "nan"}, {-kInf, "-inf"}};
  for (const Operator& op : kOperators) {
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (is_float(dtype)) continue;
      const Tensor tensor = of({2}, dtype_name(dtype).data());
      const auto message = [&](const char* number, const char* other) {
        return std::string(" ") + number + " is floating point but the dtype is " +
               std::string(dtype_name(dtype)) + ": write cast(" + other +
               ", \"float32\") or an integer";
      };
      const auto& [number, shown] = numbers[static_cast<std::size_t>(i) % std::size(numbers)];
      check(op, throws<TypeError>(), [&] { op.right(tensor, number); }, "y" + message(shown, "x"));
      check(op, throws<TypeError>(), [&] { op.left(number, tensor); }, "x" + message(shown, "y"));
    }
  }
}

TEST_CASE("functions of two operands: a floating-point number beside integers", "[k]") {
  const Tensor n = of({2}, "int32");
  const Variable v = variable(Array{1, 2}, {.dtype = "int32"});
  const std::pair<const char*, std::function<void()>> rows[] = {
      {"pow", [&] { pow(n, 2.0); }},
      {"clip", [&] { clip(n, 0, 2.0); }},
      {"clip", [&] { clip(n, 0.0, None); }},
      {"equal", [&] { equal(n, 2.0); }},
      {"not_equal", [&] { not_equal(2.0, n); }},
      {"greater", [&] { greater(n, 2.0); }},
      {"greater_equal", [&] { greater_equal(n, 2.0); }},
      {"less", [&] { less(n, 2.0); }},
      {"less_equal", [&] { less_equal(n, 2.0); }},
      {"maximum", [&] { maximum(2.0, n); }},
      {"minimum", [&] { minimum(n, 2.0f); }},
      {"dot", [&] { dot(n, 2.0); }},
      {"bias_add", [&] { bias_add(of({2, 2}, "int32"), 2.0); }},
      {"switch", [&] { switch_(n > 0, n, 2.0); }},
      {"in_train_phase", [&] { in_train_phase(n, 2.0); }},
      {"update", [&] { update(v, 2.0); }},
      {"update_add", [&] { update_add(v, 2.0); }},
      {"update_sub", [&] { update_sub(v, 2.0); }},
      {"moving_average_update", [&] { moving_average_update(v, 1, 0.0); }},
  };
  for (const auto& [name, call] : rows) {
    const std::string message = testing::error_text<TypeError>(call);
    INFO(name << " gives: " << message);
    CHECK(message.starts_with(std::string(name) + ": "));
    CHECK(message.find(" is floating point but the dtype is int32: write ") != message.npos);
  }
}

TEST_CASE("operators: arithmetic on bool is rejected, comparison is not", "[k]") {
  const Tensor x = of({2}, "bool"), y = of({3, 1}, "bool");
  for (const Operator& op : kOperators) {
    if (!op.arithmetic) {
      CHECK(dtype(op.tensors(x, y)) == "bool");
      continue;
    }
    check(
        op, throws<TypeError>(), [&] { op.tensors(x, y); },
        "x is bool, not a number (x bool[2], y bool[3,1])");
    check(
        op, throws<TypeError>(), [&] { op.right_integer(x, 1); },
        "x is bool, not a number (x bool[2], y bool[])");
    check(
        op, throws<TypeError>(), [&] { op.left_integer(0, x); },
        "x is bool, not a number (x bool[], y bool[2])");
  }
  unsigned line = __LINE__ + 1;
  const auto negated = [](const Tensor& x) { return -x; };
  testing::run({throws_at<TypeError>(line), [&] { negated(x); },
                "operator-: x is bool, not a number (x bool[2])"});
  testing::run(
      {throws_at<ValueError>(line), [&] { negated(Tensor()); }, "operator-: x is an empty tensor"});
}

}  // namespace kiln::test
