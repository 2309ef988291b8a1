// Tests matmuls of float16 and bfloat16: the float32 GEMM of converted operands, rounded once, or
// the sums of AMX in the order of the manual.
#include "backends/cpu/gemm/half_gemm.h"
#include "core/types/at.h"
#include "tests/support/catch.h"
#include "tests/backends/cpu_gemm/halves.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

using kiln::at;
using kiln::cpu::GemmIsa;
using kiln::cpu::GemmShape;
using kiln::cpu::HalfGemm;
using kiln::cpu::NativeGemm;
using kiln::cpu::PackedWord;
using kiln::cpu::RhsForm;
using namespace kiln::test;

namespace {

/// Loops to test, with the ISA by whose order of additions they add.
template <class Half>
struct Loops {
  std::string name;
  GemmIsa isa;
  kiln::cpu::HalfKernel<Half> kernel;
};

/// The loops of each ISA, and those with AVX512-BF16, which not every processor of it prefers.
template <class Half>
std::vector<Loops<Half>> all_loops() {
  std::vector<Loops<Half>> loops;
  for (const GemmIsa isa : isas()) {
    loops.push_back({"ISA " + std::to_string(static_cast<int>(isa)), isa,
                     kiln::cpu::half_kernel_of(isa, Half{})});
  }
  if constexpr (std::is_same_v<Half, BFloat16Bits>) {
    if (__builtin_cpu_supports("avx512bf16") != 0) {
      loops.push_back({"AVX512-BF16", GemmIsa::Avx512, kiln::cpu::kBf16KernelAvx512});
      loops.push_back({"AVX-512, widened", GemmIsa::Avx512, kiln::cpu::kKernelsAvx512.bfloat16});
    }
  }
  return loops;
}

std::vector<float> float32_matmul(const GemmShape& shape, const std::vector<float>& lhs,
                                  const std::vector<float>& rhs, GemmIsa isa) {
  const NativeGemm<float> gemm(shape, RhsForm::PackBlocks, isa);
  const Memory<float> scratch = memory<float>(gemm.scratch_bytes());
  std::vector<float> result(at(shape.m * shape.result_m));
  const ScopedFlush flush;
  gemm.run(lhs.data(), rhs.data(), nullptr, result.data(), scratch.get());
  return result;
}

/// The matmul of bfloat16 in the order of additions that Intel's manual gives for tdpbf16ps: in
/// groups of 32 along k, a sum of the elements at even places and one of those at odd places.
std::vector<float> tile_matmul(const GemmShape& s, const std::vector<float>& lhs,
                               const std::vector<float>& rhs) {
  std::vector<float> result(at(s.m * s.result_m));
  const ScopedFlush flush;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      float& sum = result[at(i * s.result_m + j)];
      for (std::int64_t group = 0; group < s.k; group += 32) {
        float parts[2] = {};
        for (std::int64_t d = group; d < std::min(group + 32, s.k); ++d) {
          float& part = parts[d % 2];
          part = std::fma(lhs[at(i * s.lhs_m + d * s.lhs_k)], rhs[at(d * s.rhs_k + j * s.rhs_n)],
                          part);
        }
        sum += parts[0] + parts[1];
      }
    }
  }
  return result;
}

/// The float32 sums of a matmul of Half.
template <class Half>
std::vector<float> sums_of(const GemmShape& shape, const std::vector<float>& lhs,
                           const std::vector<float>& rhs, GemmIsa isa) {
  const bool has_tiles = isa == GemmIsa::Amx && std::is_same_v<Half, BFloat16Bits>;
  return has_tiles ? tile_matmul(shape, lhs, rhs) : float32_matmul(shape, lhs, rhs, isa);
}

