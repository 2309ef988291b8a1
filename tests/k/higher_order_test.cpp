// Tests kiln/higher_order.h: map_fn, foldl, foldr. Expected values are by hand: f of each element,
// and the nested calls that the specification writes out.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;

const Array& one_to_six() {
  static const Array array = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  return array;
}
/// 10 a + e: not symmetric, so that results depend on the order of calls and of arguments.
Tensor digits(const Tensor& accumulated, const Tensor& element) {
  return 10 * accumulated + element;
}
Array wide(std::vector<std::int64_t> dims, std::vector<double> elements) {
  return Array(elements, std::move(dims));
}

}  // namespace

std::vector<Row> higher_order_rows() {
  return {
      {"map_fn",
       {one_to_six()},
       [](const Tensors& x) { return map_fn([](const Tensor& e) { return 2 * e; }, x[0]); },
       f32({3, 2}, {2, 4, 6, 8, 10, 12})},
      {"map_fn another rank",
       {one_to_six()},
       [](const Tensors& x) { return map_fn([](const Tensor& e) { return sum(e); }, x[0]); },
       f32({3}, {3, 7, 11})},
      {"map_fn a vector",
       {f32({3}, {1, 2, 3})},
       [](const Tensors& x) {
         return map_fn([](const Tensor& e) { return expand_dims(e) * constant(Array{1.f, 10.f}); },
                       x[0]);
       },
       f32({3, 2}, {1, 10, 2, 20, 3, 30})},
      {"map_fn captures",
       {one_to_six(), f32({2, 2}, {1, 0, 1, 1})},
       [](const Tensors& x) { return map_fn([&](const Tensor& e) { return dot(e, x[1]); }, x[0]); },
       f32({3, 2}, {3, 2, 7, 4, 11, 6})},
      {"map_fn another dtype",
       {one_to_six()},
       [](const Tensors& x) {
         return map_fn([](const Tensor& e) { return argmax(-e); }, x[0], {.dtype = "int64"});
       },
       i64({3}, {0, 0, 0})},
      {"map_fn an element that does not count",
       {one_to_six()},
       [](const Tensors& x) {
         return map_fn([](const Tensor&) { return constant(Array{7.f}); }, x[0]);
       },
       f32({3, 1}, {7, 7, 7})},
      {"map_fn over nothing",
       {f32({0, 2}, {})},
       [](const Tensors& x) { return map_fn([](const Tensor& e) { return sum(e); }, x[0]); },
       f32({0}, {})},
      {"map_fn one element",
       {f32({1, 2}, {3, 4})},
       [](const Tensors& x) { return map_fn([](const Tensor& e) { return e + 1; }, x[0]); },
       f32({1, 2}, {4, 5})},
      {"map_fn integers",
       {i32({3}, {1, 2, 3})},
       [](const Tensors& x) { return map_fn([](const Tensor& e) { return e * e; }, x[0]); },
       i32({3}, {1, 4, 9})},
      {"map_fn in map_fn",
       {one_to_six()},
       [](const Tensors& x) {
         const auto inner = [](const Tensor& e) { return e * e; };
         return map_fn([&](const Tensor& row) { return map_fn(inner, row) + sum(row); }, x[0]);
       },
       f32({3, 2}, {4, 7, 16, 23, 36, 47})},
      {"map_fn gradient",
       {one_to_six(), f32({2}, {3, 5})},
       [](const Tensors& x) {
         return slope(map_fn([&](const Tensor& e) { return e * e * x[1]; }, x[0]), x[1]);
       },
       f32({2}, {35, 56})},
      {"foldl",
       {f32({3}, {1, 2, 3})},
       [](const Tensors& x) { return foldl(digits, x[0]); },
       f32({}, {123})},
      {"foldl initializer",
       {f32({3}, {1, 2, 3})},
       [](const Tensors& x) { return foldl(digits, x[0], {.initializer = 4}); },
       f32({}, {4123})},
      {"foldl rows",
       {one_to_six()},
       [](const Tensors& x) { return foldl(digits, x[0]); },
       f32({2}, {135, 246})},
      {"foldl tensor of another shape",
       {one_to_six(), f32({}, {2})},
       [](const Tensors& x) {
         return foldl([](const Tensor& a, const Tensor& e) { return a * 10 + sum(e); }, x[0],
                      {.initializer = x[1]});
       },
       f32({}, {2000 + 300 + 70 + 11})},
      {"foldl single",
       {f32({1, 2}, {5, 6})},
       [](const Tensors& x) { return foldl(digits, x[0]); },
       f32({2}, {5, 6})},
      {"foldl over nothing",
       {f32({0, 2}, {}), f32({2}, {8, 9})},
       [](const Tensors& x) { return foldl(digits, x[0], {.initializer = x[1]}); },
       f32({2}, {8, 9})},
      {"foldl to another dtype",
       {f32({3}, {1, 2.5, 3}), i32({}, {4})},
       [](const Tensors& x) {
         return foldl([](const Tensor& a, const Tensor& e) { return a + cast(e, "int32"); }, x[0],
                      {.initializer = x[1]});
       },
       i32({}, {10})},
      {"foldl captures",
       {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {10, 1})},
       [](const Tensors& x) {
         return foldl([&](const Tensor& a, const Tensor& e) { return a * x[1] + e; }, x[0]);
       },
       f32({2}, {13, 6})},
      {"foldl of bools",
       {bools({3}, {true, false, true})},
       [](const Tensors& x) {
         return foldl([](const Tensor& a, const Tensor& e) { return not_equal(a, e); }, x[0]);
       },
       bools({}, {false})},
      {"foldl in map_fn",
       {one_to_six()},
       [](const Tensors& x) {
         return map_fn([](const Tensor& row) { return foldl(digits, row); }, x[0]);
       },
       f32({3}, {12, 34, 56})},
      {"foldl integers",
       {i32({4}, {1, 2, 3, 4})},
       [](const Tensors& x) { return foldl(digits, x[0]); },
       i32({}, {1234})},
      {"foldl gradient",
       {f32({3}, {2, 3, 5})},
       [](const Tensors& x) {
         return slope(foldl([](const Tensor& a, const Tensor& e) { return a * e; }, x[0]), x[0]);
       },
       f32({3}, {15, 10, 6})},
      {"foldr",
       {f32({3}, {1, 2, 3})},
       [](const Tensors& x) { return foldr(digits, x[0]); },
       f32({}, {321})},
      {"foldr initializer",
       {f32({3}, {1, 2, 3})},
       [](const Tensors& x) { return foldr(digits, x[0], {.initializer = 4}); },
       f32({}, {4321})},
      {"foldr rows",
       {one_to_six()},
       [](const Tensors& x) { return foldr(digits, x[0]); },
       f32({2}, {531, 642})},
      {"foldr integers",
       {Array{1, 2, 3}.astype(DType::Int16)},
       [](const Tensors& x) { return foldr(digits, x[0]); },
       Array(321).astype(DType::Int16)},
      {"foldr gradient",
       {f32({3}, {2, 3, 5})},
       [](const Tensors& x) { return slope(foldr(digits, x[0]), x[0]); },
       f32({3}, {1, 10, 100})},
      {"foldr single",
       {f32({1, 2}, {5, 6})},
       [](const Tensors& x) { return foldr(digits, x[0]); },
       f32({2}, {5, 6})},
      {"foldr over nothing",
       {wide({0}, {})},
       [](const Tensors& x) { return foldr(digits, x[0], {.initializer = 2.5}); },
       wide({}, {2.5})},
      {"foldr gradient to the initializer",
       {f32({3}, {2, 3, 5}), f32({}, {7})},
       [](const Tensors& x) {
         const auto times = [](const Tensor& a, const Tensor& e) { return a * e; };
         return slope(foldr(times, x[0], {.initializer = x[1]}), x[1]);
       },
       f32({}, {30})},
  };
}

