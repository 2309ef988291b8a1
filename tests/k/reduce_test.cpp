// Tests kiln/reduce.h: values. Means, variances and logarithms are from NumPy 2.4.
#include "tests/support/catch.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

const Array& x() {
  static const Array array = f32({2, 3}, {-2, -0.5, 0, 0.5, 1, 3});
  return array;
}
const Array& y() {
  static const Array array = f32({2, 3}, {1, 2, 3, -1, 0.5, 2});
  return array;
}
const Array& whole() {
  static const Array array = i32({2, 3}, {4, -1, 4, 0, 7, -9});
  return array;
}
const Array& nothing() {
  static const Array array = f32({2, 0}, {});
  return array;
}
Tensor slope(const Tensor& y, const Tensor& x) { return gradients(sum(y), {x})[0]; }

}  // namespace

std::vector<Row> reduce_rows() {
  return {
      {"max", {x()}, [](const Tensors& x) { return max(x[0]); }, f32({}, {3})},
      {"max axis", {x()}, [](const Tensors& x) { return max(x[0], {.axis = 0}); },
       f32({3}, {0.5, 1, 3})},
      {"max keepdims", {x()},
       [](const Tensors& x) { return max(x[0], {.axis = -1, .keepdims = true}); },
       f32({2, 1}, {0, 3})},
      {"max NaN", {f32({3}, {1, kNaN, 2})}, [](const Tensors& x) { return max(x[0]); },
       f32({}, {kNaN})},
      {"max over nothing", {nothing()}, [](const Tensors& x) { return max(x[0], {.axis = 1}); },
       f32({2}, {-kInf, -kInf})},
      {"max gradient at ties", {f32({2, 3}, {2, 2, 1, 5, 5, 5})},
       [](const Tensors& x) { return slope(max(x[0], {.axis = 1}), x[0]); },
       f32({2, 3}, {0.5, 0.5, 0, 1.0f / 3, 1.0f / 3, 1.0f / 3})},
      {"min", {whole()}, [](const Tensors& x) { return min(x[0], {.axis = {0, 1}}); },
       i32({}, {-9})},
      {"min axis", {x()}, [](const Tensors& x) { return min(x[0], {.axis = 1}); },
       f32({2}, {-2, 0.5})},
      {"min gradient at ties", {f32({3}, {1, 1, 2})},
       [](const Tensors& x) { return slope(min(x[0]), x[0]); }, f32({3}, {0.5, 0.5, 0})},
      {"sum", {x()}, [](const Tensors& x) { return sum(x[0]); }, f32({}, {2})},
      {"sum axes", {x()}, [](const Tensors& x) { return sum(x[0], {.axis = {-1, 0}}); },
       f32({}, {2})},
      {"sum keepdims", {x()}, [](const Tensors& x) { return sum(x[0], {.keepdims = true}); },
       f32({1, 1}, {2})},
      {"sum int32", {whole()}, [](const Tensors& x) { return sum(x[0], {.axis = 1}); },
       i32({2}, {7, -2})},
      {"sum over no axes", {x()},
       [](const Tensors& x) { return sum(x[0], {.axis = std::vector<std::int64_t>()}); }, x()},
      // Added one after the other, float32 would be off by 0.2 %.
      {"sum of many rows", {Array::full({200000, 3}, 0.1)},
       [](const Tensors& x) { return sum(x[0], {.axis = 0}); }, f32({3}, {20000, 20000, 20000}),
       2e-5},
      {"sum of many columns", {Array::full({3, 200000}, 0.1)},
       [](const Tensors& x) { return sum(x[0], {.axis = 1}); }, f32({3}, {20000, 20000, 20000}),
       2e-5},
      {"sum of many over axes apart", {Array::full({1000, 3, 200}, 0.1)},
       [](const Tensors& x) { return sum(x[0], {.axis = {0, 2}}); },
       f32({3}, {20000, 20000, 20000}), 2e-5},
      {"var of many rows", {Array::full({100000, 2}, 0.1)},
       [](const Tensors& x) {
         return var(concatenate({x[0], x[0] + 0.2}, {.axis = 0}), {.axis = 0});
       },
       f32({2}, {0.01f, 0.01f}), 1e-6},
      {"sum of a scalar", {f32({}, {5})}, [](const Tensors& x) { return sum(x[0]); },
       f32({}, {5})},
      {"prod", {y()}, [](const Tensors& x) { return prod(x[0], {.axis = 1}); },
       f32({2}, {6, -1})},
      {"prod list", {f32({}, {2}), f32({}, {3}), f32({}, {-4})},
       [](const Tensors& x) { return prod({x[0], x[1], x[2]}); }, f32({}, {-24})},
      {"prod list of one", {f32({}, {2})}, [](const Tensors& x) { return prod({x[0]}); },
       f32({}, {2})},
      {"prod list of vectors", {f32({2}, {2, 3}), f32({2}, {4, 5})},
       [](const Tensors& x) { return prod(x, {.axis = 0}); }, f32({2}, {8, 15})},
      {"prod gradient with zeros", {f32({2, 3}, {2, 0, 4, 0, 0, 3})},
       [](const Tensors& x) { return slope(prod(x[0], {.axis = 1}), x[0]); },
       f32({2, 3}, {0, 8, 0, 0, 0, 0})},
      {"mean", {x()}, [](const Tensors& x) { return mean(x[0], {.axis = 1}); },
       f32({2}, {-0.833333333, 1.5})},
      {"mean int32", {whole()}, [](const Tensors& x) { return mean(x[0]); },
       f32({}, {0.833333333})},
      {"mean bool", {bools({4}, {true, false, true, true})},
       [](const Tensors& x) { return mean(x[0]); }, f32({}, {0.75})},
      {"mean over nothing", {nothing()}, [](const Tensors& x) { return mean(x[0], {.axis = 1}); },
       f32({2}, {kNaN, kNaN})},
      {"mean float16", {f32({3}, {60000, 60000, 30000})},
       [](const Tensors& x) { return cast(mean(cast(x[0], "float16")), "float32"); },
       f32({}, {49984})},  // the float16 next to 50000; their sum is beyond its range
      {"var", {x()}, [](const Tensors& x) { return var(x[0]); }, f32({}, {2.30555556})},
      {"var axis", {x()}, [](const Tensors& x) { return var(x[0], {.axis = 0}); },
       f32({3}, {1.5625, 0.5625, 2.25})},
      {"var bool", {bools({2}, {true, false})}, [](const Tensors& x) { return var(x[0]); },
       f32({}, {0.25})},
      {"std", {x()}, [](const Tensors& x) { return std(x[0]); }, f32({}, {1.5184056})},
      {"std keepdims", {x()},
       [](const Tensors& x) { return std(x[0], {.axis = 1, .keepdims = true}); },
       f32({2, 1}, {0.849836586, 1.08012345})},
      {"std gradient at 0", {f32({3}, {2, 2, 2})},
       [](const Tensors& x) { return slope(std(x[0]), x[0]); }, f32({3}, {0, 0, 0})},
      {"any", {f32({2, 2}, {0, 0, 0, -3})}, [](const Tensors& x) { return any(x[0], {.axis = 1}); },
       bools({2}, {false, true})},
      {"any over nothing", {nothing()}, [](const Tensors& x) { return any(x[0]); },
       bools({}, {false})},
      {"all", {bools({2, 2}, {true, true, true, false})},
       [](const Tensors& x) { return all(x[0], {.axis = 0, .keepdims = true}); },
       bools({1, 2}, {true, false})},
      {"all of numbers", {whole()}, [](const Tensors& x) { return all(x[0], {.axis = 1}); },
       bools({2}, {true, false})},
      {"all over nothing", {nothing()}, [](const Tensors& x) { return all(x[0]); },
       bools({}, {true})},
      {"argmax first", {whole()}, [](const Tensors& x) { return argmax(x[0]); },
       i64({2}, {0, 1})},
      {"argmax axis", {x()}, [](const Tensors& x) { return argmax(x[0], {.axis = 0}); },
       i64({3}, {1, 1, 1})},
      {"argmin", {whole()}, [](const Tensors& x) { return argmin(x[0], {.axis = 1}); },
       i64({2}, {1, 2})},
      {"argmin of the lowest integer", {i32({3}, {0, -2147483647 - 1, 5})},
       [](const Tensors& x) { return argmin(x[0]); }, i64({}, {1})},
      {"argmin unsigned", {Array(std::vector<std::uint8_t>{3, 0, 255})},
       [](const Tensors& x) { return argmin(x[0]); }, i64({}, {1})},
      {"argmin bool", {bools({3}, {true, false, false})},
       [](const Tensors& x) { return argmin(x[0]); }, i64({}, {1})},
      {"argmin NaN", {f32({3}, {0, kNaN, -1})}, [](const Tensors& x) { return argmin(x[0]); },
       i64({}, {1})},
      {"sum over no axis", {x()}, [](const Tensors& x) { return sum(x[0], {.axis = {}}); }, x()},
      {"sum over all axes", {y()}, [](const Tensors& x) { return sum(x[0], {.axis = {None}}); },
       f32({}, {7.5})},
      {"cumsum", {x()}, [](const Tensors& x) { return cumsum(x[0]); },
       f32({2, 3}, {-2, -0.5, 0, -1.5, 0.5, 3})},
      {"cumsum axis", {x()}, [](const Tensors& x) { return cumsum(x[0], {.axis = -1}); },
       f32({2, 3}, {-2, -2.5, -2.5, 0.5, 1.5, 4.5})},
      {"cumprod", {y()}, [](const Tensors& x) { return cumprod(x[0], {.axis = 1}); },
       f32({2, 3}, {1, 2, 6, -1, -0.5, -1})},
      {"cumprod gradient with zeros", {f32({3}, {2, 0, 3})},
       [](const Tensors& x) { return slope(cumprod(x[0]), x[0]); }, f32({3}, {1, 8, 0})},
      {"logsumexp", {x()}, [](const Tensors& x) { return logsumexp(x[0], {.axis = 1}); },
       f32({2}, {0.55495692, 3.1967341})},
      {"logsumexp keepdims", {x()},
       [](const Tensors& x) { return logsumexp(x[0], {.keepdims = true}); },
       f32({1, 1}, {3.26554588})},
      {"logsumexp of large numbers", {f32({2}, {1e4, 1e-4})},
       [](const Tensors& x) { return logsumexp(x[0]); }, f32({}, {1e4})},
      {"logsumexp of infinities", {f32({3, 2}, {-kInf, -kInf, -kInf, 2, kInf, 1})},
       [](const Tensors& x) { return logsumexp(x[0], {.axis = 1}); }, f32({3}, {-kInf, 2, kInf})},
      {"logsumexp over nothing", {nothing()},
       [](const Tensors& x) { return logsumexp(x[0], {.axis = 1}); }, f32({2}, {-kInf, -kInf})},
      {"logsumexp gradient with -inf", {f32({2, 2}, {-kInf, -kInf, -kInf, 2})},
       [](const Tensors& x) { return slope(logsumexp(x[0], {.axis = 1}), x[0]); },
       f32({2, 2}, {0, 0, 0, 1})},
  };
}

TEST_CASE("reductions", "[k]") { run(reduce_rows()); }

}  // namespace kiln::test
