// Tests dots through the library: values, library calls and kernels, the text of the claims.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/backends/cuda/fake_matmuls.h"
#include "tests/backends/cuda/matmul_forms.h"
#include "tests/support/error_text.h"
#include "tests/core/ops/evaluate.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "tests/backends/cuda/library_operands.h"
#include "test_folders.h"

#include "core/ops/build.h"
#include "core/types/text.h"

#include <kiln/k.h>

#include <limits>

using namespace kiln;
using namespace cuda_test;

namespace {

using cuda_test::matmuls;
const kiln::fake_cuda::Control& device() { return fake_device(KILN_BINARY_DIR); }

int matmul_calls() { return matmuls().calls("cublasLtMatmul"); }
int launches() { return device().calls("cuLaunchKernel"); }

/// Library calls and kernels of one call of the function.
struct Counts {
  int matmuls, launches;
  bool operator==(const Counts&) const = default;
};

/// Checks that values are those of `reference`. Returns the number of library calls.
int check_form(const MatmulForm& form, const std::map<char, std::int64_t>& sizes, DType dtype) {
  INFO(form.lhs << ", " << form.rhs << " -> " << form.result);
  const std::vector<Array> feeds{drawn(dims_of(form.lhs, sizes), 1, dtype),
                                 drawn(dims_of(form.rhs, sizes), 2, dtype)};
  const std::vector<ir::Value> inputs{test::placeholder(test::type_of(feeds[0])),
                                      test::placeholder(test::type_of(feeds[1]))};
  const ir::Value result = ir::dot(inputs[0], labels_of(form.lhs), inputs[1], labels_of(form.rhs),
                                   labels_of(form.result));
  const int before = matmul_calls();
  const Array found = test::evaluate(inputs, {result}, feeds, "cuda")[0];
  const int calls = matmul_calls() - before;
  const Array wanted = test::evaluate(inputs, {result}, feeds, "reference")[0];
  CHECK(test::difference(found, wanted, reordering(dtype), 1e-6) == "");
  return calls;
}

/// Counts the calls for these inputs, whose results must be those of `reference`.
Counts check_call(const std::vector<Tensor>& inputs, const Tensor& output,
                  const std::vector<Array>& feeds) {
  const Function f = function(inputs, {output}, {.backend = "cuda"});
  const Counts before{matmul_calls(), launches()};
  const Array found = f(feeds)[0];
  const Counts after{matmul_calls(), launches()};
  const Array wanted = function(inputs, {output}, {.backend = "reference"})(feeds)[0];
  CHECK(test::difference(found, wanted, reordering(found.dtype()), 1e-6) == "");
  return {after.matmuls - before.matmuls, after.launches - before.launches};
}

using kiln::testing::has;

}  // namespace

TEST_CASE("matmul: dots of every rank, transpose and batch") {
  const std::map<char, std::int64_t> sizes{{'i', 4}, {'j', 5}, {'k', 7}, {'a', 3}, {'b', 2}};
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    for (const MatmulForm& form : kMatmulForms) {
      INFO(form.lhs << ", " << form.rhs << " -> " << form.result);
      CHECK(check_form(form, sizes, dtype) == (form.is_taken ? 1 : 0));
    }
  }
}

TEST_CASE("matmul: dims of size 1 and 0") {
  for (const char letter : {'i', 'j', 'k', 'a', 'b'}) {
    for (const std::int64_t size : {1, 0}) {
      std::map<char, std::int64_t> sizes{{'i', 4}, {'j', 5}, {'k', 7}, {'a', 3}, {'b', 2}};
      sizes[letter] = size;
      for (const MatmulForm& form : kMatmulForms) {
        const int calls = check_form(form, sizes, DType::Float32);
        const std::string letters = std::string(form.lhs) + form.rhs;
        const bool is_empty = size == 0 && letters.find(letter) != letters.npos;
        if (is_empty) CHECK(calls == 0);
      }
    }
  }
}

