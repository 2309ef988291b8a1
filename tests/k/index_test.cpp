// Tests arange, one_hot, size and slice (kiln/shape_ops.h). Expected values are those of NumPy
// 2.4's function of that meaning (arange, eye[indices], basic indexing).
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using Catch::Matchers::StartsWith;
using testing::error_text;
using testing::throws;
using testing::Misuse;

}  // namespace

std::vector<Row> index_rows() {
  return {
      {"arange", {none({2})}, [](const Tensors&) { return arange(4); }, i32({4}, {0, 1, 2, 3})},
      {"arange negative stop",
       {none({2})},
       [](const Tensors&) { return arange(-3); },
       i32({0}, {})},
      {"arange start",
       {none({2})},
       [](const Tensors&) { return arange(-1, 2); },
       i32({3}, {-1, 0, 1})},
      {"arange down",
       {none({2})},
       [](const Tensors&) { return arange(5, 0, -2); },
       i32({3}, {5, 3, 1})},
      {"arange fractions",
       {none({2})},
       [](const Tensors&) { return arange(0.5, 2, 0.5, {.dtype = "float32"}); },
       f32({3}, {0.5, 1, 1.5})},
      {"arange down by fractions",
       {none({2})},
       [](const Tensors&) { return arange(1, 0, -0.25, {.dtype = "float64"}); },
       Array(std::vector<double>{1, 0.75, 0.5, 0.25})},
      {"arange of whole numbers in double",
       {none({2})},
       [](const Tensors&) { return arange(2.0, 5.0); },
       i32({3}, {2, 3, 4})},
      {"arange from where it ends",
       {none({2})},
       [](const Tensors&) { return arange(3, 3, {.dtype = "float32"}); },
       none({0})},
      {"arange the wrong way",
       {none({2})},
       [](const Tensors&) { return arange(0, 3, -1); },
       i32({0}, {})},
      {"arange beyond the whole numbers of double",
       {none({2})},
       [](const Tensors&) {
         return arange(9007199254740993, 9007199254740995, {.dtype = "int64"});
       },
       i64({2}, {9007199254740993, 9007199254740994})},
      {"arange of a constant",
       {none({2})},
       [](const Tensors&) { return arange(constant(Array(1), {.dtype = "int32"})); },
       i32({1}, {0})},
      {"arange between constants",
       {none({2})},
       [](const Tensors&) {
         return arange(constant(Array(-1), {.dtype = "int32"}),
                       constant(Array(2), {.dtype = "int64"}), {.dtype = "float32"});
       },
       f32({3}, {-1, 0, 1})},
      {"arange from a size to a number in double",
       {none({3, 2})},
       [](const Tensors& x) { return arange(shape(x[0])[1], 6.0); },
       i32({4}, {2, 3, 4, 5})},
      {"arange down from a size",
       {none({3, 2})},
       [](const Tensors& x) { return arange(shape(x[0])[0], -1, -2, {.dtype = "float32"}); },
       f32({2}, {3, 1})},
      {"arange from a size that is beyond the end",
       {none({3, 2})},
       [](const Tensors& x) { return arange(shape(x[0])[0], 2, {.dtype = "int64"}); },
       i64({0}, {})},
      {"arange up to a size",
       {none({3, 2})},
       [](const Tensors& x) { return arange(shape(x[0])[0], {.dtype = "int64"}); },
       i64({3}, {0, 1, 2})},
      {"arange from a size",
       {none({3, 2})},
       [](const Tensors& x) { return arange(shape(x[0])[1], 6, 2); },
       i32({2}, {2, 4})},
      {"one_hot",
       {i32({2, 2}, {0, 2, 1, 1})},
       [](const Tensors& x) { return one_hot(x[0], 3); },
       f32({2, 2, 3}, {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0})},
      {"one_hot outside",
       {i64({3}, {-1, 3, 2})},
       [](const Tensors& x) { return one_hot(x[0], 3); },
       f32({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 1})},
      {"one_hot of a scalar",
       {i32({}, {1})},
       [](const Tensors& x) { return one_hot(x[0], 3); },
       f32({3}, {0, 1, 0})},
      {"one_hot one class",
       {i64({1, 2}, {0, 1})},
       [](const Tensors& x) { return one_hot(x[0], 1); },
       f32({1, 2, 1}, {1, 0})},
      {"one_hot of nothing",
       {i32({0, 2}, {})},
       [](const Tensors& x) { return one_hot(x[0], 3); },
       none({0, 2, 3})},
      // int8 cannot hold 300, so that index 44 must not match class 300.
      {"one_hot more classes than a narrow dtype counts",
       {i32({2}, {44, -1})},
       [](const Tensors& x) { return sum(one_hot(cast(x[0], "int8"), 301), {.axis = -1}); },
       f32({2}, {1, 0})},
      {"one_hot no classes",
       {i32({2}, {0, 1})},
       [](const Tensors& x) { return one_hot(x[0], 0); },
       none({2, 0})},
      {"size", {m23()}, [](const Tensors& x) { return size(x[0]); }, i64({}, {6})},
      {"size of a scalar",
       {f32({}, {3})},
       [](const Tensors& x) { return size(x[0]); },
       i64({}, {1})},
      {"size of nothing",
       {none({0, 3})},
       [](const Tensors& x) { return size(x[0]); },
       i64({}, {0})},
      {"slice",
       {m23()},
       [](const Tensors& x) { return slice(x[0], {0, 1}, {2, 2}); },
       f32({2, 2}, {1, 2, 4, 5})},
      {"slice what is left",
       {m23()},
       [](const Tensors& x) { return slice(x[0], {1, 1}, {-1, -1}); },
       f32({1, 2}, {4, 5})},
      {"slice nothing",
       {m23()},
       [](const Tensors& x) { return slice(x[0], {2, 0}, {0, 3}); },
       none({0, 3})},
      {"slice nothing of nothing",
       {none({0, 3})},
       [](const Tensors& x) { return slice(x[0], {0, 3}, {-1, 0}); },
       none({0, 0})},
      {"slice one of one",
       {f32({1, 1}, {5})},
       [](const Tensors& x) { return slice(x[0], {0, 0}, {1, -1}); },
       f32({1, 1}, {5})},
      {"slice by constants",
       {m23()},
       [](const Tensors& x) {
         return slice(x[0], constant(i32({2}, {0, 1}), {.dtype = "int32"}),
                      constant(i64({2}, {-1, 1}), {.dtype = "int64"}));
       },
       f32({2, 1}, {1, 4})},
      {"slice integers",
       {Array{7, 8, 9}.astype(DType::UInt8)},
       [](const Tensors& x) { return slice(x[0], {1}, {1}); },
       Array{8}.astype(DType::UInt8)},
      {"slice a scalar",
       {f32({}, {3})},
       [](const Tensors& x) { return slice(x[0], {}, {}); },
       f32({}, {3})},
      {"slice by shapes",
       {counted({4}), none({3, 2})},
       [](const Tensors& x) { return slice(x[0], {1}, {shape(x[1])[1]}); },
       f32({2}, {1, 2})},
      {"slice by vectors",
       {counted({4, 3}), none({2, 2})},
       [](const Tensors& x) { return slice(x[0], shape(x[1]) - 1, shape(x[1])); },
       f32({2, 2}, {4, 5, 7, 8})},
      {"slice from a start that is data",
       {counted({5}), i32({}, {3})},
       [](const Tensors& x) { return slice(x[0], {x[1]}, {2}); },
       f32({2}, {3, 4})},
      {"slice from starts that are data",
       {counted({3, 3}), i64({2}, {1, 0})},
       [](const Tensors& x) { return slice(x[0], x[1], {2, 2}); },
       f32({2, 2}, {3, 4, 6, 7})},
      {"slice bools",
       {bools({3}, {true, false, true})},
       [](const Tensors& x) { return slice(x[0], {1}, {2}); },
       bools({2}, {false, true})},
      {"slice gradient",
       {m23()},
       [](const Tensors& x) { return slope(slice(x[0], {0, 1}, {2, 1}), x[0]); },
       f32({2, 3}, {0, 1, 0, 0, 1, 0})},
  };
}