namespace {

const SmoothRow kHigherOrderGradients[] = {
    {"map_fn",
     {{3, 2}, {2, 4}},
     [](const Tensors& x) {
       return map_fn([&](const Tensor& e) { return tanh(dot(e, x[1])); }, x[0]);
     }},
    {"map_fn another rank",
     {{3, 2}},
     [](const Tensors& x) { return map_fn([](const Tensor& e) { return prod(e); }, x[0]); }},
    {"map_fn one element",
     {{1, 2}},
     [](const Tensors& x) { return map_fn([](const Tensor& e) { return sin(e); }, x[0]); }},
    {"foldl",
     {{3, 2}, {2, 2}},
     [](const Tensors& x) {
       return foldl([&](const Tensor& a, const Tensor& e) { return tanh(dot(a, x[1]) + e); }, x[0]);
     }},
    {"foldl initializer",
     {{3, 2}, {2}},
     [](const Tensors& x) {
       return foldl([&](const Tensor& a, const Tensor& e) { return sin(a * e); }, x[0],
                    {.initializer = x[1]});
     }},
    {"foldr",
     {{4, 2}},
     [](const Tensors& x) {
       return foldr([&](const Tensor& a, const Tensor& e) { return a * sin(e) + square(a); }, x[0]);
     },
     -0.7,
     0.7},
};

Tensor same(const Tensor& e) { return e; }
Tensor first(const Tensor& a, const Tensor&) { return a; }

const std::vector<Misuse> kHigherOrderErrors = {
    {throws<ValueError>(), [] { return map_fn(same, of({}), {}); },
     "map_fn: elems is a scalar (elems float32[])"},
    {throws<ValueError>(), [] { return map_fn(same, Tensor(), {}); },
     "map_fn: elems is an empty tensor"},
    {throws<ValueError>(), [] { return map_fn({}, of({2}), {}); }, "map_fn: fn is empty"},
    {throws<ValueError>(), [] { return foldl({}, of({2}), {}); }, "foldl: fn is empty"},
    {throws<ValueError>(), [] { return foldr({}, of({2}), {}); }, "foldr: fn is empty"},
    {throws<ValueError>(), [] { return foldr(first, Tensor(), {}); },
     "foldr: elems is an empty tensor"},
    {throws<ValueError>(), [] { return foldl(first, of({2}), {.initializer = Tensor()}); },
     "foldl: initializer is an empty tensor"},
    {throws<TypeError>(1),
     [] { return map_fn([](const Tensor& e) { return cast(e, "float64"); }, of({2, 3}), {}); },
     "map_fn: fn returns float64[3] but dtype is float32, that of elems"},
    {throws<TypeError>(), [] { return map_fn(same, of({2, 3}), {.dtype = "int32"}); },
     "map_fn: fn returns float32[3] but dtype is int32"},
    {throws<TypeError>(), [] { return map_fn(same, of({2, 3}), {.dtype = "int"}); },
     "map_fn: dtype 'int' is not known"},
    {throws<ValueError>(1),
     [] { return map_fn([](const Tensor&) { return Tensor(); }, of({2}), {}); },
     "map_fn: fn is an empty tensor"},
    {throws<ValueError>(), [] { return foldl(first, of({0, 2}), {}); },
     "foldl: elems is empty and no initializer is given (elems float32[0,2])"},
    {throws<ValueError>(), [] { return foldr(first, of({0}), {}); },
     "foldr: elems is empty and no initializer is given (elems float32[0])"},
    {throws<ValueError>(), [] { return foldl(first, of({}), {}); },
     "foldl: elems is a scalar (elems float32[])"},
    {throws<ValueError>(1),
     [] { return foldr([](const Tensor& a, const Tensor&) { return sum(a); }, of({3, 2}), {}); },
     "foldr: fn returns float32[] but got float32[2] as the accumulated value"},
    {throws<ValueError>(2),
     [] {
       return foldl([](const Tensor& a, const Tensor&) { return cast(a, "int32"); }, of({3}), {});
     },
     "foldl: fn returns int32[] but got float32[] as the accumulated value"},
    {throws<TypeError>(), [] { return foldl(first, of({3}, "int32"), {.initializer = 0.5}); },
     "foldl: initializer 0.5 is floating point but the dtype is int32: write cast(elems, "
     "\"float32\") or an integer"},
};

}  // namespace