template <class Half>
std::vector<Half> half_matmul(const GemmShape& shape, const std::vector<Half>& lhs,
                              const std::vector<Half>& rhs, RhsForm form, const Loops<Half>& loops,
                              Half untouched) {
  const HalfGemm<Half> gemm(shape, form, loops.kernel);
  const Memory<PackedWord> packed = memory<PackedWord>(gemm.packed_bytes());
  const Memory<PackedWord> scratch = memory<PackedWord>(gemm.scratch_bytes());
  std::vector<Half> result(at(shape.m * shape.result_m), untouched);
  const ScopedFlush flush;
  if (form == RhsForm::Prepacked) {
    gemm.pack(rhs.data(), packed.get());
    const Memory<PackedWord> parts = memory<PackedWord>(gemm.packed_bytes());
    for (std::int64_t part = gemm.packing_parts(); part-- > 0;) {
      gemm.pack_part(part, rhs.data(), parts.get());
    }
    if (std::memcmp(packed.get(), parts.get(), gemm.packed_bytes()) != 0) {
      FAIL("parts are packed otherwise than the whole");
    }
  }
  const void* right =
      form == RhsForm::Prepacked ? static_cast<const void*>(packed.get()) : rhs.data();
  gemm.run(lhs.data(), right, result.data(), scratch.get());
  return result;
}

/// Operands of matmuls of one size, in any layout.
template <class Half>
struct Operands {
  Operands(std::int64_t m, std::int64_t n, std::int64_t k)
      : lhs(half_draws<Half>(m * k, 1)),
        rhs(half_draws<Half>(k * n, 2)),
        lhs_values(values_of(lhs)),
        rhs_values(values_of(rhs)) {}

  std::vector<Half> lhs, rhs;
  std::vector<float> lhs_values, rhs_values;
};

template <class Half>
void agrees(const GemmShape& s, const Operands<Half>& operands, const Loops<Half>& loops) {
  const Half untouched{0x1234};
  const auto want = sums_of<Half>(s, operands.lhs_values, operands.rhs_values, loops.isa);
  std::vector<std::uint16_t> want_bits(want.size(), untouched.bits);
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      const std::size_t index = at(i * s.result_m + j);
      want_bits[index] = rounded<Half>(want[index]);
    }
  }
  for (const RhsForm form : {RhsForm::Prepacked, RhsForm::PackBlocks}) {
    const auto got = half_matmul(s, operands.lhs, operands.rhs, form, loops, untouched);
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i].bits == want_bits[i]) continue;
      const auto row = static_cast<std::int64_t>(i) / s.result_m;
      FAIL("row " << row << ", column " << static_cast<std::int64_t>(i) - row * s.result_m
                  << ": not " << want[i] << " with RhsForm " << static_cast<int>(form));
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("half GEMM: float32 sums, rounded once, in every ISA and layout", "",
                   Float16Bits, BFloat16Bits) {
  const std::int64_t sizes[][3] = {{1, 1, 1},       {1, 7, 5},       {5, 7, 1},      {3, 17, 19},
                                   {8, 16, 32},     {13, 33, 31},    {25, 64, 513},  {97, 65, 40},
                                   {61, 31, 1030},  {3, 515, 520},   {1030, 33, 20}, {9, 66, 21},
                                   {57, 20, 20000}, {300, 70, 1100}, {30, 40, 2048}};
  for (const auto& [m, n, k] : sizes) {
    const Operands<TestType> operands(m, n, k);
    for (const Loops<TestType>& loops : all_loops<TestType>()) {
      for (int form = 0; form < 8; ++form) {
        INFO(loops.name << ": " << m << "x" << k << " times " << k << "x" << n << ", form "
                        << form);
        agrees(shape_of(m, n, k, form & 1, form & 2, form & 4 ? 3 : 0), operands, loops);
      }
    }
  }
}

