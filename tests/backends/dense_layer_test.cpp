// Tests relu(x w + b), with constant and with changing weights, against plain sums. A backend may
// pack the weight, and fuse bias and ReLU into the matmul.
#include "core/types/at.h"
#include "tests/backends/always_built.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace kiln;
using kiln::testing::contents_of, kiln::testing::Scratch;
using kiln::test::kBackends;

namespace {

struct Matrix {
  std::int64_t rows, columns;
  std::vector<float> values;

  Array array() const { return Array(values, {rows, columns}); }
};

Matrix drawn(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Matrix out{rows, columns, std::vector<float>(at(rows * columns))};
  for (float& value : out.values) value = uniform(generator);
  return out;
}

/// relu keeps NaN.
std::vector<double> layer(const Matrix& x, const Matrix& w, const std::vector<float>& b) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < w.columns; ++j) {
      double sum = static_cast<double>(b[at(j)]);
      for (std::int64_t d = 0; d < x.columns; ++d) {
        sum += static_cast<double>(x.values[at(i * x.columns + d)]) *
               static_cast<double>(w.values[at(d * w.columns + j)]);
      }
      out.push_back(sum <= 0 ? 0.0 : sum);
    }
  }
  return out;
}

void check(const Array& found, const std::vector<double>& want) {
  REQUIRE(at(found.size()) == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto got = static_cast<double>(found.as<float>()[i]);
    const bool same = std::isnan(want[i]) ? std::isnan(got) : std::abs(got - want[i]) < 2e-5;
    INFO("element " << i << ": " << got << ", not " << want[i]);
    CHECK(same);
  }
}

}  // namespace

TEST_CASE("dense layer: every size, with a weight that changes between calls") {
  const std::string before = backend();
  const std::int64_t sizes[][3] = {{1, 1, 1},  {0, 5, 7},  {4, 0, 20},   {3, 20, 0},
                                   {5, 9, 17}, {2, 40, 1}, {33, 70, 130}};
  for (const char* name : kBackends) {
    set_backend(name);
    for (const auto& [m, k, n] : sizes) {
      INFO(name << ": " << m << " x " << k << " x " << n);
      const Tensor x = placeholder({.shape = {None, k}, .name = "x"});
      Matrix weight = drawn(k, n, 2);
      const Variable w = variable(weight.array(), {.name = "w"});
      const Matrix bias = drawn(1, n, 3);
      const Variable b = variable(Array(bias.values, {n}), {.name = "b"});
      const Function f = function({x}, {relu(dot(x, w) + b)});
      const Matrix fed = drawn(m, k, 1);
      check(f({fed.array()})[0], layer(fed, weight, bias.values));
      check(f({fed.array()})[0], layer(fed, weight, bias.values));
      weight = drawn(k, n, 4);
      set_value(w, weight.array());
      check(f({fed.array()})[0], layer(fed, weight, bias.values));
    }
  }
  set_backend(before);
}

TEST_CASE("dense layer: 32,700 rows and their gradients, divided into parts of unequal size") {
  const std::string before = backend();
  // Compared with plain sums: `reference` would be slow.
  set_backend("cpu");
  constexpr std::int64_t kRows = 32700, kK = 20, kColumns = 64;  // the last part is smaller
  for (const bool transposed : {false, true}) {
    INFO("transposed: " << transposed);
    const Tensor x = placeholder({.shape = {None, kK}, .name = "x"});
    const Matrix weight = drawn(kK, kColumns, 2);
    Matrix held = weight;
    if (transposed) {
      held = {kColumns, kK, std::vector<float>(weight.values.size())};
      for (std::int64_t d = 0; d < kK; ++d) {
        for (std::int64_t j = 0; j < kColumns; ++j) {
          held.values[at(j * kK + d)] = weight.values[at(d * kColumns + j)];
        }
      }
    }
    const Tensor w = placeholder({.shape = {held.rows, held.columns}, .name = "w"});
    const Matrix bias = drawn(1, kColumns, 3);
    const Variable b = variable(Array(bias.values, {kColumns}), {.name = "b"});
    const Tensor sums = dot(x, transposed ? transpose(w) : w) + b;
    const Tensor y = relu(sums);
    const Function f = function({x, w}, {y, gradients(sum(sums), {w})[0]});
    Matrix fed = drawn(kRows, kK, 1);
    fed.values[5] = NAN;
    const std::vector<Array> found = f({fed.array(), held.array()});
    check(found[0], layer(fed, weight, bias.values));
    // The gradient of a weight is the sum of its column of x.
    for (std::int64_t d = 0; d < kK; ++d) {
      double want = 0;
      for (std::int64_t i = 0; i < kRows; ++i) {
        want += static_cast<double>(fed.values[at(i * kK + d)]);
      }
      const std::int64_t offset = transposed ? d : d * kColumns;
      const auto got = static_cast<double>(found[1].as<float>()[at(offset)]);
      INFO("slope " << d << ": " << got << ", not " << want);
      CHECK((std::isnan(want) ? std::isnan(got) : std::abs(got - want) < 2e-2));
    }
  }
  set_backend(before);
}

