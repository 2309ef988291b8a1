// Compares reduce_ranks with sums whose order is written out, and its dtypes with exact arithmetic
// in long double: neither shares code with it.
#include "tests/support/catch.h"

#include "runtime/distributed/levels.h"
#include "runtime/distributed/rank_tree.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace kiln;
using namespace kiln::runtime::distributed;

namespace {

/// Evaluates a sum of single-digit ranks with parentheses: "((01)(23))4" is ((a+b)+(c+d))+e.
struct WrittenSum {
  const char* at;
  const std::vector<std::vector<float>>& leaves;
  std::size_t element;

  float term() {
    if (*at == '(') {
      ++at;
      const float sum = pair();
      ++at;
      return sum;
    }
    return leaves[static_cast<std::size_t>(*at++ - '0')][element];
  }
  float pair() {
    const float left = term();
    if (*at == '\0' || *at == ')') return left;
    return left + term();
  }
};

template <class T>
std::vector<const std::byte*> addresses(const std::vector<std::vector<T>>& leaves) {
  std::vector<const std::byte*> all;
  for (const auto& leaf : leaves) all.push_back(reinterpret_cast<const std::byte*>(leaf.data()));
  return all;
}

template <class T>
std::vector<T> reduced(DType dtype, Reduction reduction,
                       const std::vector<std::vector<T>>& leaves) {
  std::vector<T> result(leaves[0].size());
  reduce_ranks(dtype, reduction, dtype, dtype, addresses(leaves), result.size(),
               reinterpret_cast<std::byte*>(result.data()));
  return result;
}

std::vector<std::vector<float>> random_leaves(std::size_t ranks, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(7 * ranks + count));
  std::uniform_int_distribution<int> exponent(-20, 20);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> leaves(ranks, std::vector<float>(count));
  for (auto& leaf : leaves) {
    for (float& x : leaf) x = std::ldexp(normal(random), exponent(random));
  }
  return leaves;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

}  // namespace

TEST_CASE("rank tree: sums have the written order") {
  const std::vector<std::string> orders = {"0",
                                           "01",
                                           "(01)2",
                                           "(01)(23)",
                                           "((01)(23))4",
                                           "((01)(23))(45)",
                                           "((01)(23))((45)6)",
                                           "((01)(23))((45)(67))",
                                           "(((01)(23))((45)(67)))8"};
  for (const std::string& order : orders) {
    const auto ranks = static_cast<std::size_t>(
        std::count_if(order.begin(), order.end(), [](char c) { return c >= '0' && c <= '9'; }));
    for (const std::size_t count : {0, 1, 7, 511, 512, 513, 2000}) {
      CAPTURE(order, count);
      const auto leaves = random_leaves(ranks, count);
      std::vector<float> expected(count);
      for (std::size_t i = 0; i < count; ++i) {
        expected[i] = WrittenSum{order.c_str(), leaves, i}.pair();
      }
      CHECK(bits_of(reduced(DType::Float32, Reduction::Sum, leaves)) == bits_of(expected));
    }
  }
}

TEST_CASE("rank tree: levels give the bits of one") {
  for (const std::size_t ranks : {1, 2, 3, 4, 6, 8, 12, 24, 48, 80, 96}) {
    for (const std::size_t host : {1, 2, 3, 4, 8}) {
      CAPTURE(ranks, host);
      const std::size_t count = 20;
      auto leaves = random_leaves(ranks, count);
      const auto expected = bits_of(reduced(DType::Float32, Reduction::Sum, leaves));
      for (const std::size_t size : level_sizes(ranks, host)) {
        std::vector<std::vector<float>> next;
        for (std::size_t first = 0; first < leaves.size(); first += size) {
          next.push_back(
              reduced(DType::Float32, Reduction::Sum,
                      std::vector(leaves.begin() + static_cast<std::ptrdiff_t>(first),
                                  leaves.begin() + static_cast<std::ptrdiff_t>(first + size))));
        }
        leaves = next;
      }
      REQUIRE(leaves.size() == 1);
      CHECK(bits_of(leaves[0]) == expected);
    }
  }
}

TEST_CASE("levels: sizes") {
  struct Row {
    std::size_t ranks, host;
    std::vector<std::size_t> sizes;
  };
  const std::vector<Row> rows = {
      {1, 1, {1}},     {3, 1, {3}},          {8, 1, {8}},
      {8, 4, {4, 2}},  {6, 3, {6}},  // not a power of two: hosts of 3 are no subtrees
      {12, 4, {4, 3}}, {24, 1, {8, 3}},      {34, 1, {2, 17}},
      {31, 1, {31}},   {512, 8, {8, 16, 4}}, {512, 1, {16, 16, 2}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.ranks, row.host);
    CHECK(level_sizes(row.ranks, row.host) == row.sizes);
  }
}

