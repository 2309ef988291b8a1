// Tests matmuls in every dtype that the native GEMM has, on `cpu` and `reference`. Operands are
// whole numbers whose sums float32 holds exactly, so that the order of sums does not matter.
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <array>
#include <random>

using namespace kiln;
using kiln::testing::contents_of, kiln::testing::Scratch;

namespace {

constexpr DType kDTypes[] = {DType::Float64, DType::Float16, DType::BFloat16, DType::Int32,
                             DType::Int64,   DType::UInt32,  DType::UInt64,   DType::Float32};

/// Whole numbers from -2 to 2; of an unsigned dtype from 0 on.
Array drawn(const std::vector<std::int64_t>& dims, DType dtype, unsigned seed) {
  std::minstd_rand generator(seed);
  Array numbers = Array::zeros(dims, DType::Int32);
  for (std::int32_t& number : numbers.as<std::int32_t>()) {
    number = static_cast<std::int32_t>(generator() % 5) - 2;
  }
  return numbers.astype(dtype);
}

/// Checks that make() gives the same results on `cpu` as on `reference`.
template <class Make>
void check_same(const Make& make) {
  const std::string before = backend();
  set_backend("reference");
  const std::vector<Array> want = make();
  set_backend("cpu");
  const std::vector<Array> got = make();
  set_backend(before);
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("result " << i);
    CHECK(got[i] == want[i]);
  }
}

}  // namespace

TEST_CASE("matmul: every dtype, with a weight that changes between calls") {
  const std::array<std::int64_t, 3> sizes[] = {{1, 1, 1},     {0, 5, 7},     {4, 0, 20},
                                               {3, 20, 0},    {5, 9, 17},    {2, 40, 1},
                                               {33, 70, 130}, {200, 300, 64}};
  for (const DType type : kDTypes) {
    for (const auto& mkn : sizes) {
      const std::int64_t m = mkn[0], k = mkn[1], n = mkn[2];
      INFO(type << ": " << m << " x " << k << " x " << n);
      const Array fed = drawn({m, k}, type, 1);
      check_same([&]() -> std::vector<Array> {
        const Tensor x = placeholder({.shape = {None, k}, .dtype = type});
        const Variable w = variable(drawn({k, n}, type, 2), {.dtype = type});
        const Tensor v = placeholder({.shape = {n, k}, .dtype = type});
        const Function f = function({x, v}, {dot(x, w), dot(x, transpose(v))});
        const Array other = drawn({n, k}, type, 3);
        std::vector<Array> results = f({fed, other});
        set_value(w, drawn({k, n}, type, 4));
        for (Array& again : f({fed, other})) results.push_back(std::move(again));
        return results;
      });
    }
  }
}

TEST_CASE("matmul: batches and transposed operands of every dtype") {
  for (const DType type : kDTypes) {
    INFO(type);
    check_same([&]() -> std::vector<Array> {
      const Tensor x = placeholder({.shape = {None, 19, 33}, .dtype = type});
      const Tensor y = placeholder({.shape = {None, 33, 40}, .dtype = type});
      const Tensor left = batch_dot(x, y), right = batch_dot(y, x, {.axes = {1, 2}});
      return function({x, y},
                      {left, right})({drawn({3, 19, 33}, type, 1), drawn({3, 33, 40}, type, 2)});
    });
  }
}

TEST_CASE("matmul: bias and relu in float64, also with K = 0") {
  for (const std::int64_t k : {0, 1, 33}) {
    INFO("k " << k);
    check_same([&]() -> std::vector<Array> {
      const Tensor x = placeholder({.shape = {None, k}, .dtype = DType::Float64});
      const Tensor w = placeholder({.shape = {k, 21}, .dtype = DType::Float64});
      const Tensor b = placeholder({.shape = {21}, .dtype = DType::Float64});
      return function({x, w, b}, {relu(dot(x, w) + b)})({drawn({50, k}, DType::Float64, 1),
                                                         drawn({k, 21}, DType::Float64, 2),
                                                         drawn({21}, DType::Float64, 3)});
    });
  }
}

TEST_CASE("matmul: a loop with a weight of float64 or of 16 bits") {
  for (const DType type : {DType::Float64, DType::Float16, DType::BFloat16}) {
    INFO(type);
    check_same([&]() -> std::vector<Array> {
      const Tensor x = placeholder({.shape = {20, 4, 6}, .dtype = type});
      const Variable w = variable(drawn({6, 6}, type, 2), {.dtype = type});
      const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) -> StepResult {
        const Tensor h = dot(state[0], w) + in;
        return {h, {h}};
      };
      const Tensor zero = constant(Array::zeros({20, 6}, type), {.dtype = type});
      return function({x}, {rnn(step, x, {zero}).outputs})({drawn({20, 4, 6}, type, 1)});
    });
  }
}