namespace {

const SmoothRow kIndexGradients[] = {
    {"slice", {{3, 3}}, [](const Tensors& x) { return square(slice(x[0], {1, 0}, {2, -1})); }},
    {"slice from data",
     {{4}},
     [](const Tensors& x) {
       const Tensor at = cast(x[0][0] * 0, "int32");
       return square(slice(x[0], {at + 1}, {2}));
     }},
};

const std::vector<Misuse> kIndexErrors = {
    {throws<ValueError>(), [] { return arange(1, 5, 0); }, "arange: step is 0"},
    {throws<TypeError>(), [] { return arange(0, 2, 0.5); },
     "arange: step 0.5 is not a 64-bit integer, as dtype int32 requires"},
    {throws<TypeError>(), [] { return arange(0.5, 2, {.dtype = "int64"}); },
     "arange: start 0.5 is not a 64-bit integer, as dtype int64 requires"},
    {throws<TypeError>(), [] { return arange(1e300); },
     "arange: stop 1e+300 is not a 64-bit integer, as dtype int32 requires"},
    {throws<ValueError>(), [] { return arange(0, 1e300, {.dtype = "float32"}); },
     "arange: 0 to 1e+300 in steps of 1 are 2^63 elements or more"},
    {throws<ValueError>(), [] { return arange(kInf, {.dtype = "float32"}); },
     "arange: stop is inf"},
    {throws<ValueError>(), [] { return arange(kNaN, 3, {.dtype = "float32"}); },
     "arange: start is nan"},
    {throws<ValueError>(), [] { return arange(0, 3, kInf, {.dtype = "float32"}); },
     "arange: step is inf"},
    {throws<ValueError>(), [] { return arange(2147483646, 2147483649); },
     "arange: element 2147483648 is outside the range of int32"},
    {throws<ValueError>(), [] { return arange(-3000000000, 0, 1000000000); },
     "arange: element -3000000000 is outside the range of int32"},
    {throws<TypeError>(), [] { return arange(of({})); },
     "arange: stop does not fit dtype int32 (stop float32[])"},
    {throws<TypeError>(), [] { return arange(of({}, "bool"), {.dtype = "float32"}); },
     "arange: stop does not fit dtype float32 (stop bool[])"},
    {throws<TypeError>(), [] { return arange(0.5, of({}, "int32")); },
     "arange: start 0.5 is not a 64-bit integer, as dtype int32 requires"},
    {throws<ValueError>(), [] { return arange(of({2}, "int32"), 3); },
     "arange: start is not a scalar (start int32[2])"},
    {throws<TypeError>(), [] { return arange(shape(of({None}))[0], 2.5, {.dtype = "float32"}); },
     "arange: stop 2.5 is not a 64-bit integer, as an unknown size requires"},
    {throws<TypeError>(), [] { return arange(3, {.dtype = "float16"}); },
     "arange: dtype float16 is not one of int32, int64, float32, float64"},
    {throws<TypeError>(), [] { return arange(3, {.dtype = "integer"}); },
     "arange: dtype 'integer' is not known"},
    {throws<TypeError>(), [] { return arange(3, {.dtype = "int8"}); },
     "arange: dtype int8 is not one of int32, int64, float32, float64"},
    {throws<TypeError>(), [] { return one_hot(of({2}), 3); },
     "one_hot: indices are not integers (indices float32[2])"},
    {throws<ValueError>(), [] { return one_hot(of({2}, "int32"), -1); },
     "one_hot: num_classes is -1"},
    {throws<TypeError>(), [] { return one_hot(of({2}, "bool"), 3); },
     "one_hot: indices are not integers (indices bool[2])"},
    {throws<TypeError>(), [] { return one_hot(1.5, 3); },
     "one_hot: indices 1.5 is floating point but the dtype is int64: write an integer"},
    {throws<ValueError>(), [] { return slice(of({2, 3}), {0}, {1, 1}); },
     "slice: start has 1 entries for the 2 axes of x (x float32[2,3])"},
    {throws<ValueError>(), [] { return slice(of({2, 3}), {0, 0}, of({3}, "int32")); },
     "slice: size has 3 entries for the 2 axes of x (x float32[2,3])"},
    {throws<ValueError>(), [] { return slice(of({2}), {None}, {1}); }, "slice: start holds None"},
    {throws<ValueError>(), [] { return slice(of({2}), {1}, {2}); },
     "slice: start 1 and size 2 are outside of axis 0 (x float32[2])"},
    {throws<ValueError>(), [] { return slice(of({2}), {0}, {-2}); },
     "slice: start 0 and size -2 are outside of axis 0 (x float32[2])"},
    {throws<ValueError>(), [] { return slice(of({2}), {3}, {-1}); },
     "slice: start 3 and size -1 are outside of axis 0 (x float32[2])"},
    {throws<ValueError>(), [] { return slice(of({2}), {}, {}); },
     "slice: start has 0 entries for the 1 axes of x (x float32[2])"},
    {throws<ValueError>(), [] { return slice(of({2, 2}), {0, 0}, {1}); },
     "slice: size has 1 entries for the 2 axes of x (x float32[2,2])"},
    {throws<ValueError>(), [] { return slice(of({2}), {0}, {None}); }, "slice: size holds None"},
    {throws<ValueError>(), [] { return slice(of({4}), {1}, {std::int64_t{1} << 62}); },
     "slice: start 1 and size 4611686018427387904 are outside of axis 0 (x float32[4])"},
    {throws<ValueError>(), [] { return slice(of({2}), {-1}, {1}); },
     "slice: start -1 and size 1 are outside of axis 0 (x float32[2])"},
    {throws<ValueError>(), [] { return slice(of({2}), {0}, {of({})}); },
     "slice: size holds a tensor that is not an integer scalar (size float32[])"},
    {throws<ValueError>(), [] { return slice(of({2}), {of({2}, "int32")}, {1}); },
     "slice: start holds a tensor that is not an integer scalar (start int32[2])"},
    {throws<ValueError>(), [] { return slice(of({2}), of({}), {1}); },
     "slice: start is not an integer vector (start float32[])"},
};

}  // namespace

