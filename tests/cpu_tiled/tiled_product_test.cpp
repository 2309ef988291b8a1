// Tiled products against plain sums in double: every level of the machine, all layouts, sizes
// around the edges of tiles, panels and blocks, and memory beyond the matrices left alone.
#include "backends/cpu/tiled/tiled_product.h"
#include "tests/catch.h"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

using kiln::cpu::RhsForm;
using kiln::cpu::TiledProduct;
using kiln::cpu::TiledShape;
using kiln::cpu::TileLevel;

namespace {

struct AlignedFree {
  void operator()(float* p) const { std::free(p); }
};
using Memory = std::unique_ptr<float, AlignedFree>;

Memory memory(std::size_t bytes) {
  return Memory(static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
}

std::vector<float> draws(std::int64_t count, unsigned seed) {
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

std::vector<TileLevel> levels() {
  std::vector<TileLevel> out{TileLevel::Baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back(TileLevel::Avx2);
  }
  if (__builtin_cpu_supports("avx512f")) out.push_back(TileLevel::Avx512);
  return out;
}

TiledShape shape_of(std::int64_t m, std::int64_t n, std::int64_t k, bool lhs_transposed,
                    bool rhs_transposed, std::int64_t gap) {
  TiledShape shape{m, n, k, k, 1, n, 1, n + gap};
  if (lhs_transposed) shape.lhs_row = 1, shape.lhs_depth = m;
  if (rhs_transposed) shape.rhs_depth = 1, shape.rhs_column = k;
  return shape;
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void agrees(TiledShape s, RhsForm form, TileLevel level, bool extras) {
  s.relu = extras;
  constexpr float kUntouched = 77;
  const std::vector<float> lhs = draws(s.rows * s.depth, 1), rhs = draws(s.depth * s.columns, 2);
  const TiledProduct product(s, form, level);
  const Memory packed = memory(product.packed_bytes());
  product.pack(rhs.data(), packed.get());
  const Memory scratch = memory(product.scratch_bytes());
  std::vector<float> result(at(s.rows * s.result_row), kUntouched);
  const std::vector<float> bias = draws(s.columns, 3);
  product.run(lhs.data(), form == RhsForm::Packed ? packed.get() : rhs.data(),
              extras ? bias.data() : nullptr, result.data(), scratch.get());
  const double bound = 1.3e-7 * static_cast<double>(s.depth) * (static_cast<double>(s.depth) + 9);
  for (std::int64_t i = 0; i < s.rows; ++i) {
    for (std::int64_t j = 0; j < s.result_row; ++j) {
      const float got = result[at(i * s.result_row + j)];
      if (j >= s.columns) {
        REQUIRE(got == kUntouched);
        continue;
      }
      double want = extras ? static_cast<double>(bias[at(j)]) : 0.0;
      for (std::int64_t d = 0; d < s.depth; ++d) {
        want += static_cast<double>(lhs[at(i * s.lhs_row + d * s.lhs_depth)]) *
                static_cast<double>(rhs[at(d * s.rhs_depth + j * s.rhs_column)]);
      }
      if (extras) want = std::max(want, 0.0);
      REQUIRE(std::abs(static_cast<double>(got) - want) <= bound);
    }
  }
}

}  // namespace

TEST_CASE("tiled products agree with plain sums at every level and layout") {
  const std::int64_t sizes[][3] = {{1, 1, 1},    {1, 7, 5},      {5, 7, 1},    {3, 17, 19},
                                   {8, 16, 32},  {13, 33, 31},   {12, 32, 64}, {25, 64, 513},
                                   {97, 65, 40}, {193, 31, 1030}, {3, 515, 520},
                                   {101, 270, 600}, {1030, 33, 20}, {4, 205, 31},
                                   {6, 140, 70}, {7, 97, 33},     {9, 66, 21},
                                   {1, 203, 37}, {1, 130, 16},    {1, 65, 5}};
  for (const TileLevel level : levels()) {
    for (const auto& [m, n, k] : sizes) {
      for (int form = 0; form < 8; ++form) {
        INFO("level " << static_cast<int>(level) << ": " << m << "x" << k << " times " << k << "x"
                      << n << ", form " << form);
        for (const bool extras : {false, true}) {
          const TiledShape shape = shape_of(m, n, k, form & 1, form & 2, form & 4 ? 3 : 0);
          agrees(shape, RhsForm::Packed, level, extras);
          agrees(shape, RhsForm::Blocks, level, extras);
          if (shape.rhs_column == 1) agrees(shape, RhsForm::Plain, level, extras);
          const bool lines = shape.lhs_depth == 1 && shape.rhs_depth == 1;
          if (lines) agrees(shape, RhsForm::Lines, level, extras);
        }
      }
    }
  }
}

TEST_CASE("an element's digits do not depend on the rows around it") {
  for (const TileLevel level : levels()) {
    const std::vector<float> lhs = draws(40 * 70, 1), rhs = draws(70 * 50, 2);
    const TiledProduct whole(shape_of(40, 50, 70, false, false, 0), RhsForm::Packed, level);
    const TiledProduct part(shape_of(7, 50, 70, false, false, 0), RhsForm::Packed, level);
    REQUIRE(whole.packed_bytes() == part.packed_bytes());
    const Memory packed = memory(whole.packed_bytes());
    whole.pack(rhs.data(), packed.get());
    std::vector<float> all(40 * 50), some(7 * 50);
    whole.run(lhs.data(), packed.get(), nullptr, all.data());
    part.run(lhs.data() + 20 * 70, packed.get(), nullptr, some.data());
    CHECK(std::equal(some.begin(), some.end(), all.begin() + 20 * 50));
  }
}

TEST_CASE("blocks have the digits of the whole, and lines those of any other rows and columns") {
  constexpr std::int64_t kDepth = 1100, kColumns = 300;
  for (const TileLevel level : levels()) {
    const std::vector<float> lhs = draws(9 * kDepth, 1), rhs = draws(kDepth * kColumns, 2);
    const TiledShape shape = shape_of(9, kColumns, kDepth, false, true, 0);
    const TiledProduct whole(shape, RhsForm::Packed, level), blocks(shape, RhsForm::Blocks, level);
    const Memory packed = memory(whole.packed_bytes()), scratch = memory(blocks.scratch_bytes());
    CHECK(blocks.scratch_bytes() < whole.packed_bytes());
    whole.pack(rhs.data(), packed.get());
    std::vector<float> all(9 * kColumns), again(9 * kColumns), one(1);
    whole.run(lhs.data(), packed.get(), nullptr, all.data());
    blocks.run(lhs.data(), rhs.data(), nullptr, again.data(), scratch.get());
    CHECK(all == again);
    TiledProduct(shape, RhsForm::Lines, level)
        .run(lhs.data(), rhs.data(), nullptr, again.data());
    TiledProduct(shape_of(1, 1, kDepth, false, true, 0), RhsForm::Lines, level)
        .run(lhs.data() + 7 * kDepth, rhs.data() + 290 * kDepth, nullptr, one.data());
    CHECK(one[0] == again[7 * kColumns + 290]);
  }
}

TEST_CASE("NaN and infinities go through tiled products, and padding brings none") {
  for (const TileLevel level : levels()) {
    const TiledShape shape = shape_of(2, 3, 4, false, false, 0);
    const TiledProduct product(shape, RhsForm::Packed, level);
    const Memory packed = memory(product.packed_bytes());
    std::vector<float> lhs(8, 1.0f), rhs(12, 1.0f), result(6);
    lhs[1] = INFINITY;
    rhs[2 * 3 + 1] = NAN;
    product.pack(rhs.data(), packed.get());
    product.run(lhs.data(), packed.get(), nullptr, result.data());
    CHECK(result[0] == INFINITY);
    CHECK(std::isnan(result[1]));
    CHECK(result[2] == INFINITY);
    CHECK(result[3] == 4.0f);
    CHECK(std::isnan(result[4]));
    CHECK(result[5] == 4.0f);
    TiledShape with_relu = shape;
    with_relu.relu = true;
    const float bias[] = {-INFINITY, 0, -8};
    TiledProduct(with_relu, RhsForm::Packed, level)
        .run(lhs.data(), packed.get(), bias, result.data());
    CHECK(std::isnan(result[0]));
    CHECK(std::isnan(result[1]));
    CHECK(result[3] == 0.0f);
    CHECK(std::isnan(result[4]));
    CHECK(result[5] == 0.0f);
  }
}
