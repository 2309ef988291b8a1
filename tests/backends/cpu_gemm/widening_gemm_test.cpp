// Tests matmuls of float32 by float16 and bfloat16: the float32 GEMM of the widened rhs, bit by
// bit.
#include "backends/cpu/gemm/widening_gemm.h"
#include "core/types/at.h"
#include "tests/support/catch.h"
#include "tests/backends/cpu_gemm/halves.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using kiln::at;
using kiln::cpu::GemmIsa;
using kiln::cpu::GemmShape;
using kiln::cpu::NativeGemm;
using kiln::cpu::RhsForm;
using kiln::cpu::WideningGemm;
using namespace kiln::test;

namespace {

constexpr float kUntouched = 1234;

std::vector<float> float32_matmul(const GemmShape& shape, const std::vector<float>& lhs,
                                  const std::vector<float>& rhs, const float* bias, GemmIsa isa) {
  const NativeGemm<float> gemm(shape, RhsForm::PackBlocks, isa);
  const Memory<float> scratch = memory<float>(gemm.scratch_bytes());
  std::vector<float> result(at(shape.m * shape.result_m), kUntouched);
  const ScopedFlush flush;
  gemm.run(lhs.data(), rhs.data(), bias, result.data(), scratch.get());
  return result;
}

template <class Half>
std::vector<float> widening_matmul(const GemmShape& shape, const std::vector<float>& lhs,
                                   const std::vector<Half>& rhs, const float* bias, GemmIsa isa) {
  const WideningGemm<Half> gemm(shape, isa);
  const Memory<float> packed = memory<float>(gemm.packed_bytes());
  const Memory<float> parts = memory<float>(gemm.packed_bytes());
  const Memory<float> scratch = memory<float>(gemm.scratch_bytes());
  std::vector<float> result(at(shape.m * shape.result_m), kUntouched);
  const ScopedFlush flush;
  gemm.pack(rhs.data(), packed.get());
  for (std::int64_t part = gemm.packing_parts(); part-- > 0;) {
    gemm.pack_part(part, rhs.data(), parts.get());
  }
  if (std::memcmp(packed.get(), parts.get(), gemm.packed_bytes()) != 0) {
    FAIL("parts are packed otherwise than the whole");
  }
  gemm.run(lhs.data(), packed.get(), bias, result.data(), scratch.get());
  return result;
}

/// Compares bits; NaN has any sign and payload.
void are_same(const std::vector<float>& got, const std::vector<float>& want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const bool same = std::isnan(want[i]) ? std::isnan(got[i])
                                          : std::memcmp(&got[i], &want[i], sizeof(float)) == 0;
    if (!same) FAIL("element " << i << ": " << got[i] << ", not " << want[i]);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("widening GEMM: the bits of float32, in every ISA and layout", "", Float16Bits,
                   BFloat16Bits) {
  const std::int64_t sizes[][3] = {
      {1, 1, 1},      {1, 7, 5},     {1, 97, 40},    {1, 512, 33},    {2, 65, 19}, {2, 300, 1030},
      {3, 40, 520},   {4, 129, 77},  {5, 17, 1},     {6, 33, 600},    {8, 66, 21}, {13, 100, 31},
      {14, 31, 1024}, {29, 64, 513}, {100, 70, 700}, {300, 140, 1024}};
  for (const auto& [m, n, k] : sizes) {
    const std::vector<float> lhs = draws<float>(m * k, 1), bias = draws<float>(n, 3);
    const std::vector<TestType> rhs = half_draws<TestType>(k * n, 2);
    for (const GemmIsa isa : isas()) {
      for (int form = 0; form < 16; ++form) {
        INFO("ISA " << static_cast<int>(isa) << ": " << m << "x" << k << " times " << k << "x" << n
                    << ", form " << form);
        GemmShape shape = shape_of(m, n, k, form & 1, form & 2, form & 4 ? 3 : 0);
        shape.relu = (form & 8) != 0;
        const float* added = form & 8 ? bias.data() : nullptr;
        are_same(widening_matmul(shape, lhs, rhs, added, isa),
                 float32_matmul(shape, lhs, values_of(rhs), added, isa));
      }
    }
  }
}

TEMPLATE_TEST_CASE("widening GEMM: numbers of all magnitudes, infinities and NaN", "", Float16Bits,
                   BFloat16Bits) {
  for (const std::int64_t m : {1, 2, 5, 37}) {
    GemmShape shape = shape_of(m, 75, 6, false, false, 0);
    shape.relu = m % 2 == 0;
    const std::vector<float> lhs = values_of(any_halves<BFloat16Bits>(m * 6, 1));
    const std::vector<TestType> rhs = any_halves<TestType>(75 * 6, 2);
    for (const GemmIsa isa : isas()) {
      INFO("ISA " << static_cast<int>(isa) << ", " << m << " rows");
      are_same(widening_matmul(shape, lhs, rhs, nullptr, isa),
               float32_matmul(shape, lhs, values_of(rhs), nullptr, isa));
    }
  }
}

TEMPLATE_TEST_CASE("widening GEMM: every number but NaN times 1 is itself", "", Float16Bits,
                   BFloat16Bits) {
  std::vector<TestType> all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const TestType x{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(value_of(x))) all.push_back(x);
  }
  const GemmShape row = shape_of(1, static_cast<std::int64_t>(all.size()), 1, false, false, 0);
  for (const GemmIsa isa : isas()) {
    const std::vector<float> got = widening_matmul(row, {1.0f}, all, nullptr, isa);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float want = is_subnormal_float32(all[i]) ? 0.0f : value_of(all[i]);
      if (got[i] != want) FAIL(all[i].bits << " became " << got[i]);
    }
  }
}

TEMPLATE_TEST_CASE("widening GEMM: parts along N read one packed rhs", "", Float16Bits,
                   BFloat16Bits) {
  constexpr std::int64_t kRows = 3, kColumns = 200, kDepth = 50;
  const std::vector<float> lhs = draws<float>(kRows * kDepth, 1);
  const std::vector<TestType> rhs = half_draws<TestType>(kDepth * kColumns, 2);
  const GemmShape whole = shape_of(kRows, kColumns, kDepth, false, false, 0);
  for (const GemmIsa isa : isas()) {
    const WideningGemm<TestType> gemm(whole, isa);
    const Memory<char> packed = memory<char>(gemm.packed_bytes());
    gemm.pack(rhs.data(), packed.get());
    CHECK(gemm.packed_offset(1) == -1);
    std::vector<float> got(at(kRows * kColumns));
    for (std::int64_t begin = 0; begin < kColumns; begin += 64) {
      GemmShape part = whole;
      part.n = std::min<std::int64_t>(64, kColumns - begin);
      const WideningGemm<TestType> of_part(part, isa);
      const std::int64_t offset = of_part.packed_offset(begin);
      REQUIRE(offset >= 0);
      const Memory<float> scratch = memory<float>(of_part.scratch_bytes());
      of_part.run(lhs.data(), packed.get() + offset, nullptr, got.data() + begin, scratch.get());
    }
    are_same(got, widening_matmul(whole, lhs, rhs, nullptr, isa));
  }
}
