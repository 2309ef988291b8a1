// Tests data-dependent shapes: fed, or computed from feeds. Such a function runs in partitions.
#include "core/ir/intern.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using Catch::Matchers::StartsWith;
using testing::error_text;
using testing::throws_at;

/// Expected values are NumPy's.
const Row kDataSizeRows[] = {
    {"reshape", {m23(), i32({2}, {3, 2})}, [](const Tensors& x) { return reshape(x[0], x[1]); },
     f32({3, 2}, {0, 1, 2, 3, 4, 5})},
    {"reshape what is left", {m23(), i64({2}, {-1, 2})},
     [](const Tensors& x) { return reshape(x[0], x[1]); }, f32({3, 2}, {0, 1, 2, 3, 4, 5})},
    {"reshape one entry", {m23(), i32({}, {6})},
     [](const Tensors& x) { return reshape(x[0], {x[1], 1}); }, f32({6, 1}, {0, 1, 2, 3, 4, 5})},
    {"reshape one entry and what is left", {m23(), i32({}, {3})},
     [](const Tensors& x) { return reshape(x[0], {x[1], -1}); },
     f32({3, 2}, {0, 1, 2, 3, 4, 5})},
    {"reshape one entry that is left", {m23(), i32({}, {-1})},
     [](const Tensors& x) { return reshape(x[0], {1, x[1]}); }, f32({1, 6}, {0, 1, 2, 3, 4, 5})},
    {"reshape nothing", {Array::zeros({0, 3}), i32({2}, {7, 0})},
     [](const Tensors& x) { return reshape(x[0], x[1]); }, Array::zeros({7, 0})},
    {"reshape to a scalar", {f32({1}, {5}), i32({0}, {})},
     [](const Tensors& x) { return reshape(x[0], x[1]); }, f32({}, {5})},
    {"slice sizes", {m23(), i32({2}, {2, 1})},
     [](const Tensors& x) { return slice(x[0], {0, 1}, x[1]); }, f32({2, 1}, {1, 4})},
    {"slice starts and sizes", {m23(), i32({2}, {1, 1}), i32({2}, {1, 2})},
     [](const Tensors& x) { return slice(x[0], x[1], x[2]); }, f32({1, 2}, {4, 5})},
    {"slice what is left, as data", {m23(), i64({2}, {-1, -1})},
     [](const Tensors& x) { return slice(x[0], {1, 1}, x[1]); }, f32({1, 2}, {4, 5})},
    {"slice what is left of a start", {m23(), i32({}, {1})},
     [](const Tensors& x) { return slice(x[0], {0, x[1]}, {2, -1}); },
     f32({2, 2}, {1, 2, 4, 5})},
    {"slice nothing", {m23(), i32({}, {3}), i32({}, {0})},
     [](const Tensors& x) { return slice(x[0], {0, x[1]}, {-1, x[2]}); }, Array::zeros({2, 0})},
    {"slice integers", {i64({4}, {1, 2, 3, 4}), i32({}, {2})},
     [](const Tensors& x) { return slice(x[0], {1}, {x[1]}); }, i64({2}, {2, 3})},
    {"tile", {m23(), i32({2}, {2, 1})}, [](const Tensors& x) { return tile(x[0], x[1]); },
     f32({4, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5})},
    {"tile one entry", {m23(), i64({}, {2})},
     [](const Tensors& x) { return tile(x[0], {1, x[1]}); },
     f32({2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
    {"tile never", {m23(), i32({}, {0})}, [](const Tensors& x) { return tile(x[0], x[1]); },
     Array::zeros({2, 0})},
    {"arange", {i32({}, {3})}, [](const Tensors& x) { return arange(x[0]); }, i32({3}, {0, 1, 2})},
    {"arange below 0", {i32({}, {-3})}, [](const Tensors& x) { return arange(x[0]); },
     i32({0}, {})},
    {"arange steps", {i64({}, {8}), i32({}, {2})},
     [](const Tensors& x) { return arange(x[1], x[0], 3, {.dtype = "int64"}); },
     i64({2}, {2, 5})},
    {"arange down", {i64({}, {7}), i32({}, {2})},
     [](const Tensors& x) { return arange(x[0], x[1], -2); }, i32({3}, {7, 5, 3})},
    {"arange exactly to the end", {i32({}, {9})},
     [](const Tensors& x) { return arange(0, x[0], 3); }, i32({3}, {0, 3, 6})},
    {"arange in fractions", {f32({}, {2})},
     [](const Tensors& x) { return arange(0.5, x[0], 0.5, {.dtype = "float32"}); },
     f32({3}, {.5f, 1, 1.5f})},
    {"arange from a size to data", {m23(), i32({}, {5})},
     [](const Tensors& x) { return arange(shape(x[0])[1], x[1], {.dtype = "float32"}); },
     f32({2}, {3, 4})},
    {"zeros", {i32({2}, {1, 2})}, [](const Tensors& x) { return zeros(x[0]); },
     Array::zeros({1, 2})},
    {"ones", {i32({}, {2})},
     [](const Tensors& x) { return ones({2, x[0]}, {.dtype = "int32"}); },
     i32({2, 2}, {1, 1, 1, 1})},
    {"ones_like", {m23(), i32({}, {2})},
     [](const Tensors& x) { return ones_like(slice(x[0], {0, 0}, {1, x[1]})); },
     f32({1, 2}, {1, 1})},
    {"shape", {m23(), i32({}, {2})},
     [](const Tensors& x) { return shape(slice(x[0], {0, 0}, {1, x[1]})); }, i64({2}, {1, 2})},
    {"random_binomial", {i64({2}, {2, 1})},
     [](const Tensors& x) { return random_binomial(x[0], {.p = 1}); }, f32({2, 1}, {1, 1})},
    {"conv2d_transpose", {f32({1, 1, 3, 1}, {1, 2, 3}), i32({4}, {1, 1, 7, 1})},
     [](const Tensors& x) {
       const Tensor kernel = constant({1., 10., 100.}, {.shape = {1, 3, 1, 1}});
       return conv2d_transpose(x[0], kernel, x[1], {.strides = {1, 2}});
     },
     f32({1, 1, 7, 1}, {1, 10, 102, 20, 203, 30, 300})},
    {"a size of a size", {i32({3}, {2, 4, 1})},
     [](const Tensors& x) {
       const Tensor some = slice(x[0], {0}, {x[0][0]});  // 2, 4
       return arange(sum(some));
     },
     i32({6}, {0, 1, 2, 3, 4, 5})},
    {"two that are equal", {m23(), i32({}, {2}), i32({}, {2})},
     [](const Tensors& x) {
       return slice(x[0], {0, 0}, {1, x[1]}) + slice(x[0], {1, 1}, {1, x[2]});
     },
     f32({1, 2}, {4, 6})},
    {"steps", {m23(), i32({}, {2})},
     [](const Tensors& x) {
       const Tensor rows = slice(x[0], {0, 0}, {x[1], -1});
       return map_fn([](const Tensor& row) { return sum(row); }, rows);
     },
     f32({2}, {3, 12})},
    {"within a step", {m23(), i32({}, {2})},
     [](const Tensors& x) {
       const Tensor n = x[1];
       return map_fn([=](const Tensor& row) { return sum(slice(row, {0}, {n})); }, x[0]);
     },
     f32({2}, {1, 7})},
    {"within a branch", {m23(), i32({}, {2})},
     [](const Tensors& x) {
       const Tensor all = x[0], n = x[1];
       return switch_(greater(sum(all), 3.), [=] { return sum(slice(all, {0, 1}, {n, 1})); },
                      [=] { return sum(all); });
     },
     f32({}, {5})},
    {"sorted out", {f32({4}, {3, -1, 2, -5})},
     [](const Tensors& x) {
       const Tensor kept = cast(greater(x[0], 0.), "int32");
       return arange(sum(kept)) * 2;
     },
     i32({2}, {0, 2})},
    {"ctc_decode", {f32({1, 3, 3}, {.1f, .8f, .1f, .1f, .1f, .8f, .1f, .8f, .1f})},
     [](const Tensors& x) { return ones_like(ctc_decode(x[0], constant({3}, {.dtype = "int32"}))
                                                 .decoded[0]); },
     i64({1, 2}, {1, 1})},
};

Tensors placeholders(const Row& row, bool known) {
  Tensors x;
  for (const Array& input : row.inputs) {
    std::vector<ShapeEntry> shape;
    for (const std::int64_t size : input.dims()) {
      // A shape's number of entries is the rank of a result.
      const bool is_shape = input.dtype() == DType::Int32 || input.dtype() == DType::Int64;
      shape.push_back(known || is_shape || size == 1 ? ShapeEntry(size) : ShapeEntry(None));
    }
    x.push_back(placeholder({.shape = shape, .dtype = input.dtype()}));
  }
  return x;
}

Tensor rows_of(const Tensor& x) { return slice(x, {0, 0}, {cast(sum(x * 0) + 2, "int32"), -1}); }

const SmoothRow kDataSizeGradients[] = {
    {"slice", {{4, 3}}, [](const Tensors& x) { return sum(square(rows_of(x[0])), {.axis = 0}); }},
    {"reshape",
     {{4, 3}},
     [](const Tensors& x) {
       return sum(exp(reshape(x[0], {cast(sum(x[0] * 0) + 2, "int64"), -1})));
     }},
    {"slice from data",
     {{4, 3}},
     [](const Tensors& x) {
       const Tensor n = cast(sum(x[0] * 0) + 1, "int64");
       return sum(square(slice(x[0], {n, 0}, {n + 1, 2})), {.axis = 0});
     }},
    {"a loop",
     {{4, 3}},
     [](const Tensors& x) {
       return foldl([](const Tensor& a, const Tensor& b) { return a * b; }, rows_of(x[0]));
     }},
};

}  // namespace

TEST_CASE("data-dependent shapes: values", "[k]") {
  for (const Row& row : kDataSizeRows) {
    for (const bool known : {true, false}) {
      INFO("row: " << row.name << (known ? "" : ", unknown dims"));
      const Tensors x = placeholders(row, known);
      const Function f = function(x, {row.build(x)}, {.backend = tested_backend()});
      CHECK(difference(f(row.inputs)[0], row.expected, 1e-6) == "");
      CHECK(difference(f(row.inputs)[0], row.expected, 1e-6) == "");
    }
  }
}

TEST_CASE("data-dependent shapes: gradients", "[k]") {
  for (const SmoothRow& row : kDataSizeGradients) run(row);
}

TEST_CASE("data-dependent shapes: sizes change from call to call, with updates", "[k]") {
  const Tensor x = placeholder({.shape = {None, 2}});
  const Tensor n = placeholder({.ndim = 0, .dtype = "int32"});
  const Variable w = variable(Array{1.f, 2.f});
  const Tensor loss = sum(slice(x, {0, 0}, {n, -1}) * w);
  const Function f =
      function({x, n}, {loss, arange(n)},
               {.updates = {update_add(w, gradients(loss, {w})[0])}, .backend = tested_backend()});
  const Array all = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(f({all, Array(2)})[0].item<float>() == 16);
  CHECK(get_value(w) == Array{5.f, 8.f});
  CHECK(f({all, Array(0)})[1] == i32({0}, {}));
  CHECK(f({all, Array(3)})[1] == i32({3}, {0, 1, 2}));
  CHECK(get_value(w) == Array{14.f, 20.f});
  CHECK(f.stats().compiles == 2);
}

TEST_CASE("data-dependent shapes: eval takes sizes from variables", "[k]") {
  const Variable n = variable(3, {.dtype = "int32"});
  CHECK(eval(arange(n)) == i32({3}, {0, 1, 2}));
  CHECK(int_shape(arange(n)) == std::vector<std::optional<std::int64_t>>{{}});
  set_value(n, Array(1));
  CHECK(eval(ones({n, 2})) == f32({1, 2}, {1, 1}));
}

TEST_CASE("data-dependent shapes: a size is freed with its last reader", "[k]") {
  const Tensor n = placeholder({.ndim = 0, .dtype = "int32"});
  const std::size_t before = ir::live_node_count();
  {
    const Tensor x = ones({n, 2}), y = arange(n) + arange(n + 1);
    CHECK(ir::live_node_count() > before);
    CHECK(evaluate({n}, {x}, {Array(1)})[0] == f32({1, 2}, {1, 1}));
  }
  CHECK(ir::live_node_count() == before);
}

TEST_CASE("data-dependent shapes: sizes that do not fit are errors of the call", "[k]") {
  const Tensor x = placeholder({.shape = {None, None}, .name = "x"});
  const Tensor n = placeholder({.shape = {2}, .dtype = "int64", .name = "n"});
  const unsigned line = __LINE__ + 1;
  const std::vector<Tensor> results{reshape(x, n), slice(x, {1, 0}, n), zeros(n),
                                    arange(n[0], n[1])};
  const auto calling = [&](std::size_t i, std::vector<std::int64_t> sizes) {
    const Function f = function({x, n}, {results[i]}, {.backend = tested_backend()});
    f({m23(), Array(std::move(sizes))});
  };
  testing::run({
      {throws_at<ValueError>(line), [&] { calling(0, {4, 2}); },
       "reshape: cannot reshape 6 elements to [4,2]"},
      {throws_at<ValueError>(line), [&] { calling(0, {-1, 4}); },
       "reshape: cannot reshape 6 elements to [-1,4]"},
      {throws_at<ValueError>(line), [&] { calling(0, {-1, -1}); },
       "reshape: shape has more than one -1: [-1,-1]"},
      {throws_at<ValueError>(line), [&] { calling(0, {-1, 0}); },
       "reshape: a size of -1 is ambiguous if another size is 0: [-1,0]"},
      {throws_at<ValueError>(line), [&] { calling(0, {-2, -3}); }, "reshape: shape[0] is -2"},
      {throws_at<ValueError>(line), [&] { calling(0, {INT64_MAX, 4}); },
       "reshape: a dimension does not fit in 64 bits"},
      {throws_at<ValueError>(line), [&] { calling(1, {2, 1}); },
       "slice: size[0] is 2 and the start 1 but the axis has 2 elements"},
      {throws_at<ValueError>(line), [&] { calling(1, {1, -2}); },
       "slice: size[1] is -2 and the start 0 but the axis has 3 elements"},
      {throws_at<ValueError>(line), [&] { calling(2, {2, -1}); }, "zeros: shape[1] is -1"},
      {throws_at<ValueError>(line + 1), [&] { calling(3, {0, 1LL << 40}); },
       "arange: element 1099511627775 is outside the range of int32"},
  });
}

TEST_CASE("data-dependent shapes: none may depend on a loop or branch", "[k]") {
  const Tensor x = placeholder({.shape = {3}, .dtype = "int32", .name = "x"});
  const Tensor sums = map_fn([](const Tensor& n) { return sum(arange(n)); }, x);
  CHECK_THAT(error_text<ValueError>([&] { function({x}, {sums}); }),
             StartsWith("function: a size of arange depends on values inside a loop step or a "
                        "branch, which is not supported (made at "));
}

}  // namespace kiln::test
