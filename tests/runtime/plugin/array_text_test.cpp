// Compares the text of arrays with the text that NumPy 1.24 prints for the same values.
#include "tests/support/catch.h"

#include "core/types/half.h"
#include "runtime/array/array_text.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

using namespace kiln;
using namespace kiln::runtime;

namespace {

template <class T>
std::string show(DType dtype, const std::vector<std::int64_t>& dims, std::vector<T> values) {
  return array_text({dtype, dims, values.data()});
}

std::string show(const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
  return show<float>(DType::Float32, dims, values);
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("array text: floats align at the point", "[plugin]") {
  CHECK(show({1, 1}, {1}) == "[[1.]]");
  CHECK(show({2, 2}, {1, 2, 3, 4}) == "[[1. 2.]\n [3. 4.]]");
  CHECK(show({3}, {1, -2.5, 10}) == "[ 1.  -2.5 10. ]");
  CHECK(show({2}, {0.1f, 0.2f}) == "[0.1 0.2]");
  CHECK(show({1}, {1.0f / 3}) == "[0.33333334]");
  CHECK(show<double>(DType::Float64, {1}, {1.0 / 3}) == "[0.33333333]");
  CHECK(show({2}, {0, -0.0f}) == "[ 0. -0.]");
  CHECK(show({2, 1, 2}, {1, 2, 3, 4}) == "[[[1. 2.]]\n\n [[3. 4.]]]");
}

TEST_CASE("array text: wide ranges have exponents", "[plugin]") {
  CHECK(show({2}, {1e-5f, 1}) == "[1.e-05 1.e+00]");
  CHECK(show({2}, {1e-5f, 1.5f}) == "[1.0e-05 1.5e+00]");
  CHECK(show({1}, {1e8f}) == "[1.e+08]");
  CHECK(show({2}, {1, 2000}) == "[1.e+00 2.e+03]");
  CHECK(show({2}, {1, 1000}) == "[   1. 1000.]");
}

TEST_CASE("array text: infinities and NaN have a column's width", "[plugin]") {
  CHECK(show({3}, {1, kNaN, kInf}) == "[ 1. nan inf]");
  CHECK(show({2}, {kNaN, -kInf}) == "[ nan -inf]");
  CHECK(show({2}, {1.25f, kNaN}) == "[1.25  nan]");
}

TEST_CASE("array text: scalars", "[plugin]") {
  CHECK(show({}, {1}) == "1.0");
  CHECK(show({}, {0.1f}) == "0.1");
  CHECK(show({}, {1e-5f}) == "1e-05");
  CHECK(show({}, {1e16f}) == "1e+16");
  CHECK(show({}, {kNaN}) == "nan");
  CHECK(show<std::int32_t>(DType::Int32, {}, {-7}) == "-7");
  CHECK(show<std::uint8_t>(DType::Bool, {}, {1}) == "True");
}

TEST_CASE("array text: integers and booleans align right", "[plugin]") {
  CHECK(show<std::int32_t>(DType::Int32, {3}, {1, -20, 300}) == "[  1 -20 300]");
  CHECK(show<std::uint64_t>(DType::UInt64, {1}, {~std::uint64_t{0}}) == "[18446744073709551615]");
  CHECK(show<std::uint8_t>(DType::Bool, {2}, {1, 0}) == "[ True False]");
  CHECK(show<std::uint8_t>(DType::Bool, {2}, {1, 1}) == "[ True  True]");
}

TEST_CASE("array text: halves have the digits that read back", "[plugin]") {
  const std::vector<std::uint16_t> half{float16_of_double(0.1), float16_of_double(2)};
  CHECK(show<std::uint16_t>(DType::Float16, {2}, half) == "[0.1 2. ]");
  CHECK(show<std::uint16_t>(DType::BFloat16, {1}, {bfloat16_of_double(0.1)}) == "[0.1]");
}

TEST_CASE("array text: empty arrays, long lines and large arrays", "[plugin]") {
  CHECK(show({0, 3}, {}) == "[]");
  std::vector<float> thirty(30);
  std::iota(thirty.begin(), thirty.end(), 0.0f);
  CHECK(show({30}, thirty) ==
        "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
        " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]");
  std::vector<float> many(1001);
  std::iota(many.begin(), many.end(), 0.0f);
  CHECK(show({1001}, many) == "[   0.    1.    2. ...  998.  999. 1000.]");
  many.push_back(1001);
  CHECK(show({1002}, many) == "[0.000e+00 1.000e+00 2.000e+00 ... 9.990e+02 1.000e+03 1.001e+03]");
  std::vector<std::int32_t> square(10000, 5);
  CHECK(show<std::int32_t>(DType::Int32, {100, 100}, square) ==
        "[[5 5 5 ... 5 5 5]\n [5 5 5 ... 5 5 5]\n [5 5 5 ... 5 5 5]\n ...\n [5 5 5 ... 5 5 5]\n"
        " [5 5 5 ... 5 5 5]\n [5 5 5 ... 5 5 5]]");
}