TEST_CASE("folds: an empty axis at the call is an error", "[k]") {
  const auto build = [](bool from_right) {
    const Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
    const auto add = [](const Tensor& a, const Tensor& b) { return a + b; };
    const Tensor all = from_right ? foldr(add, x) : foldl(add, x);
    return function({x}, {all}, {.backend = tested_backend()});
  };
  for (const bool from_right : {false, true}) {
    const Function f = build(from_right);
    CHECK(testing::error_text<ValueError>([&] { f({Array::zeros({0, 2})}); }) ==
          std::string(from_right ? "foldr" : "foldl") +
              ": axis 0 is empty (float32[x.0,2]); in this call x.0 is 0");
    CHECK(f({Array::full({1, 2}, 3)})[0] == Array{3.f, 3.f});
    CHECK(f({Array::full({4, 2}, 3)})[0] == Array{12.f, 12.f});
  }
}

TEST_CASE("map_fn, foldl and foldr", "[k]") { run(higher_order_rows()); }

TEST_CASE("map_fn, foldl and foldr: gradients", "[k]") {
  for (const SmoothRow& row : kHigherOrderGradients) run(row);
}

TEST_CASE("map_fn, foldl and foldr: misuse", "[k]") { run(kHigherOrderErrors); }

TEST_CASE("folds: an unknown number of elements must be positive at the call", "[k]") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  for (const Tensor& result : {foldl(digits, x), foldr(digits, x)}) {
    const Function f = function({x}, {result}, {.backend = tested_backend()});
    CHECK(f({Array{4.f}})[0].item<float>() == 4);
    CHECK_THROWS_AS(f({Array::zeros({0})}), ValueError);
  }
}

