// Tests kiln/elementwise.h: values. Transcendental ones are from NumPy 2.4, those of erf from
// mpmath 1.3.
#include "tests/support/catch.h"
#include "tests/k/row.h"

#include <cmath>

namespace kiln::test {
namespace {

const Array& y() {
  static const Array array = f32({2, 3}, {1, 2, 3, -1, 0.5, 2});
  return array;
}

}  // namespace

std::vector<Row> elementwise_rows() {
  return {
      {"square",
       {mixed_signs()},
       [](const Tensors& x) { return square(x[0]); },
       f32({2, 3}, {4, 0.25, 0, 0.25, 1, 9})},
      {"square int32",
       {i32({2}, {-3, 4})},
       [](const Tensors& x) { return square(x[0]); },
       i32({2}, {9, 16})},
      {"abs",
       {mixed_signs()},
       [](const Tensors& x) { return abs(x[0]); },
       f32({2, 3}, {2, 0.5, 0, 0.5, 1, 3})},
      {"abs gradient at 0",
       {mixed_signs()},
       [](const Tensors& x) { return slope(abs(x[0]), x[0]); },
       f32({2, 3}, {-1, -1, 0, 1, 1, 1})},
      {"sqrt",
       {f32({6}, {4, 2.25, 0, -0.0f, -4, kNaN})},
       [](const Tensors& x) { return sqrt(x[0]); },
       f32({6}, {2, 1.5, 0, 0, 0, kNaN})},
      {"sqrt gradient",
       {f32({4}, {4, 0.25, 0, -4})},
       [](const Tensors& x) { return slope(sqrt(x[0]), x[0]); },
       f32({4}, {0.25, 1, 0, 0})},
      {"exp",
       {mixed_signs()},
       [](const Tensors& x) { return exp(x[0]); },
       f32({2, 3}, {0.135335283, 0.60653066, 1, 1.64872127, 2.71828183, 20.0855369})},
      {"log",
       {f32({5}, {1, 0.5, 10, 0, -1})},
       [](const Tensors& x) { return log(x[0]); },
       f32({5}, {0, -0.693147181, 2.30258509, -kInf, kNaN})},
      {"round half to even",
       {f32({6}, {0.5, 1.5, 2.5, -0.5, -1.5, 2.6})},
       [](const Tensors& x) { return round(x[0]); },
       f32({6}, {0, 2, 2, 0, -2, 3})},
      {"round int64",
       {i64({2}, {3, -4})},
       [](const Tensors& x) { return round(x[0]); },
       i64({2}, {3, -4})},
      {"sign",
       {f32({4}, {-2.5, 0, 3, kNaN})},
       [](const Tensors& x) { return sign(x[0]); },
       f32({4}, {-1, 0, 1, kNaN})},
      {"sin",
       {mixed_signs()},
       [](const Tensors& x) { return sin(x[0]); },
       f32({2, 3}, {-0.909297427, -0.479425539, 0, 0.479425539, 0.841470985, 0.141120008})},
      {"cos",
       {mixed_signs()},
       [](const Tensors& x) { return cos(x[0]); },
       f32({2, 3}, {-0.416146837, 0.877582562, 1, 0.877582562, 0.540302306, -0.989992497})},
      {"erf",
       {mixed_signs()},
       [](const Tensors& x) { return erf(x[0]); },
       f32({2, 3}, {-0.995322265, -0.520499878, 0, 0.520499878, 0.842700793, 0.99997791})},
      {"erf float64",
       {Array{0x1p-300, 0x1p-30, -0.125, 0.999, 2.5, -3.5, 5.875}},
       [](const Tensors& x) { return erf(x[0]); },
       Array{0x1.20dd750429b6dp-300, 0x1.20dd750429b6dp-30, -0x1.1f5e1a35c3b89p-3,
             0.84228527020649694, 0x1.ffcaa8f4c9beap-1, -0x1.ffffe710d565ep-1,
             0x1.fffffffffffffp-1},
       2e-16},
      {"erf of infinities and NaN",
       {f32({4}, {-kInf, kInf, kNaN, 1e-42f})},
       [](const Tensors& x) { return erf(x[0]); },
       f32({4}, {-1, 1, kNaN, 0})},
      {"erf gradient",
       {f32({2, 4}, {-2, -0.5, 0, 0.5, 1, 3, kInf, -1e30f})},
       [](const Tensors& x) { return slope(erf(x[0]), x[0]); },
       f32({2, 4}, {0.0206669854, 0.878782579, 1.12837917, 0.878782579, 0.415107497, 0.000139253052,
                    0, 0})},
      {"pow number",
       {mixed_signs()},
       [](const Tensors& x) { return pow(x[0], 3); },
       f32({2, 3}, {-8, -0.125, 0, 0.125, 1, 27})},
      {"pow of a number",
       {mixed_signs()},
       [](const Tensors& x) { return pow(2, x[0]); },
       f32({2, 3}, {0.25, 0.707106781, 1, 1.41421356, 2, 8})},
      {"pow int32",
       {i32({4}, {2, 3, -1, 0}), i32({4}, {-1, 2, -3, 0})},
       [](const Tensors& x) { return pow(x[0], x[1]); },
       i32({4}, {0, 9, -1, 1})},
      {"pow gradient at 0",
       {f32({3}, {0, 0, 2})},
       [](const Tensors& x) { return slope(pow(x[0], 2) + pow(x[0], 0), x[0]); },
       f32({3}, {0, 0, 4})},
      {"clip",
       {mixed_signs()},
       [](const Tensors& x) { return clip(x[0], -0.5, 1); },
       f32({2, 3}, {-0.5, -0.5, 0, 0.5, 1, 1})},
      {"clip None above",
       {mixed_signs()},
       [](const Tensors& x) { return clip(x[0], 0, None); },
       f32({2, 3}, {0, 0, 0, 0.5, 1, 3})},
      {"clip None below",
       {mixed_signs()},
       [](const Tensors& x) { return clip(x[0], None, 0); },
       f32({2, 3}, {-2, -0.5, 0, 0, 0, 0})},
      {"clip None",
       {mixed_signs()},
       [](const Tensors& x) { return clip(x[0], None, None); },
       mixed_signs()},
      {"clip tensors",
       {mixed_signs(), f32({3}, {-1, 0, 1}), f32({2, 1}, {2, 0.75})},
       [](const Tensors& x) { return clip(x[0], x[1], x[2]); },
       f32({2, 3}, {-1, 0, 1, 0.5, 0.75, 1})},
      {"clip max below min",
       {mixed_signs()},
       [](const Tensors& x) { return clip(x[0], 2, 1); },
       f32({2, 3}, {2, 2, 2, 2, 2, 2})},
      {"clip int32",
       {i32({3}, {-5, 2, 9})},
       [](const Tensors& x) { return clip(x[0], 0, 5); },
       i32({3}, {0, 2, 5})},
      {"clip gradient",
       {mixed_signs()},
       [](const Tensors& x) { return slope(clip(x[0], -0.5, 1), x[0]); },
       f32({2, 3}, {0, 1, 1, 1, 1, 0})},
      {"equal",
       {mixed_signs(), f32({3}, {0.5, -0.5, 0})},
       [](const Tensors& x) { return equal(x[0], x[1]); },
       bools({2, 3}, {false, true, true, true, false, false})},
      {"equal NaN",
       {f32({2}, {kNaN, -0.0f})},
       [](const Tensors& x) { return equal(x[0], 0); },
       bools({2}, {false, true})},
      {"not_equal",
       {f32({3}, {kNaN, 1, 2})},
       [](const Tensors& x) { return not_equal(x[0], 1); },
       bools({3}, {true, false, true})},
      {"greater",
       {mixed_signs()},
       [](const Tensors& x) { return greater(x[0], 0.5); },
       bools({2, 3}, {false, false, false, false, true, true})},
      {"logical_and",
       {bools({2, 2}, {true, true, false, false}), bools({2}, {true, false})},
       [](const Tensors& x) { return logical_and(x[0], x[1]); },
       bools({2, 2}, {true, false, false, false})},
      {"logical_and number",
       {bools({2}, {true, false})},
       [](const Tensors& x) { return logical_and(logical_and(1, x[0]), true); },
       bools({2}, {true, false})},
      {"logical_or",
       {bools({2, 2}, {true, true, false, false}), bools({2}, {true, false})},
       [](const Tensors& x) { return logical_or(x[0], x[1]); },
       bools({2, 2}, {true, true, true, false})},
      {"logical_xor",
       {bools({2, 2}, {true, true, false, false}), bools({2}, {true, false})},
       [](const Tensors& x) { return logical_xor(x[0], x[1]); },
       bools({2, 2}, {false, true, true, false})},
      {"logical_not",
       {bools({2}, {true, false})},
       [](const Tensors& x) { return logical_not(x[0]); },
       bools({2}, {false, true})},
      {"greater_equal",
       {mixed_signs()},
       [](const Tensors& x) { return greater_equal(x[0], 0.5); },
       bools({2, 3}, {false, false, false, true, true, true})},
      {"less",
       {mixed_signs(), f32({2, 1}, {0, 1})},
       [](const Tensors& x) { return less(x[0], x[1]); },
       bools({2, 3}, {true, true, false, true, false, false})},
      {"less_equal",
       {mixed_signs(), f32({2, 1}, {0, 1})},
       [](const Tensors& x) { return less_equal(x[0], x[1]); },
       bools({2, 3}, {true, true, true, true, true, false})},
      {"maximum",
       {mixed_signs(), y()},
       [](const Tensors& x) { return maximum(x[0], x[1]); },
       f32({2, 3}, {1, 2, 3, 0.5, 1, 3})},
      {"maximum NaN",
       {f32({2}, {kNaN, 1})},
       [](const Tensors& x) { return maximum(0, x[0]); },
       f32({2}, {kNaN, 1})},
      {"minimum",
       {mixed_signs(), y()},
       [](const Tensors& x) { return minimum(x[0], x[1]); },
       f32({2, 3}, {-2, -0.5, 0, -1, 0.5, 2})},
      {"maximum gradient at a tie",
       {f32({3}, {1, 2, 3}), f32({3}, {2, 2, 2})},
       [](const Tensors& x) { return slope(maximum(x[0], x[1]), x[0]); },
       f32({3}, {0, 1, 1})},
      {"minimum gradient at a tie",
       {f32({3}, {1, 2, 3}), f32({3}, {2, 2, 2})},
       [](const Tensors& x) { return slope(minimum(x[0], x[1]), x[1]); },
       f32({3}, {0, 0, 1})},
  };
}

TEST_CASE("elementwise functions", "[k]") { run(elementwise_rows()); }

TEST_CASE("round and sign: no gradient", "[k]") {
  const Tensor x = placeholder({.shape = {3}, .name = "x"});
  CHECK(gradients(sum(round(x)), {x})[0].empty());
  CHECK(gradients(sum(sign(x)), {x})[0].empty());
}

TEST_CASE("float64 functions: any constant operand with data", "[k]") {
  const std::vector<double> data{1.5, 0, -2, 0.25, 3, -0.5};
  const Tensor x = placeholder({.shape = {None}, .dtype = "float64"});
  const auto at = [](double number) { return constant(number, {.dtype = "float64"}); };
  for (const double number : {2., 4., 0.5, 10., -2., 1., 0., 1.5, -1., 3., 1. / 3, 1e9}) {
    INFO("constant " << number);
    const Function f = function({x}, {pow(at(number), x), pow(x, at(number)), sin(x * number)},
                                {.backend = tested_backend()});
    const std::vector<Array> y = f({Array(data)});
    for (std::size_t i = 0; i < data.size(); ++i) {
      const double expected[] = {std::pow(number, data[i]), std::pow(data[i], number),
                                 std::sin(data[i] * number)};
      for (std::size_t k = 0; k < 3; ++k) {
        const double got = y[k].as<double>()[i];
        const bool is_same = std::isnan(expected[k]) ? std::isnan(got) : got == Approx(expected[k]);
        INFO("result " << k << " of " << data[i] << " is " << got << ", not " << expected[k]);
        CHECK(is_same);
      }
    }
  }
}

}  // namespace kiln::test
