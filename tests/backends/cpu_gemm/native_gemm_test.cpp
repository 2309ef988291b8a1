// Tests the native GEMM against plain sums in wider types: every element type, ISA and layout,
// sizes around the edges of tiles, panels and blocks. Memory outside of the matrices must not
// change.
#include "core/types/at.h"
#include "tests/backends/cpu_gemm/tiles.h"
#include "tests/support/catch.h"

#include <bit>
#include <cmath>
#include <cstring>

using kiln::at;
using kiln::cpu::GemmIsa;
using kiln::cpu::GemmShape;
using kiln::cpu::NativeGemm;
using kiln::cpu::RhsForm;
using namespace kiln::test;

namespace {

/// The error bound of a sum of `k` terms below 1 and a bias.
template <class T>
long double bound_of(std::int64_t k) {
  if (std::is_integral_v<T>) return 0;
  const long double unit = sizeof(T) == 4 ? 1.3e-7L : 2.3e-16L;
  return unit * static_cast<long double>(k) * static_cast<long double>(k + 9);
}

/// The type of the exact sum: wider than a float, T itself for integers, which wrap.
template <class T>
using Exact = std::conditional_t<std::is_integral_v<T>, T,
                                 std::conditional_t<sizeof(T) == 4, double, long double>>;

/// Operands of a matmul and its result by plain sums.
template <class T>
struct Example {
  explicit Example(const GemmShape& shape)
      : s(shape), lhs(draws<T>(s.m * s.k, 1)), rhs(draws<T>(s.k * s.n, 2)), bias(draws<T>(s.n, 3)) {
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) want.push_back(sum(i, j));
    }
  }

  Exact<T> sum(std::int64_t i, std::int64_t j) const {
    Exact<T> sum = s.relu ? static_cast<Exact<T>>(bias[at(j)]) : 0;
    for (std::int64_t d = 0; d < s.k; ++d) {
      sum += static_cast<Exact<T>>(lhs[at(i * s.lhs_m + d * s.lhs_k)]) *
             static_cast<Exact<T>>(rhs[at(d * s.rhs_k + j * s.rhs_n)]);
    }
    return s.relu ? std::max(sum, Exact<T>(0)) : sum;
  }

  GemmShape s;  // relu implies a bias
  std::vector<T> lhs, rhs, bias;
  std::vector<Exact<T>> want;
};

template <class T>
void agrees(const Example<T>& example, RhsForm form, GemmIsa isa) {
  constexpr T kUntouched = 77;
  const GemmShape& s = example.s;
  const NativeGemm<T> gemm(s, form, isa);
  const Memory<T> packed = memory<T>(gemm.packed_bytes());
  gemm.pack(example.rhs.data(), packed.get());
  const Memory<T> parts = memory<T>(gemm.packed_bytes());
  for (std::int64_t part = gemm.packing_parts(); part-- > 0;) {
    gemm.pack_part(part, example.rhs.data(), parts.get());
  }
  if (std::memcmp(packed.get(), parts.get(), gemm.packed_bytes()) != 0) {
    FAIL("parts are packed otherwise than the whole");
  }
  const Memory<T> scratch = memory<T>(gemm.scratch_bytes());
  std::vector<T> result(at(s.m * s.result_m), kUntouched);
  gemm.run(example.lhs.data(), form == RhsForm::Prepacked ? packed.get() : example.rhs.data(),
           s.relu ? example.bias.data() : nullptr, result.data(), scratch.get());
  const long double bound = bound_of<T>(s.k);
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.result_m; ++j) {
      const T got = result[at(i * s.result_m + j)];
      if (j >= s.n) {
        if (got != kUntouched) FAIL("row " << i << ": wrote behind its columns");
        continue;
      }
      const Exact<T> exact = got, want = example.want[at(i * s.n + j)];
      if (static_cast<long double>(exact > want ? exact - want : want - exact) <= bound) continue;
      FAIL("row " << i << ", column " << j << ": " << got << " instead of " << want);
    }
  }
}