TEST_CASE("loop inputs: a value of sizes alone is written before kernels that read it", "[k]") {
  const Tensor x = placeholder({.shape = {None}, .dtype = "float32"});
  const auto add = [](const Tensor& a, const Tensor& e) { return a + e; };
  const Tensor twice = 2 * cast(shape(x)[0], "float32");
  const Tensor start = sum(x) * (twice + 1);
  const std::vector<Tensor> outputs{foldl(add, x, {.initializer = start}), twice,
                                    foldl(add, x, {.initializer = twice}), x * (twice + 3)};
  const Function f = function({x}, outputs, {.backend = tested_backend()});
  const std::vector<Array> y = f({Array{1.f, 2.f, 3.f}});
  CHECK(y[0] == Array(48.f));
  CHECK(y[1] == Array(6.f));
  CHECK(y[2] == Array(12.f));
  CHECK(y[3] == Array{9.f, 18.f, 27.f});
}

TEST_CASE("loop inputs: a value of constants alone is written before kernels that read it", "[k]") {
  const Tensor x = placeholder({.shape = {}, .dtype = "float64"}),
               u = placeholder({.shape = {1, 1}, .dtype = "float64"});
  const Tensor power = foldl([](const Tensor& a, const Tensor&) { return a * a; },
                             constant({0., 1.}, {.dtype = "float64"}), {.initializer = x});
  const Tensor slope = gradients(sum(x * x * u - power), {x})[0];
  const Tensor curvature = gradients(slope * 0.5, {x})[0];
  for (const bool optimize : {true, false}) {
    const Function f =
        function({x, u}, {slope, curvature}, {.backend = tested_backend(), .optimize = optimize});
    const std::vector<Array> y = f({Array(0.5), Array{{2.}}});
    CHECK(y[0] == Array(1.5));
    CHECK(y[1] == Array(0.5));
  }
}

TEST_CASE("loop inputs: a value of indices is written along the outer axes of a reduction", "[k]") {
  const Tensor x = placeholder({.shape = {3, 3}, .dtype = "float64"});
  const Tensor l = logsumexp(x, {.axis = 0, .keepdims = true});
  const Tensor rows = flatten(map_fn([](const Tensor& e) { return e; }, l));
  const Tensor slope = gradients(sum(rows * cast(arange(3), "float64")), {x})[0];
  for (const bool optimize : {true, false}) {
    const Function f =
        function({x}, {l, slope}, {.backend = tested_backend(), .optimize = optimize});
    const Array third = f({Array::zeros({3, 3}, DType::Float64)})[1];
    for (std::size_t i = 0; i < 9; ++i) {
      CHECK(third.as<double>()[i] == Approx(static_cast<double>(i % 3) / 3));
    }
  }
}

TEST_CASE("map_fn: draws differ from element to element and call to call", "[k]") {
  const Tensor x = placeholder({.shape = {None}});
  const Tensor y = map_fn([](const Tensor& e) { return e + random_uniform({}, {.seed = 3}); }, x);
  const Function f = function({x}, {y}, {.backend = tested_backend()});
  const Array a = f({Array::zeros({2})})[0], b = f({Array::zeros({2})})[0];
  CHECK(a.at<float>(0) != a.at<float>(1));
  CHECK(a.at<float>(0) != b.at<float>(0));
}

TEST_CASE("loops: results carry their names", "[k]") {
  const Tensor x = placeholder({.shape = {3}});
  CHECK(map_fn(same, x, {.name = "mapped"}).name() == "mapped");
  CHECK(foldl(first, x, {.name = "left"}).name() == "left");
  CHECK(foldr(first, x, {.name = "right"}).name() == "right");
}

}  // namespace kiln::test