TEST_CASE("rank tree: NaN, zeros, subnormals and infinities") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const float small = std::numeric_limits<float>::denorm_min();
  const std::vector<std::vector<float>> leaves = {{nan, inf, -0.f, 0.f, small, 0x1.8p-126f, 1},
                                                  {1, -inf, 0.f, -0.f, 1, -0x1p-126f, 2}};
  const auto sums = reduced(DType::Float32, Reduction::Sum, leaves);
  CHECK(std::isnan(sums[0]));
  CHECK(std::isnan(sums[1]));
  CHECK((sums[2] == 0 && !std::signbit(sums[2])));
  CHECK(sums[4] == 1);
  CHECK((sums[5] == 0 && !std::signbit(sums[5])));  // 0x1p-127 is subnormal
  const auto most = reduced(DType::Float32, Reduction::Max, leaves);
  CHECK(std::isnan(most[0]));
  CHECK(most[1] == inf);
  CHECK((most[2] == 0 && !std::signbit(most[2]) && !std::signbit(most[3])));
  CHECK(most[6] == 2);
  const auto least = reduced(DType::Float32, Reduction::Min, leaves);
  CHECK(std::isnan(least[0]));
  CHECK((least[2] == 0 && std::signbit(least[2]) && std::signbit(least[3])));
  CHECK((least[4] == 0 && least[6] == 1));
}

TEST_CASE("rank tree: subnormal operands and sums are zero in blocks of any size") {
  const auto flushed = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? x * 0 : x; };
  std::mt19937 random(11);
  for (const std::size_t count : {5, 512, 1300}) {
    std::vector<std::vector<float>> leaves(3, std::vector<float>(count));
    std::vector<float> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (auto& leaf : leaves) {  // exponents around the smallest normal number, either sign
        leaf[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0x81ffffffu);
      }
      expected[i] =
          flushed(flushed(flushed(leaves[0][i]) + flushed(leaves[1][i])) + flushed(leaves[2][i]));
    }
    CHECK(bits_of(reduced(DType::Float32, Reduction::Sum, leaves)) == bits_of(expected));
  }
}

TEST_CASE("rank tree: integers wrap, bools are any and all") {
  CHECK(reduced<std::int8_t>(DType::Int8, Reduction::Sum, {{127, -128}, {1, -1}, {0, 5}}) ==
        std::vector<std::int8_t>{-128, -124});
  CHECK(reduced<std::uint64_t>(DType::UInt64, Reduction::Sum, {{~0ull}, {2}}) ==
        std::vector<std::uint64_t>{1});
  CHECK(reduced<std::int64_t>(DType::Int64, Reduction::Min, {{-5, 5}, {4, -4}}) ==
        std::vector<std::int64_t>{-5, -4});
  CHECK(reduced<std::uint8_t>(DType::Bool, Reduction::Max, {{0, 0, 1}, {0, 1, 1}}) ==
        std::vector<std::uint8_t>{0, 1, 1});
  CHECK(reduced<std::uint8_t>(DType::Bool, Reduction::Min, {{0, 0, 1}, {0, 1, 1}}) ==
        std::vector<std::uint8_t>{0, 0, 1});
  CHECK_FALSE(is_reducible(DType::Bool, Reduction::Sum));
  CHECK(is_reducible(DType::Bool, Reduction::Max));
}

TEST_CASE("rank tree: halves add in float32 and round once, also over levels") {
  // 2048 + 1 is not a float16, but 2048 + 1 + 1 is.
  const std::uint16_t big = 0x6800, one = 0x3c00;
  const std::vector<std::vector<std::uint16_t>> leaves = {{one}, {big}, {one}};
  CHECK(reduced(DType::Float16, Reduction::Sum, leaves) == std::vector<std::uint16_t>{0x6801});
  CHECK(partial_dtype(DType::Float16, Reduction::Sum) == DType::Float32);
  CHECK(partial_dtype(DType::BFloat16, Reduction::Max) == DType::BFloat16);
  std::vector<std::vector<float>> partial = {{0}, {1}};
  const std::vector<std::vector<std::uint16_t>> first = {{one}, {big}};
  reduce_ranks(DType::Float16, Reduction::Sum, DType::Float16, DType::Float32, addresses(first), 1,
               reinterpret_cast<std::byte*>(partial[0].data()));
  CHECK(partial[0][0] == 2049);
  std::vector<std::uint16_t> whole(1);
  reduce_ranks(DType::Float16, Reduction::Sum, DType::Float32, DType::Float16, addresses(partial),
               1, reinterpret_cast<std::byte*>(whole.data()));
  CHECK(whole[0] == 0x6801);
}

TEST_CASE("rank tree: the result may replace a leaf") {
  auto leaves = random_leaves(5, 1300);
  const auto expected = bits_of(reduced(DType::Float32, Reduction::Sum, leaves));
  const auto from = addresses(leaves);
  reduce_ranks(DType::Float32, Reduction::Sum, DType::Float32, DType::Float32, from, 1300,
               reinterpret_cast<std::byte*>(leaves[3].data()));
  CHECK(bits_of(leaves[3]) == expected);
}
