// Tests Array: construction, sharing, views, reading, conversion, comparison, errors word for word.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "core/types/half.h"

#include <kiln/array.h>
#include <kiln/error.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

using namespace kiln;
using kiln::testing::error_text;

namespace {

using Dims = std::vector<std::int64_t>;

std::string show(const Array& array) {
  std::ostringstream out;
  out << array;
  return out.str();
}

template <class T>
std::vector<T> elements(const Array& array) {
  const auto span = array.as<T>();
  return {span.begin(), span.end()};
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("Array: from scalars, lists, vectors and spans") {
  CHECK(Array(2.5f).dims() == Dims{});
  CHECK(Array(2.5f).item<float>() == 2.5f);
  CHECK(Array(std::int64_t{7}).dtype() == DType::Int64);
  CHECK(Array{1.f, 2.f}.dims() == Dims{2});
  CHECK(Array{{1.f, 2.f}, {3.f, 4.f}}.dims() == Dims{2, 2});
  CHECK(Array{{1, 2, 3}}.dims() == Dims{1, 3});
  const Array cube{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}, {{9, 10}, {11, 12}}};
  CHECK(cube.dims() == Dims{3, 2, 2});
  CHECK(cube.at<int>(2, 0, 1) == 10);
  CHECK(Array({1., 2., 3., 4.}, {2, 2}) == Array{{1., 2.}, {3., 4.}});
  const std::vector<float> vector{1, 2, 3};
  CHECK(Array(vector).dims() == Dims{3});
  CHECK(Array(vector, {3, 1}).at<float>(2, 0) == 3);
  std::array<std::int8_t, 2> bytes{-1, 1};
  CHECK(Array(std::span(bytes), {2}).dtype() == DType::Int8);
  CHECK(Array(std::span<const float>(vector), {1, 3}) == Array{{1.f, 2.f, 3.f}});
  const Array implicit = 3;
  CHECK(implicit.dtype() == DType::Int32);
}

TEST_CASE("Array: bools") {
  CHECK(Array{true, false}.dtype() == DType::Bool);
  CHECK(Array{{true}, {false}}.at<bool>(0, 0));
  CHECK(Array(std::vector<bool>{true, false, true}).dims() == Dims{3});
  CHECK_FALSE(Array(std::vector<bool>{true, false}, {2, 1}).at<bool>(1, 0));
  CHECK(show(Array{true, false}) == "[ True False]");
}

TEST_CASE("Array: empty arrays and scalars") {
  CHECK(Array().dims() == Dims{0});
  CHECK(Array().dtype() == DType::Float32);
  CHECK(show(Array()) == "[]");
  const Array none = Array::zeros({0, 3}, DType::Int16);
  CHECK(none.size() == 0);
  CHECK(none.bytes() == 0);
  CHECK(none.as<std::int16_t>().empty());
  CHECK(none.astype(DType::Float32).dims() == Dims{0, 3});
  CHECK(none.reshape({7, 0}).dims() == Dims{7, 0});
  CHECK(none == Array::zeros({0, 3}, DType::Int16));
  CHECK(Array::zeros({0, std::int64_t{1} << 62, std::int64_t{1} << 62}).size() == 0);
  CHECK(Array(std::vector<float>{}).dims() == Dims{0});
  CHECK(Array::view<float>(nullptr, {0}).size() == 0);
  CHECK(show(Array(5.f)) == "5.0");
  CHECK(Array(5.f).reshape({1, 1}).dims() == Dims{1, 1});
}

TEST_CASE("Array: copies share their elements until one is written") {
  Array a{1.f, 2.f};
  Array b = a;
  CHECK(std::as_const(a).data() == std::as_const(b).data());
  b.as<float>()[0] = 9;
  CHECK(a.at<float>(0) == 1);
  CHECK(b.at<float>(0) == 9);
  const void* const own = std::as_const(b).data();
  b.as<float>()[1] = 8;
  CHECK(std::as_const(b).data() == own);
  Array c = a.reshape({2, 1});
  c.as<float>()[0] = 7;
  CHECK(a.at<float>(0) == 1);
  Array d = a.astype(DType::Float32);
  d.as<float>()[0] = 6;
  CHECK(a.at<float>(0) == 1);
}

TEST_CASE("Array: a moved-from array is the scalar 0") {
  Array a{1.f, 2.f};
  const void* const elements_before = std::as_const(a).data();
  Array b = std::move(a);
  CHECK(std::as_const(b).data() == elements_before);
  CHECK(show(a) == "0.0");  // NOLINT: what is promised after a move
  CHECK(a.rank() == 0);
  CHECK(a.size() == 1);
  Array integers({std::int64_t{1}, std::int64_t{2}}, {2, 1});
  const Array taken = std::move(integers);
  CHECK(taken == Array({std::int64_t{1}, std::int64_t{2}}, {2, 1}));
  CHECK(integers == Array(0.f));  // NOLINT
  a.as<float>()[0] = 3;  // must not touch the zero that all moved-from arrays show
  Array c = std::move(b);
  CHECK(b.item<float>() == 0);  // NOLINT
  CHECK(a.item<float>() == 3);
  Array& self = c;
  c = self;
  CHECK(c.at<float>(1) == 2);
  c = std::move(self);
  CHECK(c.at<float>(1) == 2);
}

TEST_CASE("Array: views read the caller's memory and never write it") {
  std::vector<float> memory{1, 2, 3, 4};
  Array view = Array::view(memory.data(), {2, 2});
  CHECK(std::as_const(view).data() == memory.data());
  const Array copy = view;
  CHECK(copy.data() == memory.data());
  memory[0] = 5;
  CHECK(view.at<float>(0, 0) == 5);
  const Array same = view.astype(DType::Float32);
  CHECK(same.data() != memory.data());
  view.as<float>()[0] = 6;
  CHECK(memory[0] == 5);
  CHECK(view.at<float>(0, 0) == 6);
  CHECK(copy.at<float>(0, 0) == 5);
  CHECK(error_text<ValueError>([] { Array::view<float>(nullptr, {1}); }) ==
        "Array: elements is null");
  const char* const bytes = reinterpret_cast<const char*>(memory.data()) + 1;
  CHECK(error_text<ValueError>([&] { Array::view(bytes, {1}, DType::Float32); }) ==
        "Array: elements of float32 are not at a multiple of 4 bytes");
  CHECK(error_text<ValueError>([] { Array::copy_of(nullptr, {1}, DType::Int8); }) ==
        "Array: elements is null");
}

TEST_CASE("Array: elements are aligned") {
  for (int i = 1; i < 50; ++i) {
    const Array array = Array::zeros({i}, DType::Int8);
    CHECK(reinterpret_cast<std::uintptr_t>(array.data()) % 64 == 0);
  }
}

TEST_CASE("Array: errors word for word") {
  CHECK(error_text<TypeError>([] {
          const Array a(1.f);
          static_cast<void>(a.as<double>());
        }) == "Array: elements of dtype float32 are read as float64");
  CHECK(error_text<TypeError>([] { Array{1, 2}.at<float>(0); }) ==
        "Array: elements of dtype int32 are read as float32");
  CHECK(error_text<ValueError>([] { Array{1, 2}.item<int>(); }) ==
        "item: an array of 2 elements has no single item");
  CHECK(error_text<ValueError>([] { Array{1, 2}.at<int>(2); }) ==
        "at: index [2] is out of range for shape [2]");
  CHECK(error_text<ValueError>([] { Array{1, 2}.at<int>(-1); }) ==
        "at: index [-1] is out of range for shape [2]");
  CHECK(error_text<ValueError>([] { Array{1, 2}.at<int>(0, 0); }) ==
        "at: index [0,0] is out of range for shape [2]");
  CHECK(error_text<ValueError>([] { Array{1, 2}.reshape({3}); }) ==
        "reshape: dims [3] do not hold the 2 elements of [2]");
  CHECK(error_text<ValueError>([] { Array({1, 2}, {3}); }) ==
        "Array: dims [3] hold 3 elements but 2 were given");
  CHECK(error_text<ValueError>([] { Array{{1, 2}, {3}}; }) == "Array: rows of 2 and of 1 elements");
  CHECK(error_text<ValueError>([] { Array{{{1}, {2}}, {{3}}}; }) ==
        "Array: matrices of 2 and of 1 rows");
  CHECK(error_text<ValueError>([] { Array{{{1}, {2, 3}}}; }) ==
        "Array: rows of 1 and of 2 elements");
  CHECK(error_text<ValueError>([] { Array::zeros({2, -1}); }) ==
        "Array: dims [2,-1] have a negative size");
  constexpr std::int64_t kBig = std::int64_t{1} << 31;
  CHECK(error_text<ValueError>([] { Array::zeros({2 * kBig, kBig}); }) ==
        "Array: dims [4294967296,2147483648] hold 2^63 elements or more");
  CHECK(error_text<ValueError>([] { Array::zeros(Dims(65, 1)); }) == "Array: rank 65 exceeds 64");
  CHECK(error_text<OutOfMemory>([] { Array::zeros({std::int64_t{1} << 61}, DType::Float64); }) ==
        "Array: no memory for float64[2305843009213693952], which is more than 2^63 bytes");
  CHECK(Array::zeros(Dims(64, 1)).size() == 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the process
TEST_CASE("Array: more than the address space is an error") {
  CHECK(error_text<OutOfMemory>([] { Array::zeros({std::int64_t{1} << 60}, DType::Int8); }) ==
        "Array: no memory for 1152921504606846976 bytes of int8[1152921504606846976]");
}
#endif

TEST_CASE("Array: equality of dtype, dims and bits") {
  CHECK(Array{1.f, 2.f} == Array{1.f, 2.f});
  CHECK(Array{1.f, 2.f} != Array{1.f, 3.f});
  CHECK(Array{1.f} != Array(1.f));
  CHECK(Array{0} != Array{0u});
  CHECK(Array{0.f} != Array{-0.f});
  CHECK(Array{kNaN} == Array{kNaN});
}

TEST_CASE("Array: full converts its value as a cast does") {
  CHECK(Array::full({2}, 1.5) == Array{1.5f, 1.5f});
  CHECK(Array::full({2}, 1.9, DType::Int32) == Array{1, 1});
  CHECK(Array::full({}, 0.5, DType::Bool).item<bool>());
  CHECK(Array::full({1}, 300, DType::UInt8).at<std::uint8_t>(0) == 255);
}

TEST_CASE("Array: casts from float truncate and saturate") {
  const Array a{1.9, -1.9, 1e30, -1e30, kInf, -kInf, kNaN, -0.5};
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
  CHECK(elements<std::int32_t>(a.astype(DType::Int32)) ==
        std::vector<std::int32_t>{1, -1, kMax, kMin, kMax, kMin, 0, 0});
  CHECK(elements<std::uint8_t>(a.astype(DType::UInt8)) ==
        std::vector<std::uint8_t>{1, 0, 255, 0, 255, 0, 0, 0});
  CHECK(elements<std::int64_t>(a.astype(DType::Int64))[2] ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(elements<std::uint64_t>(a.astype(DType::UInt64))[2] ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(a.astype(DType::Bool) == Array{true, true, true, true, true, true, true, true});
  CHECK(Array{0., -0., 2.}.astype(DType::Bool) == Array{false, false, true});
}

TEST_CASE("Array: casts between integers and bools") {
  CHECK(Array{true, false}.astype(DType::Float32) == Array{1.f, 0.f});
  CHECK(Array{true, false}.astype(DType::Int64) == Array{std::int64_t{1}, std::int64_t{0}});
  CHECK(Array{-3, 0, 5}.astype(DType::Bool) == Array{true, false, true});
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  CHECK(Array(big).astype(DType::UInt64).item<std::uint64_t>() == static_cast<std::uint64_t>(big));
}

TEST_CASE("Array: casts to halves round once") {
  // 1 + 2^-11 + 2^-40 lies above the tie of float16: through float32 it would become the tie.
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;
  CHECK(Array(above_tie).astype(DType::Float16).item<float16>().bits == 0x3c01);
  CHECK(Array(1 + 0x1p-11).astype(DType::Float16).item<float16>().bits == 0x3c00);
  CHECK(Array(1 + 0x1p-8 + 0x1p-40).astype(DType::BFloat16).item<bfloat16>().bits == 0x3f81);
  CHECK(Array(1e9f).astype(DType::Float16).item<float16>().bits == 0x7c00);
  CHECK(Array(float16{0x3c00}).astype(DType::Float32).item<float>() == 1);
  CHECK(Array{bfloat16{0x4000}}.astype(DType::Int8) == Array{std::int8_t{2}});
}

TEST_CASE("Array: prints through operator<<") {
  CHECK(show(Array{{1.f, 2.f}, {3.f, 4.f}}) == "[[1. 2.]\n [3. 4.]]");
  CHECK(show(Array{0.1f, 0.25f}) == "[0.1  0.25]");
  CHECK(show(Array{1, -20}) == "[  1 -20]");
  CHECK(show(Array::zeros({2000})) == "[0. 0. 0. ... 0. 0. 0.]");
  CHECK(show(Array{{{1}, {2}}}) == "[[[1]\n  [2]]]");
  CHECK(show(Array::zeros(Dims(64, 1), DType::Int8)) ==
        std::string(64, '[') + "0" + std::string(64, ']'));
}

TEST_CASE("Array: threads may copy one array and write their copies", "[concurrency]") {
  const Array shared{1.f, 2.f};
  std::vector<std::thread> threads;
  std::vector<float> sums(8);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 1000; ++round) {
        Array own = shared;
        own.as<float>()[0] += static_cast<float>(i);
        sums[i] = own.at<float>(0) + shared.at<float>(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(sums[i] == 3 + static_cast<float>(i));
}

TEST_CASE("Array: the last owner writes in place once the other owners are gone", "[concurrency]") {
  for (int round = 0; round < 200; ++round) {
    Array mine{1.f, 2.f};
    std::thread other([copy = mine] { static_cast<void>(copy.at<float>(0)); });
    mine.as<float>()[0] = 2;  // before, during or after the other thread's last read
    other.join();
    REQUIRE(mine.at<float>(0) == 2);
  }
}