TEST_CASE("dense layer: a function reads the weight that another function wrote") {
  const std::string before = backend();
  for (const char* name : kBackends) {
    INFO(name);
    set_backend(name);
    const Tensor x = placeholder({.shape = {None, 24}, .name = "x"});
    Matrix weight = drawn(24, 40, 2);
    const Variable w = variable(weight.array(), {.name = "w"});
    const std::vector<float> none(40, 0.0f);
    const Function f = function({x}, {relu(dot(x, w))});
    const Function halve = function({}, {}, {.updates = {update(w, w * 0.5)}});
    const Matrix fed = drawn(6, 24, 1);
    for (int i = 0; i < 4; ++i) {
      check(f({fed.array()})[0], layer(fed, weight, none));
      halve({});
      for (float& value : weight.values) value *= 0.5f;
    }
  }
  set_backend(before);
}

TEST_CASE("dense layer: NaN and infinities propagate through relu") {
  const std::string before = backend();
  const float inf = std::numeric_limits<float>::infinity();
  for (const char* name : kBackends) {
    INFO(name);
    set_backend(name);
    const Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
    const Variable w = variable(Array({1.f, 1.f, -1.f, 1.f, 1.f, 1.f}, {2, 3}), {.name = "w"});
    const Variable b = variable(Array({0.f, NAN, -inf}, {3}), {.name = "b"});
    const Function f = function({x}, {relu(dot(x, w) + b)});
    const Matrix fed{3, 2, {inf, 1.f, NAN, 0.f, -3.f, -inf}};
    const Array y = f({fed.array()})[0];
    const float* v = y.as<float>().data();
    CHECK(v[0] == inf);
    CHECK(std::isnan(v[1]));
    CHECK(v[2] == 0);
    CHECK(std::isnan(v[3]));
    CHECK(std::isnan(v[5]));
    CHECK(v[6] == 0);
    CHECK(std::isnan(v[7]));
    CHECK(v[8] == 0);
  }
  set_backend(before);
}

TEST_CASE("dense layer: dumps name what the epilogue fuses, and the reason for the rest") {
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {64, 32}}), w = placeholder({.shape = {32, 16}}),
               b = placeholder({.shape = {16}});
  const Tensor sum = dot(x, w) + b;
  const struct {
    const char* name;
    Tensor y;
    const char* said;
  } rows[] = {
      {"relu", relu(sum), "with bias, with relu"},
      {"sigmoid", sigmoid(sum), "followed by a kernel for sigmoid: oneDNN's logistic is up to"},
      {"tanh", tanh(sum), "followed by a kernel for tanh: the native GEMM has no tanh"},
  };
  for (const auto& row : rows) {
    const Function compiled =
        function({x, w, b}, {row.y},
                 {.backend = "cpu", .dump = scratch.path(row.name), .dump_stages = Stage::Claims});
    const std::string claims = contents_of(scratch.path(std::string(row.name) + "/50-claims.txt"));
    INFO(claims);
    CHECK(claims.find(row.said) != std::string::npos);
  }
}

TEST_CASE("matmul: dumps name the implementation that computes each part") {
  const Scratch scratch;
  constexpr std::int64_t kSize = 520, kK = 1 << 14;  // the last part is smaller
  const Tensor x = placeholder({.shape = {kK, None}});
  const Tensor w = placeholder({.shape = {kK, None}});
  const Function f = function({x, w}, {dot(transpose(x), w)}, {.backend = "cpu"});
  const Array fed = Array::full({kK, kSize}, 0.5);
  const Array y = f({fed, fed})[0];
  for (const float sum : y.as<float>()) REQUIRE(sum == 0.25f * kK);
  f.dump(scratch.path("dump"), Stage::Claims);
  const std::string claims = contents_of(scratch.path("dump/50-claims-sizes_1.txt"));
  INFO(claims);
  CHECK(claims.find("7 matmuls in parallel: 6 by native GEMM") != std::string::npos);
  CHECK(claims.find("; 1 by oneDNN") != std::string::npos);
}

TEST_CASE("matmul: products of a matrix and a vector are divided by the bytes that they read") {
  const struct {
    const char* name;
    std::vector<std::int64_t> x, w;
    const char* said;
  } rows[] = {
      {"columns", {1, 512}, {512, 512}, "4 matmuls in parallel by native GEMM"},
      {"rows", {2048, 256}, {256, 1}, "8 matmuls in parallel by native GEMM"},
      {"near", {1, 128}, {128, 256}, "1 matmul by native GEMM"},
  };
  const Scratch scratch;
  for (const auto& row : rows) {
    INFO(row.name);
    const Tensor x = placeholder({.shape = row.x}), w = placeholder({.shape = row.w});
    const Function f = function({x, w}, {dot(x, w)}, {.backend = "cpu"});
    const std::vector<Array> fed{drawn(row.x[0], row.x[1], 1).array(),
                                 drawn(row.w[0], row.w[1], 2).array()};
    set_threads(1);
    const Array alone = f(fed)[0];
    set_threads(3);
    const Array shared = f(fed)[0];
    set_threads(2);
    CHECK(
        std::equal(alone.as<float>().begin(), alone.as<float>().end(), shared.as<float>().begin()));
    f.dump(scratch.path(row.name), Stage::Claims);
    const std::string claims = contents_of(scratch.path(row.name) + "/50-claims-sizes_1.txt");
    INFO(claims);
    CHECK(claims.find(row.said) != std::string::npos);
  }
}