TEMPLATE_TEST_CASE("half GEMM: float32 sums of numbers of all magnitudes", "", Float16Bits,
                   BFloat16Bits) {
  const GemmShape shape = shape_of(37, 45, 61, false, true, 0);
  const auto any = [](std::int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<TestType> halves(at(count));
    for (TestType& half : halves) {
      do half.bits = static_cast<std::uint16_t>(generator());
      while (!std::isfinite(value_of(half)));
    }
    return halves;
  };
  const std::vector<TestType> lhs = any(37 * 61, 1), rhs = any(61 * 45, 2);
  for (const Loops<TestType>& loops : all_loops<TestType>()) {
    const auto want = sums_of<TestType>(shape, values_of(lhs), values_of(rhs), loops.isa);
    for (const RhsForm form : {RhsForm::Prepacked, RhsForm::PackBlocks}) {
      const auto got = half_matmul(shape, lhs, rhs, form, loops, TestType{});
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i])) {
          CHECK(std::isnan(value_of(got[i])));
        } else {
          CHECK(got[i].bits == rounded<TestType>(want[i]));
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("half GEMM: operands with gaps both ways", "", Float16Bits, BFloat16Bits) {
  const GemmShape dense = shape_of(5, 37, 19, false, false, 0);
  GemmShape gaps = dense;
  gaps.lhs_m = 2 * 19, gaps.lhs_k = 2, gaps.rhs_k = 2 * 37, gaps.rhs_n = 2;
  const auto lhs = half_draws<TestType>(5 * 19, 1), rhs = half_draws<TestType>(19 * 37, 2);
  const auto spread = [](const std::vector<TestType>& halves) {
    std::vector<TestType> out;
    for (const TestType x : halves) out.insert(out.end(), {x, TestType{infinity_of(TestType{})}});
    return out;
  };
  for (const Loops<TestType>& loops : all_loops<TestType>()) {
    for (const RhsForm form : {RhsForm::Prepacked, RhsForm::PackBlocks}) {
      const auto want = half_matmul(dense, lhs, rhs, form, loops, TestType{});
      const auto got = half_matmul(gaps, spread(lhs), spread(rhs), form, loops, TestType{});
      CHECK(std::memcmp(got.data(), want.data(), want.size() * sizeof(TestType)) == 0);
    }
  }
}

TEMPLATE_TEST_CASE("half GEMM: every number but NaN times 1 is itself", "", Float16Bits,
                   BFloat16Bits) {
  std::vector<TestType> all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const TestType x{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(value_of(x))) all.push_back(x);
  }
  const std::vector<TestType> one{{rounded<TestType>(1.0f)}};
  const GemmShape row = shape_of(1, static_cast<std::int64_t>(all.size()), 1, false, false, 0);
  for (const Loops<TestType>& loops : all_loops<TestType>()) {
    const auto got = half_matmul(row, one, all, RhsForm::Prepacked, loops, TestType{});
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint16_t bits = all[i].bits;
      const std::uint16_t want = is_subnormal_float32(all[i]) ? 0 : bits;  // 0 + -0 is 0
      if (got[i].bits != want) FAIL(bits << " became " << got[i].bits);
    }
  }
}

TEMPLATE_TEST_CASE("half GEMM: NaN propagates, and sums out of range are infinite", "", Float16Bits,
                   BFloat16Bits) {
  const std::uint16_t infinity = infinity_of(TestType{});
  const TestType one{rounded<TestType>(1.0f)};
  const TestType last{static_cast<std::uint16_t>(infinity - 1)};
  for (const Loops<TestType>& loops : all_loops<TestType>()) {
    for (const std::uint32_t bits : {infinity + 1u, 0x7fffu, 0xffffu, infinity + 0x8001u}) {
      const TestType nan{static_cast<std::uint16_t>(bits)};
      const std::vector<TestType> lhs{one, nan}, rhs{one, one};
      const auto got = half_matmul(shape_of(1, 1, 2, false, false, 0), lhs, rhs,
                                   RhsForm::PackBlocks, loops, TestType{});
      CHECK(std::isnan(value_of(got[0])));
    }
    const std::vector<TestType> lhs{one, one, one};
    const std::vector<TestType> rhs{last, last, one, last, one, one};
    const auto got = half_matmul(shape_of(1, 2, 3, false, true, 0), lhs, rhs, RhsForm::Prepacked,
                                 loops, TestType{});
    CHECK(got[0].bits == infinity);
    CHECK(got[1].bits == last.bits);
  }
}
