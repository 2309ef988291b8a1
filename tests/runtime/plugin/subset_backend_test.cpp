// Tests a backend in C99 that reads modules with the C reader of the SDK (tools/examples).
#include "tests/support/catch.h"

#include "tests/runtime/plugin/fakes.h"

#include <kiln/k.h>

using namespace kiln;

TEST_CASE("subset: a C backend runs matmuls, variables and updates of any size", "[plugin]") {
  const Tensor x = placeholder({.shape = {None, 3}, .name = "x"});
  const Tensor y = placeholder({.shape = {None, 3}, .name = "y"});
  const Tensor w = variable(Array{{1.f, 2.f}, {-3.f, 4.f}, {5.f, -6.f}});
  const Tensor z = dot(x * y, w) + dot(y, w) * 2.0 + constant(Array{1.f, -1.f});
  const Function expected = function({x, y}, {z, w * w}, {.backend = "reference"});
  const Function step =
      function({x, y}, {z},
               {.updates = {update(w, w * w)}, .backend = runtime::fake_path("subset_backend")});
  for (const std::int64_t rows : {2, 5, 0, 2}) {
    std::vector<float> left, right;
    for (std::int64_t i = 0; i < rows * 3; ++i) {
      left.push_back(static_cast<float>(i) - 2);
      right.push_back(3 - static_cast<float>(i * i % 5));
    }
    const Array a(left, {rows, 3}), b(right, {rows, 3});
    set_value(w, Array{{1.f, 2.f}, {-3.f, 4.f}, {5.f, -6.f}});
    const auto wanted = expected({a, b});
    const auto found = step({a, b});
    INFO(rows << " rows");
    CHECK(found[0] == wanted[0]);
    CHECK(get_value(w) == wanted[1]);
  }
}

TEST_CASE("subset: a C backend names each node that it cannot run, with its line", "[plugin]") {
  const Tensor x = placeholder({.shape = {None, 3}, .name = "x"});
  const std::string line = text("subset_backend_test.cpp:", __LINE__ + 1);
  const Tensor y = tanh(x) + x;
  const auto message = [](const Tensor& from, const Tensor& to) {
    return runtime::error_text<NotImplementedError>(
        [&] { function({from}, {to}, {.backend = runtime::fake_path("subset_backend")}); });
  };
  const std::string tanh_only = message(x, y);
  INFO(tanh_only);
  CHECK(tanh_only.find("cannot run tanh (the op is not supported) at ") != std::string::npos);
  CHECK(tanh_only.find(line) != std::string::npos);
  CHECK(tanh_only.find("; ") == std::string::npos);
  const Tensor n = placeholder({.shape = {2}, .dtype = "int32", .name = "n"});
  const std::string integers = message(n, n * n);
  INFO(integers);
  CHECK(integers.find("placeholder (only float32 is supported)") != std::string::npos);
  CHECK(integers.find("mul (only float32 is supported)") != std::string::npos);
  const Tensor cube = placeholder({.shape = {2, 3, 3}, .name = "cube"});
  const std::string batched = message(cube, batch_dot(cube, cube));
  INFO(batched);
  CHECK(batched.find("dot (only the product of two matrices is supported)") != std::string::npos);
}
