// Tests bitcasts on the tested backend: they keep every bit, also those of subnormals and of NaNs,
// of all that is in memory before and after them.
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"

#include "core/ops/build.h"
#include "core/ops/halves.h"

#include <cstring>

using namespace kiln;
using namespace kiln::test;
using ir::Op;
using ir::Value;

namespace {

/// Elements of a dtype by their bits, as many as there are.
Array of_bits(DType dtype, const std::vector<std::uint64_t>& bits) {
  Array array = Array::zeros({static_cast<std::int64_t>(bits.size())}, dtype);
  auto* to = static_cast<std::byte*>(array.data());
  const std::size_t size = dtype_bytes(dtype);
  for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(to + i * size, &bits[i], size);
  return array;
}

bool has_bytes_of(const Array& a, const Array& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), b.bytes()) == 0;
}

/// Every 16-bit pattern; of wider dtypes the same bits at the top and at both ends.
std::vector<std::uint64_t> patterns(DType dtype) {
  const std::size_t width = 8 * dtype_bytes(dtype);
  std::vector<std::uint64_t> bits;
  for (std::uint64_t top = 0; top < 0x10000; top += width == 16 ? 1 : 7) {
    for (const std::uint64_t low : {0, 1}) {
      if (low == 0 || width > 16) bits.push_back(top << (width < 16 ? 0 : width - 16) | low);
    }
  }
  return bits;
}

/// Calls visit(from, to) for all dtypes of the same size.
template <class Visit>
void for_each_pair(const Visit& visit) {
  for (int i = 0; i < kDTypeCount; ++i) {
    for (int j = 0; j < kDTypeCount; ++j) {
      const auto from = static_cast<DType>(i), to = static_cast<DType>(j);
      if (i == j || from == DType::Bool || to == DType::Bool) continue;
      if (dtype_bytes(from) != dtype_bytes(to)) continue;
      INFO(dtype_name(from) << " to " << dtype_name(to));
      visit(from, to);
    }
  }
}

}  // namespace

TEST_CASE("bitcasts: keep every bit, alone and beside ops that only move elements") {
  for_each_pair([](DType from, DType to) {
    const std::vector<std::uint64_t> once = patterns(from);
    std::vector<std::uint64_t> all = once;
    all.insert(all.end(), once.begin(), once.end());
    const Array bits = of_bits(from, once), twice = of_bits(from, all);
    const Value x = placeholder(type_of(bits));
    const Value same = ir::bitcast(x, to);
    const ir::Dim size = bits.size();
    const Value moved = ir::reverse(
        ir::reshape(ir::bitcast(ir::reshape(ir::reverse(x, {0}), {size, 1}), to), {size}), {0});
    const Value joined = ir::concat({same, same}, 0);
    const Value back = ir::bitcast(same, from);
    // Ops that move halves may do so in float32.
    const bool is_half = ir::is_half(from) || ir::is_half(to);
    for (const bool optimise : {false, true}) {
      const auto results =
          evaluate({x}, {same, moved, joined, back}, {bits}, tested_backend(), optimise);
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (i == 1 && is_half) continue;
        INFO("result " << i << (optimise ? ", after the passes" : ""));
        CHECK(has_bytes_of(results[i], i == 2 ? twice : bits));
      }
      CHECK(results[0].dtype() == to);
    }
  });
}

TEST_CASE("bitcasts: take empty, size-1 and scalar operands") {
  for_each_pair([](DType from, DType to) {
    for (const std::vector<std::int64_t>& dims :
         {std::vector<std::int64_t>{0, 3}, {2, 0}, {1, 1}, {}}) {
      const Array one = Array::full(dims, 1, from);
      const Value x = placeholder(type_of(one));
      const Array result = evaluate({x}, {ir::bitcast(x, to)}, {one})[0];
      CHECK(result.dims() == dims);
      CHECK(has_bytes_of(result, one));
    }
  });
}

TEST_CASE("bitcasts: a float of integer bits follows the rules of floats") {
  // Zeros, subnormals, the smallest normal number, infinities, NaN.
  const std::vector<std::uint64_t> single = {0,          0x80000000, 1,          0x807fffff,
                                             0x00800000, 0x7f800000, 0xff800000, 0x7fc00001};
  const std::vector<double> is_zero = {1, 1, 1, 1, 0, 0, 0, 0};
  const std::vector<double> is_less = {0, 0, 0, 0, 0, 0, 1, 0};
  for (const bool wide : {false, true}) {
    std::vector<std::uint64_t> bits = single;
    if (wide) {
      bits = {0,
              1ull << 63,
              1,
              0x800fffffffffffff,
              1ull << 52,
              0x7ff0ull << 48,
              0xfff0ull << 48,
              0x7ff8000000000001};
    }
    const Array integers = of_bits(wide ? DType::Int64 : DType::Int32, bits);
    const Value x = placeholder(type_of(integers));
    const Value number = ir::bitcast(x, wide ? DType::Float64 : DType::Float32);
    const Value zero = ir::zeros_like(number);
    const auto results = evaluate(
        {x}, {ir::equal_to(number, zero), ir::less(number, zero), ir::equal_to(number, number)},
        {integers});
    CHECK(doubles(results[0]) == is_zero);
    CHECK(doubles(results[1]) == is_less);
    CHECK(doubles(results[2]) == std::vector<double>{1, 1, 1, 1, 1, 1, 1, 0});
  }
}

TEST_CASE("bitcasts: bits of what a program computes") {
  const Array x = Array(std::vector<double>{-1.5, 0.0, 2.0, 1e30}).astype(DType::Float32);
  const Value p = placeholder(type_of(x));
  const Value bits = ir::bitcast(p * 2.0, DType::UInt32);
  const auto result = evaluate({p}, {bits}, {x})[0];
  const auto expected = of_bits(DType::UInt32, {0xc0400000, 0, 0x40800000, 0x71c9f2ca});
  CHECK(has_bytes_of(result, expected));
}
