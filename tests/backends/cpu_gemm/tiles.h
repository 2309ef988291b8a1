// Operands, shapes and ISAs for the tests of the native GEMM.
#pragma once

#include "backends/cpu/gemm/amx.h"
#include "backends/cpu/gemm/native_gemm.h"
#include "core/types/at.h"

#include <cstdlib>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

namespace kiln::test {

struct AlignedFree {
  void operator()(void* p) const { std::free(p); }
};
template <class T>
using Memory = std::unique_ptr<T, AlignedFree>;

/// Aligned to 64 bytes.
template <class T>
Memory<T> memory(std::size_t bytes) {
  return Memory<T>(static_cast<T*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
}

/// Floats in [-1, 1); integers of all values, so that sums overflow.
template <class T>
std::vector<T> draws(std::int64_t count, unsigned seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  if constexpr (std::is_integral_v<T>) {
    std::mt19937_64 generator(seed);
    for (T& value : values) value = static_cast<T>(generator());
  } else {
    std::minstd_rand generator(seed);
    std::uniform_real_distribution<T> uniform(-1, 1);
    for (T& value : values) value = uniform(generator);
  }
  return values;
}

/// The ISAs that this machine has.
inline std::vector<cpu::GemmIsa> isas() {
  std::vector<cpu::GemmIsa> out{cpu::GemmIsa::Baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back(cpu::GemmIsa::Avx2);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    out.push_back(cpu::GemmIsa::Avx512);
  }
  if (cpu::request_amx()) out.push_back(cpu::GemmIsa::Amx);
  return out;
}

/// Dense operands, and a result with `gap` elements between its rows.
inline cpu::GemmShape shape_of(std::int64_t m, std::int64_t n, std::int64_t k, bool lhs_transposed,
                               bool rhs_transposed, std::int64_t gap) {
  cpu::GemmShape shape{m, n, k, k, 1, n, 1, n + gap};
  if (lhs_transposed) shape.lhs_m = 1, shape.lhs_k = m;
  if (rhs_transposed) shape.rhs_k = 1, shape.rhs_n = k;
  return shape;
}

}  // namespace kiln::test
