// Tests rows that are shorter than a vector, such as pixels of three channels, and elements at
// small distances: values on the backend of the run against `reference`.
#include "core/types/text.h"
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <cmath>
#include <functional>

using namespace kiln;

namespace {

struct Row {
  const char* name;
  bool is_exact;
  /// x (n, c), of one dtype; b (c); r (n, 1); planes (c, n).
  std::function<Tensor(const Tensor& x, const Tensor& b, const Tensor& r, const Tensor& planes)> y;
};

const Row kRows[] = {
    {"a value per column", true, [](auto& x, auto& b, auto&, auto&) { return x + b; }},
    {"a value per row", true, [](auto& x, auto&, auto& r, auto&) { return x * r; }},
    {"both", true, [](auto& x, auto& b, auto& r, auto&) { return maximum(x * r, b) - r; }},
    {"columns alone", true, [](auto& x, auto& b, auto&, auto&) { return b + zeros_like(x); }},
    {"planes to pixels", true,
     [](auto& x, auto& b, auto&, auto& planes) {
       return permute_dimensions(planes, {1, 0}) * b + x;
     }},
    {"pixels to planes", true,
     [](auto& x, auto&, auto& r, auto& planes) {
       return permute_dimensions(x * r, {1, 0}) + planes;
     }},
    {"columns backwards", true, [](auto& x, auto& b, auto&, auto&) { return reverse(x, 1) + b; }},
    {"rows backwards", true, [](auto& x, auto& b, auto&, auto&) { return reverse(x, 0) * b; }},
    {"the first columns", true,
     [](auto& x, auto&, auto& r, auto&) { return slice(x, {0, 0}, {-1, 1}) + r; }},
    {"every second element", true,
     [](auto& x, auto&, auto& r, auto&) {
       return slice(reshape(concatenate({x, x}, {.axis = 1}), {-1, 2}), {0, 1}, {-1, 1}) +
              sum(r) * 0;
     }},
    {"sums of rows", false, [](auto& x, auto&, auto&, auto&) { return sum(x, {.axis = 1}); }},
    {"the largest of rows", true,
     [](auto& x, auto&, auto&, auto&) { return max(x, {.axis = 1, .keepdims = true}) + x; }},
    {"sums of columns", false, [](auto& x, auto&, auto&, auto&) { return sum(x, {.axis = 0}); }},
    {"running sums of rows", false,
     [](auto& x, auto&, auto&, auto&) { return cumsum(x, {.axis = 1}); }},
};

/// Small multiples of 1/4, which every dtype has but those of integers, that truncate them.
Array drawn(std::vector<std::int64_t> dims, const std::string& dtype, int seed) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = 0.25f * static_cast<float>((i * 37 + static_cast<std::size_t>(seed)) % 29);
  }
  const Tensor x = placeholder({.shape = std::vector<ShapeEntry>(dims.size(), None)});
  return function({x}, {cast(x, dtype)}, {.backend = "reference"})({Array(values, dims)})[0];
}

double at(const Array& floats, std::int64_t i) {
  return static_cast<double>(floats.as<float>()[static_cast<std::size_t>(i)]);
}

void check_columns(const Row& row, std::int64_t columns, const std::string& dtype) {
  const Tensor x = placeholder({.shape = {None, columns}, .dtype = dtype});
  const Tensor b = placeholder({.shape = {columns}, .dtype = dtype});
  const Tensor r = placeholder({.shape = {None, 1}, .dtype = dtype});
  const Tensor planes = placeholder({.shape = {columns, None}, .dtype = dtype});
  const Tensor y = cast(row.y(x, b, r, planes), "float32");
  const std::vector<Tensor> inputs{x, b, r, planes};
  const Function fast = function(inputs, {y}),
                 plain = function(inputs, {y}, {.backend = "reference"});
  for (const std::int64_t n : {1, 3, 16, 17, 31, 300}) {
    INFO(row.name << " of " << n << " x " << columns << " " << dtype);
    const std::vector<Array> fed{drawn({n, columns}, dtype, 1), drawn({columns}, dtype, 2),
                                 drawn({n, 1}, dtype, 3), drawn({columns, n}, dtype, 4)};
    const Array got = fast(fed)[0], want = plain(fed)[0];
    REQUIRE(got.dims() == want.dims());
    for (std::int64_t i = 0; i < got.size(); ++i) {
      // A half may keep bits that the graph as written rounds away.
      const double error = dtype.ends_with("float16") ? 0.01 : row.is_exact ? 0 : 1e-5;
      const double margin = error * std::abs(at(want, i));
      REQUIRE(std::abs(at(got, i) - at(want, i)) <= margin);
    }
  }
}

}  // namespace

TEST_CASE("short rows: values of every dtype and length") {
  for (const Row& row : kRows) {
    for (std::int64_t columns = 2; columns <= 9; ++columns) check_columns(row, columns, "float32");
    for (const char* dtype : {"float64", "float16", "bfloat16", "int32", "uint8", "int64"}) {
      check_columns(row, 3, dtype);
    }
  }
}

TEST_CASE("short rows: a large image in parts of several threads") {
  const Tensor x = placeholder({.shape = {None, None, 3}, .dtype = "uint8"});
  const Tensor mean = constant({0.1f, 0.2f, 0.3f});
  const Tensor y = permute_dimensions(cast(x, "float32") / 255 - mean, {2, 0, 1});
  const Tensor z = (cast(x, "float32") / 255 - mean) / constant({2.f, 4.f, 8.f});
  const Function fast = function({x}, {y, z});
  const Function plain = function({x}, {y, z}, {.backend = "reference"});
  const Array image = drawn({301, 513, 3}, "uint8", 5);
  const std::vector<Array> got = fast({image}), want = plain({image});
  for (std::size_t i = 0; i < got.size(); ++i) {
    for (std::int64_t k = 0; k < got[i].size(); ++k) REQUIRE(at(got[i], k) == at(want[i], k));
  }
}
