// Tests programs whose unknown sizes are long or deep expressions, against loops over vectors, and
// the errors of those that are beyond the limits.
#include "tests/k/row.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include <functional>

namespace kiln::test {
namespace {

using Floats = std::vector<float>;

Tensor vector_input() { return placeholder({.shape = {None}}); }

Floats run(const Tensor& input, const Tensor& output, std::size_t size) {
  const Array result = function({input}, {output})({counted({static_cast<std::int64_t>(size)})})[0];
  return {result.as<float>().begin(), result.as<float>().end()};
}

Floats numbers(std::size_t begin, std::size_t end) {
  Floats all;
  for (std::size_t i = begin; i < end; ++i) all.push_back(static_cast<float>(i));
  return all;
}

/// The maximum of each row of `x`, whose elements are repeated and laid out in rows.
Tensor rows_of_repeats(const Tensor& x, std::int64_t rep, std::int64_t width) {
  return max(reshape(repeat_elements(x, rep, 0), {-1, width}), {.axis = 1});
}

}  // namespace

TEST_CASE("sizes of slices of slices: values and gradients", "[k]") {
  const Tensor x = vector_input();
  Tensor tail = x, inner = x, head = x;
  for (int i = 0; i < 40; ++i) {
    tail = tail.slice(1, {});
    inner = inner.slice(1, -1);
    head = head.slice({}, -1);
  }
  const Function f = function({x}, {tail, inner, head, gradients(sum(square(inner)), {x})[0]});
  for (const std::size_t size : {0, 1, 39, 40, 41, 79, 80, 81, 100}) {
    INFO(size);
    const std::vector<Array> results = f({counted({static_cast<std::int64_t>(size)})});
    const auto values_of = [&](std::size_t i) {
      return Floats(results[i].as<float>().begin(), results[i].as<float>().end());
    };
    CHECK(values_of(0) == numbers(std::min<std::size_t>(size, 40), size));
    CHECK(values_of(1) == (size > 80 ? numbers(40, size - 40) : Floats{}));
    CHECK(values_of(2) == numbers(0, size > 40 ? size - 40 : 0));
    Floats gradient(size, 0.f);
    for (std::size_t i = 40; i + 40 < size; ++i) gradient[i] = 2 * static_cast<float>(i);
    CHECK(values_of(3) == gradient);
  }
}

TEST_CASE("sizes of strided layers: 31 of stride 2, with and without padding", "[k]") {
  for (const char* padding : {"same", "valid"}) {
    const Tensor x = vector_input();
    Tensor y = expand_dims(expand_dims(x, {.axis = 0}), {.axis = 2});
    const Tensor filter = ones({1, 1, 1});
    for (int i = 0; i < 31; ++i) y = conv1d(y, filter, {.strides = 2, .padding = padding});
    CHECK(run(x, flatten(y), 5) == Floats{0});
  }
}

TEST_CASE("sizes of quotients of products of quotients: 40 operations", "[k]") {
  const Tensor x = vector_input();
  Tensor y = x;
  Floats expected = numbers(0, 6);
  for (int i = 0; i < 40; ++i) {
    const std::size_t rep = i % 2 == 0 ? 5 : 3, width = i % 2 == 0 ? 3 : 5;
    y = rows_of_repeats(y, static_cast<std::int64_t>(rep), static_cast<std::int64_t>(width));
    Floats next;
    for (std::size_t row = 0; row < expected.size() * rep / width; ++row) {
      next.push_back(expected[((row + 1) * width - 1) / rep]);
    }
    expected = next;
  }
  CHECK(run(x, y, 6) == expected);
}

TEST_CASE("sizes of concatenations: a sum of 257 unknown sizes", "[k]") {
  std::vector<Tensor> parts;
  std::vector<Array> fed;
  Floats expected;
  for (std::size_t i = 0; i < 257; ++i) {
    parts.push_back(vector_input());
    fed.push_back(counted({static_cast<std::int64_t>(i % 3)}));
    for (std::size_t j = 0; j < i % 3; ++j) expected.push_back(static_cast<float>(j));
  }
  const Array result = function(parts, {concatenate(parts, {.axis = 0})})(fed)[0];
  CHECK(Floats(result.as<float>().begin(), result.as<float>().end()) == expected);
}

TEST_CASE("sizes beyond the limits are errors of the function that makes them", "[k]") {
  const auto error_of = [](const std::function<void()>& build) {
    const std::string text = testing::error_of<ValueError>(build);
    CHECK(text.find("size_limit_test.cpp:") != std::string::npos);
    return text.substr(0, std::min(text.find(" ("), text.find(" [")));
  };
  std::vector<Tensor> parts;
  for (int i = 0; i < 4097; ++i) parts.push_back(vector_input());
  CHECK(error_of([&] { return concatenate(parts, {.axis = 0}); }) ==
        "concatenate: a size of the result is a sum of 4097 terms, at most 4096 are supported");
  Tensor deep = vector_input();
  CHECK(error_of([&] {
          for (int i = 0; i < 1025; ++i) deep = rows_of_repeats(deep, 5, 3);
        }) == "reshape: a dimension nests more than 1024 divisions, remainders, maxima and minima");
  const Tensor elems = vector_input();
  const std::function<Tensor(const Tensor&, int)> nested = [&](const Tensor& x, int depth) {
    const auto step = [&](const Tensor& sum, const Tensor& e) {
      return nested(sum + e, depth - 1);
    };
    return depth == 0 ? x + 1.f : foldl(step, elems, {.initializer = x});
  };
  const Tensor zero = constant(0.f);
  CHECK(ndim(nested(zero, 64)) == 0);
  CHECK(error_of([&] { return nested(zero, 65); }) ==
        "foldl: loops and conditions are nested more than 64 deep");
}

}  // namespace kiln::test