TEST_CASE("matmul: many batches are several calls") {
  const MatmulForm form{"aik", "akj", "iaj", true};
  const std::map<char, std::int64_t> sizes{{'i', 2}, {'j', 1}, {'k', 2}, {'a', 70'000}};
  CHECK(check_form(form, sizes, DType::Float32) == 3);
}

TEST_CASE("matmul: operands are views where a matrix has a leading dim, else copies") {
  matmuls();
  const Tensor a = input({6, 8}), b = input({9, 5}), c = input({3, 6, 8}), d = input({3, 5, 8});
  const std::vector<Array> feeds{drawn({6, 8}, 1), drawn({9, 5}, 2)};
  const std::vector<Array> batches{drawn({3, 6, 8}, 3), drawn({3, 5, 8}, 4)};
  // (8, 6) by (6, 4): a transpose, and a part of rows and columns.
  CHECK(check_call({a, b}, dot(transpose(a), slice(b, {1, 1}, {6, 4})), feeds) == Counts{1, 0});
  // Rows in reverse: the library takes no negative strides.
  CHECK(check_call({a, b}, dot(transpose(reverse(a, 0)), slice(b, {0, 0}, {6, 5})), feeds) ==
        Counts{1, 1});
  const Tensor turned = permute_dimensions(d, {0, 2, 1});
  CHECK(check_call({c, d}, batch_dot(c, turned), batches) == Counts{1, 0});
  CHECK(check_call({c, d},
                   batch_dot(slice(c, {0, 1, 2}, {3, 4, 6}), slice(turned, {0, 2, 0}, {3, 6, 5})),
                   batches) == Counts{1, 0});
  // The rows of the view are two axes that do not merge.
  const Tensor rows = permute_dimensions(c, {1, 0, 2});
  CHECK(check_call({c, a}, dot(rows, transpose(a)), {batches[0], feeds[0]}) == Counts{1, 1});
}

TEST_CASE("matmul: a bias is added by the library, a relu by a kernel") {
  matmuls();
  for (const char* dtype : {"float32", "float64"}) {
    const DType type = std::string(dtype) == "float32" ? DType::Float32 : DType::Float64;
    const Tensor x = input({4, 7}, dtype), w = input({7, 5}, dtype), b = input({5}, dtype);
    const std::vector<Array> feeds{drawn({4, 7}, 1, type), drawn({7, 5}, 2, type),
                                   drawn({5}, 3, type)};
    CHECK(check_call({x, w, b}, bias_add(dot(x, w), b), feeds) == Counts{1, 0});
    CHECK(check_call({x, w, b}, relu(bias_add(dot(x, w), b)), feeds) == Counts{1, 1});
  }
}

TEST_CASE("matmul: 16-bit floats are multiplied as they are, and rounded once") {
  matmuls();
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    INFO(dtype_name(dtype));
    const std::string name(dtype_name(dtype));
    const Tensor x = input({5, 24}, name), w = input({24, 7}, name);
    const std::vector<Array> feeds{drawn({5, 24}, 1, dtype), drawn({24, 7}, 2, dtype)};
    CHECK(check_call({x, w}, dot(x, w), feeds) == Counts{1, 0});
    CHECK(check_call({x, w}, tanh(dot(x, w)), feeds) == Counts{1, 1});
    const Tensor bias = input({7}, name);
    CHECK(has(claims_of({x, w, bias}, bias_add(dot(x, w), bias)), "matmul: taken, with bias"));
    const Function add = function({x, w, bias}, {bias_add(dot(x, w), bias)}, {.backend = "cuda"});
    std::vector<Array> with_bias{feeds[0], feeds[1], drawn({7}, 3, dtype)};
    const Array added = add(with_bias)[0];
    for (Array& one : with_bias) one = one.astype(DType::Float64);
    const Tensor a64 = input({5, 24}, "float64"), b64 = input({24, 7}, "float64");
    const Tensor c64 = input({7}, "float64");
    const Array exact = function({a64, b64, c64}, {bias_add(dot(a64, b64), c64)},
                                 {.backend = "reference"})(with_bias)[0];
    // Rounded once: half a unit in the last place.
    CHECK(test::difference(added.astype(DType::Float64), exact, reordering(dtype) / 2, 0) == "");
    // 2^k + 1 - 2^k of a sum that a half would round on the way.
    const double large = dtype == DType::Float16 ? 4096 : 1024;
    Array row = Array::zeros({2, 3}, DType::Float64),
          column = Array::full({3, 1}, 1, DType::Float64);
    for (const std::size_t i : {0u, 3u}) {
      row.as<double>()[i] = large;
      row.as<double>()[i + 1] = 1;
      row.as<double>()[i + 2] = -large;
    }
    const Tensor a = input({2, 3}, name), b = input({3, 1}, name);
    const Function f = function({a, b}, {dot(a, b)}, {.backend = "cuda"});
    CHECK(test::doubles(f({row.astype(dtype), column.astype(dtype)})[0]) ==
          std::vector<double>{1, 1});
  }
}

TEST_CASE("matmul: a sum of nothing is 0 or the bias") {
  matmuls();
  const Tensor x = input({None, None}), w = input({None, 5}), b = input({5});
  const Function zeros = function({x, w}, {dot(x, w)}, {.backend = "cuda"});
  const Function rows = function({x, w, b}, {bias_add(dot(x, w), b)}, {.backend = "cuda"});
  const Array bias = drawn({5}, 3);
  for (const std::int64_t count : {0, 1, 6, 7}) {
    INFO(count);
    const int before = matmul_calls();
    const Array x_fed = Array::zeros({count, 0}), w_fed = Array::zeros({0, 5});
    const Array sums = zeros({x_fed, w_fed})[0], biases = rows({x_fed, w_fed, bias})[0];
    CHECK(matmul_calls() == before);
    REQUIRE(sums.size() == 5 * count);
    for (std::int64_t i = 0; i < 5 * count; ++i) {
      CHECK(sums.as<float>()[static_cast<std::size_t>(i)] == 0);
      CHECK(biases.as<float>()[static_cast<std::size_t>(i)] ==
            bias.as<float>()[static_cast<std::size_t>(i % 5)]);
    }
  }
}

TEST_CASE("matmul: sizes of each call") {
  matmuls();
  const Tensor x = input({None, None}), w = input({None, None});
  const Function f = function({x, w}, {dot(x, w)}, {.backend = "cuda"});
  const Function oracle = function({x, w}, {dot(x, w)}, {.backend = "reference"});
  for (const std::int64_t m : {1, 3, 64}) {
    for (const std::int64_t k : {1, 8, 129}) {
      const Array left = drawn({m, k}, 1), right = drawn({k, 3}, 2);
      CHECK(test::difference(f({left, right})[0], oracle({left, right})[0], 1e-5, 1e-5) == "");
    }
  }
}

TEST_CASE("matmul: NaN and infinity go through") {
  matmuls();
  const Tensor x = input({2, 2}), w = input({2, 1}), b = input({1});
  const Function f = function({x, w, b}, {relu(bias_add(dot(x, w), b))}, {.backend = "cuda"});
  const auto value = [&](float bias) {
    return f({Array::full({2, 2}, 1), Array::full({2, 1}, 1), Array::full({1}, bias)})[0]
        .as<float>()[0];
  };
  CHECK(std::isnan(value(std::numeric_limits<float>::quiet_NaN())));
  CHECK(value(std::numeric_limits<float>::infinity()) == std::numeric_limits<float>::infinity());
  CHECK(value(-3) == 0);
}

TEST_CASE("matmul: claims have a text for each rejection") {
  matmuls();
  const Tensor x = input({4, 8}), w = input({8, 5}), b = input({5});
  CHECK(has(claims_of({x, w, b}, bias_add(dot(x, w), b)), "matmul: taken, with bias"));
  const std::string taken = claims_of({x, w, b}, relu(bias_add(dot(x, w), b)));
  INFO(taken);
  CHECK(has(taken, "followed by a kernel for relu: it is not verified that cuBLASLt's relu keeps"));
  const Tensor n = input({4, 8}, "int32"), m = input({8, 5}, "int32");
  CHECK(has(claims_of({n, m}, dot(n, m)),
            "matmul: rejected: cuBLASLt is used for floats alone, not for int32"));
  const Tensor c = input({3, 6, 8}), a = input({8, 5});
  CHECK(has(claims_of({c, a}, dot(permute_dimensions(c, {1, 0, 2}), a)),
            "after a copy: the rows or columns of the view do not merge into one axis"));
  const Tensor h = input({4, 8}, "float16"), g = input({8, 5}, "float16");
  CHECK(has(claims_of({h, g}, dot(h, g)), "matmul: taken"));
}

/// x in a matrix by the unit matrix: as the library reads it.
double read_by_library(double x, DType dtype) {
  const Tensor lhs = input({2, 2}, text(dtype)), rhs = input({2, 2}, text(dtype));
  const Function f = function({lhs, rhs}, {dot(lhs, rhs)}, {.backend = "cuda"});
  Array unit = Array::zeros({2, 2}, DType::Float64);
  unit.as<double>()[0] = unit.as<double>()[3] = 1;
  const Array given = Array::full({2, 2}, x, DType::Float64);
  return test::doubles(f({given.astype(dtype), unit.astype(dtype)})[0])[3];
}

TEST_CASE("matmul: without tf32 operands keep their bits") {
  matmuls();
  CHECK(read_by_library(1 + 0x1p-20, DType::Float32) == 1 + 0x1p-20);
  CHECK(testing::in_new_process("[.tf32]", "KILN_CUDA_TF32", "true") == 0);
}

TEST_CASE("child: with tf32 operands are rounded, but not those of float64", "[.tf32]") {
  matmuls();
  CHECK(read_by_library(1 + 0x1p-20, DType::Float32) == 1);
  CHECK(read_by_library(1 + 0x1p-40, DType::Float64) == 1 + 0x1p-40);
}
