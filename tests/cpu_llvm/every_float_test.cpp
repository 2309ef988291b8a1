// Every float32 through a function, each a test of a minute that prints a row; every sixteenth for
// those that are made of others, and for pow, with an exponent drawn for each base.
#include "tests/catch.h"
#include "tests/cpu_llvm/exact.h"

#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

using namespace cpu_llvm_test;

namespace {

constexpr std::size_t kBlock = 1 << 16;
constexpr std::uint64_t kBlocks = (1ull << 32) / kBlock;

/// The worst results of all levels, over blocks first, first + 2, ... of floats by their bits, of
/// which each `stride`-th is taken.
void measure(const std::vector<CompiledMath>& levels, Math function, std::uint64_t first,
             std::uint64_t stride, std::vector<double>& worst) {
  std::vector<float> x(kBlock), y(kBlock, 1), result(kBlock);
  std::vector<double> exact(kBlock);
  std::mt19937 random(static_cast<std::uint32_t>(first));
  std::uniform_real_distribution<float> exponents(-40, 40);
  for (std::uint64_t block = first; block < kBlocks / stride; block += 2) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto bits = static_cast<std::uint32_t>((block * kBlock + i) * stride);
      std::memcpy(&x[i], &bits, sizeof bits);
      if (function == Math::Pow) y[i] = exponents(random);
      exact[i] = exact_in_double(function, flushed(x[i]), flushed(y[i]));
    }
    for (std::size_t level = 0; level < levels.size(); ++level) {
      levels[level].run(x.data(), y.data(), result.data(), kBlock);
      for (std::size_t i = 0; i < kBlock; ++i) {
        worst[level] = std::max(worst[level], ulps(result[i], exact[i]));
      }
    }
  }
}

void measure_and_print(Math function, std::uint64_t stride = 1) {
  std::vector<CompiledMath> levels;
  for (const kiln::cpu::IsaTarget& target : targets_here()) {
    levels.emplace_back(function, false, target);
  }
  std::vector<double> worst(levels.size()), other(levels.size());
  std::thread helper([&] { measure(levels, function, 1, stride, other); });
  measure(levels, function, 0, stride, worst);
  helper.join();
  std::printf("%-8s", name_of(function));
  for (std::size_t level = 0; level < levels.size(); ++level) {
    worst[level] = std::max(worst[level], other[level]);
    const auto name = kiln::cpu::name_of(static_cast<kiln::cpu::IsaLevel>(level));
    std::printf("  %s %.3f", std::string(name).c_str(), worst[level]);
  }
  std::printf("  (largest error, units in the last place)\n");
  std::fflush(stdout);
  INFO(name_of(function));
  for (const double distance : worst) CHECK(distance <= 2);
}

}  // namespace

TEST_CASE("every float32: exp", "[slow]") { measure_and_print(Math::Exp); }
TEST_CASE("many float32: expm1", "[slow]") { measure_and_print(Math::Expm1, 16); }
TEST_CASE("every float32: log", "[slow]") { measure_and_print(Math::Log); }
TEST_CASE("many float32: log1p", "[slow]") { measure_and_print(Math::Log1p, 16); }
TEST_CASE("every float32: tanh", "[slow]") { measure_and_print(Math::Tanh); }
TEST_CASE("every float32: sigmoid", "[slow]") { measure_and_print(Math::Sigmoid); }
TEST_CASE("every float32: erf", "[slow]") { measure_and_print(Math::Erf); }
TEST_CASE("every float32: sin", "[slow]") { measure_and_print(Math::Sin); }
TEST_CASE("every float32: cos", "[slow]") { measure_and_print(Math::Cos); }
TEST_CASE("many float32: pow", "[slow]") { measure_and_print(Math::Pow, 16); }
