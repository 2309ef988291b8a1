// Tests chains of float16 and bfloat16 on `cpu` with all 65,536 patterns: arithmetic is computed in
// float32 and rounded once, and what comparisons, casts and jumps read is rounded first.
#include "tests/support/catch.h"
#include "tests/support/environment.h"

#include <kiln/k.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>

using namespace kiln;
using kiln::testing::EnvironmentVariable;

namespace {

constexpr std::size_t kPatterns = 1 << 16;

Array every_pattern(DType dtype) {
  Array array = Array::zeros({kPatterns}, dtype);
  for (std::size_t i = 0; i < kPatterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    if (dtype == DType::Float16) {
      array.as<float16>()[i].bits = bits;
    } else {
      array.as<bfloat16>()[i].bits = bits;
    }
  }
  return array;
}

/// Checks that elements have the same bits; all NaN are the same.
void have_same_bits(const Array& found, const Array& want) {
  REQUIRE(found.dtype() == want.dtype());
  const Array x = found.astype(DType::Float64), y = want.astype(DType::Float64);
  for (std::size_t i = 0; i < kPatterns; ++i) {
    const double a = x.as<double>()[i], b = y.as<double>()[i];
    const bool same = std::isnan(b) ? std::isnan(a) : std::memcmp(&a, &b, sizeof(a)) == 0;
    if (!same) FAIL("pattern " << i << ": " << a << ", not " << b);
  }
}

/// All constants are halves.
Tensor chain(const Tensor& x) {
  return 0.5 * x * (1.0 + tanh(0.75 * (x + 0.125 * x * x * x))) - maximum(-x, x * x);
}

}  // namespace

TEST_CASE("chains of halves: rounded once") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    const Tensor x = placeholder({.shape = {None}, .dtype = dtype});
    const Tensor wide = chain(cast(x, DType::Float32));
    const Function f = function({x}, {chain(x), cast(wide, dtype)}, {.backend = "cpu"});
    const std::vector<Array> results = f({every_pattern(dtype)});
    have_same_bits(results[0], results[1]);
  }
}

TEST_CASE("chains of halves: what a jump reads is rounded first") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    const Tensor x = placeholder({.shape = {None}, .dtype = dtype});
    const Tensor y = x * 0.375, third = x / 3.0;
    const std::vector<Tensor> jumps{round(y),
                                    sign(third),
                                    cast(less(y, third), dtype),
                                    cast(y, DType::Float32),
                                    cast(y, DType::Int32),
                                    sqrt(y),
                                    log(third)};
    const auto results = [&](const std::optional<std::string>& disabled) {
      const EnvironmentVariable disable("KILN_DISABLE", disabled);
      return function({x}, jumps, {.backend = "cpu"})({every_pattern(dtype)});
    };
    const std::vector<Array> found = results(std::nullopt), want = results("drop_roundings");
    for (std::size_t i = 0; i < jumps.size(); ++i) {
      INFO("result " << i);
      have_same_bits(found[i], want[i]);
    }
  }
}