TEST_CASE("arange, one_hot, size and slice", "[k]") { run(index_rows()); }

TEST_CASE("slice: gradients", "[k]") {
  for (const SmoothRow& row : kIndexGradients) run(row);
}

TEST_CASE("arange, one_hot and slice: misuse", "[k]") { run(kIndexErrors); }

TEST_CASE("slice: unknown sizes are checked at the call", "[k]") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Tensor at = placeholder({.shape = {}, .dtype = "int32", .name = "at"});
  const auto compiled = [&](const Tensor& y) {
    return function({x, at}, {y}, {.backend = tested_backend()});
  };
  const Function sliced = compiled(slice(x, {1}, {2}));
  CHECK(sliced({counted({3}), Array(0)})[0] == f32({2}, {1, 2}));
  CHECK(error_text<ValueError>([&] { sliced({counted({2}), Array(0)}); }) ==
        "slice: slice 1:3 of axis 0 is outside of 0:x.0 (x float32[x.0]); in this call x.0 is 2");
  const Function moved = compiled(slice(x, {at}, {2}));
  CHECK(moved({counted({4}), Array(2)})[0] == f32({2}, {2, 3}));
  const auto error = [&](int start) {
    return error_text<ValueError>([&] { moved({counted({4}), Array(start)}); });
  };
  CHECK_THAT(error(3), StartsWith("function: index 4 is outside of an axis of size 4"));
  CHECK_THAT(error(-1), StartsWith("function: index -1 is outside of an axis of size 4"));
}

}  // namespace kiln::test
