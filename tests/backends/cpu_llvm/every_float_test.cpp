// Measures functions of every 17th float32 (`[slow]`; pow has a random exponent for each base), and
// those that are not composed of others of every one (`[matrix]`, a minute each). Prints a row
// each.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/exact.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

using namespace cpu_llvm_test;

namespace {

constexpr std::size_t kBlock = 1 << 16;
constexpr std::uint64_t kBlocks = (1ull << 31) / kBlock;  // of each sign
constexpr std::uint64_t kStride = 17;  // odd, so that all low bits occur

/// s with f(-x) = s f(x); 0 where there is none.
int parity(Math function) {
  switch (function) {
    case Math::Tanh:
    case Math::Erf:
    case Math::Atan:
    case Math::Sin: return -1;
    case Math::Cos: return 1;
    default: return 0;
  }
}

/// Units in the last place of float per 1, at that value; NaN where float has no normal number for
/// it.
double float_units(double exact) {
  const double size = std::fabs(exact);
  if (!(size >= std::numeric_limits<float>::min() && size < std::numeric_limits<float>::max())) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  // A value of exponent e has units of 2^(e - 23): the exponent field of the reciprocal.
  std::uint64_t bits;
  std::memcpy(&bits, &size, sizeof bits);
  bits = (1023 + 23 + 1023 - (bits >> 52)) << 52;
  double units;
  std::memcpy(&units, &bits, sizeof units);
  return units;
}

/// Arguments, and the exact values that results are compared with.
struct Block {
  std::vector<float> x = std::vector<float>(kBlock), y = std::vector<float>(kBlock, 1);
  std::vector<double> exact = std::vector<double>(kBlock), per_unit = exact;

  void compute(Math function) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      exact[i] = exact_in_double(function, flushed(x[i]), flushed(y[i]));
      per_unit[i] = float_units(exact[i]);
    }
  }
  void negate(Math function) {
    for (float& each : x) each = -each;
    const int sign = parity(function);
    if (sign == 0) return compute(function);
    for (double& each : exact) each *= sign;
  }
  double worst_of(const std::vector<float>& results, double worst) const {
    for (std::size_t i = 0; i < kBlock; ++i) {
      // A value that is not a normal number has units of NaN and takes the slow path.
      const double distance = std::fabs(results[i] - exact[i]) * per_unit[i];
      if (!(distance <= worst)) worst = std::max(worst, ulps(results[i], exact[i]));
    }
    return worst;
  }
};

/// The worst results of all ISAs, over blocks first, first + 2, ... of floats by their bits, with
/// every `stride`-th float of a block.
void measure(const std::vector<CompiledMath>& functions, Math function, std::uint64_t first,
             std::uint64_t stride, std::vector<double>& worst) {
  Block block;
  std::vector<float> results(kBlock);
  std::mt19937 random(static_cast<std::uint32_t>(first));
  std::uniform_real_distribution<float> exponents(-40, 40);
  for (std::uint64_t at = first; at < kBlocks / stride; at += 2) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto bits = static_cast<std::uint32_t>((at * kBlock + i) * stride);
      std::memcpy(&block.x[i], &bits, sizeof bits);
      if (function == Math::Pow) block.y[i] = exponents(random);
    }
    block.compute(function);
    for (const bool negative : {false, true}) {
      if (negative) block.negate(function);
      for (std::size_t isa = 0; isa < functions.size(); ++isa) {
        functions[isa].run(block.x.data(), block.y.data(), results.data(), kBlock);
        worst[isa] = block.worst_of(results, worst[isa]);
      }
    }
  }
}

void measure_and_print(Math function, std::uint64_t stride = 1) {
  std::vector<CompiledMath> functions;
  for (const kiln::cpu::IsaTarget& target : targets_here()) {
    functions.emplace_back(function, false, target);
  }
  std::vector<double> worst(functions.size()), other(functions.size());
  std::thread helper([&] { measure(functions, function, 1, stride, other); });
  measure(functions, function, 0, stride, worst);
  helper.join();
  std::printf("%-8s", name_of(function));
  for (std::size_t isa = 0; isa < functions.size(); ++isa) {
    worst[isa] = std::max(worst[isa], other[isa]);
    const auto name = kiln::cpu::name_of(static_cast<kiln::cpu::Isa>(isa));
    std::printf("  %s %.3f", std::string(name).c_str(), worst[isa]);
  }
  std::printf("  (largest error, units in the last place)\n");
  std::fflush(stdout);
  INFO(name_of(function));
  for (const double distance : worst) CHECK(distance <= 2);
}

}  // namespace

TEST_CASE("many float32: exp", "[slow]") { measure_and_print(Math::Exp, kStride); }
TEST_CASE("many float32: expm1", "[slow]") { measure_and_print(Math::Expm1, kStride); }
TEST_CASE("many float32: log", "[slow]") { measure_and_print(Math::Log, kStride); }
TEST_CASE("many float32: log1p", "[slow]") { measure_and_print(Math::Log1p, kStride); }
TEST_CASE("many float32: tanh", "[slow]") { measure_and_print(Math::Tanh, kStride); }
TEST_CASE("many float32: sigmoid", "[slow]") { measure_and_print(Math::Sigmoid, kStride); }
TEST_CASE("many float32: erf", "[slow]") { measure_and_print(Math::Erf, kStride); }
TEST_CASE("many float32: atan", "[slow]") { measure_and_print(Math::Atan, kStride); }
TEST_CASE("many float32: sin", "[slow]") { measure_and_print(Math::Sin, kStride); }
TEST_CASE("many float32: cos", "[slow]") { measure_and_print(Math::Cos, kStride); }
TEST_CASE("many float32: pow", "[slow]") { measure_and_print(Math::Pow, kStride); }
TEST_CASE("every float32: exp", "[matrix]") { measure_and_print(Math::Exp); }
TEST_CASE("every float32: log", "[matrix]") { measure_and_print(Math::Log); }
TEST_CASE("every float32: tanh", "[matrix]") { measure_and_print(Math::Tanh); }
TEST_CASE("every float32: sigmoid", "[matrix]") { measure_and_print(Math::Sigmoid); }
TEST_CASE("every float32: erf", "[matrix]") { measure_and_print(Math::Erf); }
TEST_CASE("every float32: atan", "[matrix]") { measure_and_print(Math::Atan); }
TEST_CASE("every float32: sin", "[matrix]") { measure_and_print(Math::Sin); }
TEST_CASE("every float32: cos", "[matrix]") { measure_and_print(Math::Cos); }