TEST_CASE("matmul: kernels widen a 16-bit matrix for a vector, and the GEMM a weight") {
  const Scratch scratch;
  for (const DType type : {DType::Float16, DType::BFloat16}) {
    const auto input = [&](std::int64_t rows, std::int64_t columns) -> Tensor {
      return placeholder({.shape = {rows, columns}, .dtype = type});
    };
    const Tensor matrix = input(40, 30), row = input(1, 40), column = input(30, 1);
    const Tensor tall = input(40, 1), few = input(30, 5);
    const Variable weight = variable(drawn({40, 30}, type, 1), {.dtype = type});
    const auto wide = [](const Tensor& x) { return cast(x, "float32"); };
    const struct {
      const char* name;
      std::vector<Tensor> inputs;
      Tensor product;
      bool in_kernel;
    } rows[] = {
        {"rows and a column", {matrix, column}, dot(matrix, column), true},
        {"columns and a column", {matrix, tall}, dot(transpose(matrix), tall), true},
        {"a row and columns", {row, matrix}, dot(row, matrix), true},
        {"rows and a row", {column, matrix}, dot(transpose(column), transpose(matrix)), true},
        {"widened by the program", {matrix, tall}, dot(transpose(wide(matrix)), wide(tall)), true},
        {"a weight as the first operand", {column}, dot(weight, column), true},
        {"a weight as the second operand", {row}, dot(row, weight), false},
        {"several columns", {matrix, few}, dot(matrix, few), false},
    };
    for (const auto& one : rows) {
      INFO(type << ": " << one.name);
      check_same([&]() -> std::vector<Array> {
        std::vector<Array> feeds;
        for (const Tensor& in : one.inputs) {
          std::vector<std::int64_t> dims;
          for (const auto& dim : int_shape(in)) dims.push_back(dim.value());
          feeds.push_back(drawn(dims, type, static_cast<unsigned>(feeds.size())));
        }
        return function(one.inputs, {one.product})(feeds);
      });
      const std::string path = scratch.path(std::string(dtype_name(type)) + one.name);
      function(one.inputs, {one.product}, {.backend = "cpu"}).dump(path, Stage::Plan);
      const std::string plan = contents_of(path + "/52-plan.txt");
      INFO(plan);
      CHECK((plan.find("matmul ") == std::string::npos) == one.in_kernel);
      const bool copies = plan.find("temporary float32[40,30]") != std::string::npos ||
                          plan.find("temporary float32[30,40]") != std::string::npos;
      CHECK_FALSE(copies);
    }
  }
}

TEST_CASE("matmul: integers wrap around") {
  for (const DType type : {DType::Int32, DType::Int64, DType::UInt32, DType::UInt64}) {
    INFO(type);
    Array large = drawn({16, 24}, DType::Int64, 1);
    for (std::int64_t& number : large.as<std::int64_t>()) number *= 0x2345678912345678;
    if (dtype_bytes(type) == 4) {
      for (std::int64_t& number : large.as<std::int64_t>()) number %= 0x7fffffff;
    }
    const Array fed = large.astype(type);
    check_same([&]() -> std::vector<Array> {
      const Tensor x = placeholder({.shape = {16, 24}, .dtype = type});
      return function({x}, {dot(x, transpose(x))})({fed});
    });
  }
}

TEST_CASE("matmul: the same bits with one and with two threads") {
  for (const DType type : {DType::Float64, DType::Float16, DType::BFloat16}) {
    INFO(type);
    const Tensor a = random_uniform_variable({300, 200}, -1, 1, {.dtype = type, .seed = 1});
    const Tensor b = random_uniform_variable({200, 310}, -1, 1, {.dtype = type, .seed = 2});
    const Function f = function({}, {dot(a, b)}, {.backend = "cpu"});
    set_threads(1);
    const Array one = f({})[0];
    set_threads(2);
    CHECK(f({})[0] == one);
  }
}

TEST_CASE("matmul: dumps name the native GEMM for every dtype but short integers") {
  const Scratch scratch;
  const struct {
    DType dtype;
    const char* said;
  } rows[] = {
      {DType::Float64, "native GEMM"},
      {DType::BFloat16, "sums in float32"},
      {DType::Int32, "native GEMM"},
      {DType::Int8, "neither oneDNN nor the native GEMM is used for matmuls of int8"},
  };
  for (const auto& row : rows) {
    const Tensor x = placeholder({.shape = {64, None}, .dtype = row.dtype});
    const Function f = function({x}, {dot(x, transpose(x))}, {.backend = "cpu"});
    f({drawn({64, 32}, row.dtype, 1)});
    const std::string path = scratch.path(std::string(dtype_name(row.dtype)));
    f.dump(path, Stage::Claims);
    std::string claims;
    for (const char* file : {"/50-claims.txt", "/50-claims-sizes_1.txt"}) {
      claims += contents_of(path + file);
    }
    INFO(claims);
    CHECK(claims.find(row.said) != std::string::npos);
  }
}