template <class T>
void agree_in_all_forms(const GemmShape& shape) {
  const Example<T> example(shape);
  for (const GemmIsa isa : isas()) {
    INFO("ISA " << static_cast<int>(isa));
    agrees<T>(example, RhsForm::Prepacked, isa);
    agrees<T>(example, RhsForm::PackBlocks, isa);
    if (shape.rhs_n == 1) agrees<T>(example, RhsForm::InPlace, isa);
    const bool lines = shape.lhs_k == 1 && shape.rhs_k == 1;
    if (lines) agrees<T>(example, RhsForm::DotProducts, isa);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("native GEMM: agrees with plain sums in every ISA and layout", "", float, double,
                   unsigned, unsigned long) {
  const std::int64_t sizes[][3] = {
      {1, 1, 1},     {1, 7, 5},       {5, 7, 1},      {3, 17, 19},  {8, 16, 32},     {2, 2, 2},
      {13, 33, 31},  {12, 32, 64},    {25, 64, 513},  {97, 65, 40}, {193, 31, 1030}, {15, 9, 7},
      {3, 515, 520}, {101, 270, 600}, {1030, 33, 20}, {4, 205, 31}, {6, 140, 70},    {16, 8, 17},
      {7, 97, 33},   {9, 66, 21},     {1, 203, 37},   {1, 130, 16}, {1, 65, 5},      {31, 15, 8}};
  for (const auto& [m, n, k] : sizes) {
    for (int form = 0; form < 8; ++form) {
      INFO(m << "x" << k << " times " << k << "x" << n << ", form " << form);
      GemmShape shape = shape_of(m, n, k, form & 1, form & 2, form & 4 ? 3 : 0);
      shape.relu = std::popcount(static_cast<unsigned>(form)) % 2 == 0;
      agree_in_all_forms<TestType>(shape);
    }
  }
}

TEMPLATE_TEST_CASE("native GEMM: tiles of every height, odd and even K", "", float, double) {
  for (std::int64_t m = 1; m <= 30; ++m) {
    for (const std::int64_t k : {1, 2, 3, 4, 7, 514, 515}) {
      INFO(m << " rows, K = " << k);
      agree_in_all_forms<TestType>(shape_of(m, 100, k, m % 2 == 0, false, 1));
    }
  }
}

namespace {

template <class T>
std::size_t scratch_of(const GemmShape& shape, RhsForm form, GemmIsa isa) {
  return NativeGemm<T>(shape, form, isa).scratch_bytes();
}

/// The result for an lhs whose rows are `stride` apart, of the elements of `lhs`.
template <class T>
std::vector<T> result_at_stride(GemmShape shape, std::int64_t stride, const std::vector<T>& lhs,
                                const std::vector<T>& rhs, RhsForm form, GemmIsa isa) {
  std::vector<T> spread(at(shape.m * stride));
  for (std::int64_t i = 0; i < shape.m; ++i) {
    std::copy_n(lhs.begin() + i * shape.k, shape.k, spread.begin() + i * stride);
  }
  shape.lhs_m = stride;
  const NativeGemm<T> gemm(shape, form, isa);
  const Memory<T> packed = memory<T>(gemm.packed_bytes());
  gemm.pack(rhs.data(), packed.get());
  const Memory<T> scratch = memory<T>(gemm.scratch_bytes());
  std::vector<T> result(at(shape.m * shape.n));
  gemm.run(spread.data(), form == RhsForm::Prepacked ? packed.get() : rhs.data(), nullptr,
           result.data(), scratch.get());
  return result;
}

constexpr RhsForm kFormsThatCopy[] = {RhsForm::PackBlocks, RhsForm::Prepacked, RhsForm::InPlace};

}  // namespace

TEMPLATE_TEST_CASE("native GEMM: copied rows of lhs give the bits of rows in place", "", float,
                   double, unsigned) {
  constexpr std::int64_t kStride = 4096 / sizeof(TestType);
  for (const auto& [m, n] : {std::pair{9, 130}, {98, 128}, {99, 128}, {131, 141}, {1030, 129}}) {
    const GemmShape shape = shape_of(m, n, kStride, false, false, 0);
    const auto lhs = draws<TestType>(m * kStride, 1), rhs = draws<TestType>(kStride * n, 2);
    agree_in_all_forms<TestType>(shape);
    for (const GemmIsa isa : isas()) {
      for (const RhsForm form : kFormsThatCopy) {
        INFO(m << " x " << n << ", ISA " << static_cast<int>(isa));
        const auto copied = result_at_stride(shape, kStride, lhs, rhs, form, isa);
        CHECK(copied == result_at_stride(shape, kStride + 1, lhs, rhs, form, isa));
      }
    }
  }
}

TEMPLATE_TEST_CASE("native GEMM: rows of lhs that exceed a cache set are copied", "", float, double,
                   unsigned) {
  constexpr std::int64_t kBytes = sizeof(TestType), kStride = 4096 / kBytes;
  constexpr std::int64_t kLargest = (std::int64_t{8} << 20) / (kBytes * 9);
  const struct {
    std::int64_t m, n, k, lhs_m;
    bool copies;  // if tiles have more than 8 rows
  } rows[] = {
      {9, 128, kStride, kStride, true},
      {14, 128, kStride, kStride, true},
      {17, 128, kStride, kStride, true},
      {1030, 128, kStride, kStride, true},
      {14, 128, 40, 4 * kStride, true},
      {9, 128, kLargest, 2048 * kStride, true},
      {8, 128, kStride, kStride, false},
      {15, 128, kStride, kStride, false},
      {16, 128, kStride, kStride, false},
      {14, 127, kStride, kStride, false},
      {14, 128, kStride, kStride + 1, false},
      {14, 128, kStride, kStride / 2, false},
      {9, 128, kLargest + 1, 2048 * kStride, false},
      {14, 128, kStride, 0, false},
  };
  for (const auto& row : rows) {
    GemmShape shape = shape_of(row.m, row.n, row.k, false, false, 0);
    shape.lhs_m = row.lhs_m;
    GemmShape plain = shape;
    plain.lhs_m = kStride + 1;
    for (const GemmIsa isa : isas()) {
      for (const RhsForm form : kFormsThatCopy) {
        INFO(row.m << " x " << row.n << " x " << row.k << ", stride " << row.lhs_m << ", ISA "
                   << static_cast<int>(isa));
        const bool copies = row.copies && isa >= GemmIsa::Avx512;
        const std::size_t own = scratch_of<TestType>(plain, form, isa);
        CHECK((scratch_of<TestType>(shape, form, isa) > own) == copies);
        CHECK((form == RhsForm::PackBlocks) == (own != 0));
      }
    }
  }
}

TEMPLATE_TEST_CASE("native GEMM: an element does not depend on other rows", "", float, double) {
  using T = TestType;
  for (const GemmIsa isa : isas()) {
    const std::vector<T> lhs = draws<T>(40 * 70, 1), rhs = draws<T>(70 * 50, 2);
    const NativeGemm<T> whole(shape_of(40, 50, 70, false, false, 0), RhsForm::Prepacked, isa);
    const NativeGemm<T> part(shape_of(7, 50, 70, false, false, 0), RhsForm::Prepacked, isa);
    REQUIRE(whole.packed_bytes() == part.packed_bytes());
    const Memory<T> packed = memory<T>(whole.packed_bytes());
    whole.pack(rhs.data(), packed.get());
    std::vector<T> all(40 * 50), some(7 * 50);
    whole.run(lhs.data(), packed.get(), nullptr, all.data(), nullptr);
    part.run(lhs.data() + 20 * 70, packed.get(), nullptr, some.data(), nullptr);
    CHECK(std::equal(some.begin(), some.end(), all.begin() + 20 * 50));
  }
}

TEMPLATE_TEST_CASE("native GEMM: blocks have the bits of the whole, rows those of other shapes", "",
                   float, double) {
  using T = TestType;
  constexpr std::int64_t kK = 1100, kN = 300;
  for (const GemmIsa isa : isas()) {
    const std::vector<T> lhs = draws<T>(9 * kK, 1), rhs = draws<T>(kK * kN, 2);
    const GemmShape shape = shape_of(9, kN, kK, false, true, 0);
    const NativeGemm<T> whole(shape, RhsForm::Prepacked, isa);
    const NativeGemm<T> blocks(shape, RhsForm::PackBlocks, isa);
    const Memory<T> packed = memory<T>(whole.packed_bytes());
    const Memory<T> scratch = memory<T>(blocks.scratch_bytes());
    CHECK(blocks.scratch_bytes() < whole.packed_bytes());
    whole.pack(rhs.data(), packed.get());
    std::vector<T> all(9 * kN), again(9 * kN), one(1);
    whole.run(lhs.data(), packed.get(), nullptr, all.data(), nullptr);
    blocks.run(lhs.data(), rhs.data(), nullptr, again.data(), scratch.get());
    CHECK(all == again);
    NativeGemm<T>(shape, RhsForm::DotProducts, isa)
        .run(lhs.data(), rhs.data(), nullptr, again.data(), nullptr);
    NativeGemm<T>(shape_of(1, 1, kK, false, true, 0), RhsForm::DotProducts, isa)
        .run(lhs.data() + 7 * kK, rhs.data() + 290 * kK, nullptr, one.data(), nullptr);
    CHECK(one[0] == again[7 * kN + 290]);
  }
}

TEMPLATE_TEST_CASE("native GEMM: NaN and infinities propagate, and padding adds none", "", float,
                   double) {
  using T = TestType;
  for (const GemmIsa isa : isas()) {
    const GemmShape shape = shape_of(2, 3, 4, false, false, 0);
    const NativeGemm<T> gemm(shape, RhsForm::Prepacked, isa);
    const Memory<T> packed = memory<T>(gemm.packed_bytes());
    std::vector<T> lhs(8, 1), rhs(12, 1), result(6);
    lhs[1] = INFINITY;
    rhs[2 * 3 + 1] = NAN;
    gemm.pack(rhs.data(), packed.get());
    gemm.run(lhs.data(), packed.get(), nullptr, result.data(), nullptr);
    CHECK(result[0] == INFINITY);
    CHECK(std::isnan(result[1]));
    CHECK(result[2] == INFINITY);
    CHECK(result[3] == 4);
    CHECK(std::isnan(result[4]));
    CHECK(result[5] == 4);
    GemmShape with_relu = shape;
    with_relu.relu = true;
    const T bias[] = {-INFINITY, 0, -8};
    NativeGemm<T>(with_relu, RhsForm::Prepacked, isa)
        .run(lhs.data(), packed.get(), bias, result.data(), nullptr);
    CHECK(std::isnan(result[0]));
    CHECK(std::isnan(result[1]));
    CHECK(result[3] == 0);
    CHECK(std::isnan(result[4]));
    CHECK(result[5] == 0);
  }
}
