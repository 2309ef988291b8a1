// Tests that ops as C++ text give the bits of the machine code with fused multiply-add: special
// values, dense samples, all halves, and every float32 (`[matrix]`, half a minute for each op).
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compared_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace cpu_llvm_test;
using namespace kiln;
using ir::Op;

namespace {

constexpr std::size_t kCount = ComparedOps::kCount;
constexpr FloatState kStates[] = {FloatState::Keeps, FloatState::Flushes};

/// Zeros, ends, and thresholds of the formulas with their neighbours, of both signs.
template <class T>
std::vector<T> special_operands() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{0,
                        Limits::min(),
                        Limits::denorm_min(),
                        Limits::max(),
                        Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::min() * 2,
                        Limits::epsilon()};
  constexpr double kEdges[] = {
      0x1p-80,   0x1p-30,  0.3465735902, 0.5,        0.7071067811, 1.0,         1.4142135623,
      1.5,       2.0,      2.5,          3.0,        10.0,         22.0,        40.0,
      50.0,      60.0,     87.3365447,   88.7228390, 708.3964185,  709.7827128, 1e5,
      8388607.5, 16777217, 0x1p30,       0x1p40,     0x1p60,       0x1p96,      0x1p100};
  for (const double edge : kEdges) {
    const T at = static_cast<T>(edge);
    for (const T x : {at, std::nextafter(at, T(0)), std::nextafter(at, Limits::infinity())}) {
      values.push_back(x);
    }
  }
  for (int n = 1; n < 40; n += 7) values.push_back(static_cast<T>(n * 1.5707963267948966L));
  const std::size_t half = values.size();
  for (std::size_t i = 0; i < half; ++i) values.push_back(-values[i]);
  return values;
}

/// Random bits, and numbers of several magnitudes.
template <class T>
class Draws {
 public:
  T any() {
    std::uint64_t bits = random_();
    if (sizeof(T) == 4) bits >>= 32;
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  T near() {
    constexpr double kScales[] = {0.01, 1.0, 8.0, 100.0, 750.0, 1e5};
    return static_cast<T>(kScales[random_() % std::size(kScales)] * unit_(random_));
  }

 private:
  std::mt19937_64 random_{11};
  std::uniform_real_distribution<double> unit_{-1, 1};
};

/// Compares whole blocks; the last one is padded with its own numbers.
template <class T>
void check(ComparedOps& ops, std::vector<T> x, std::vector<T> y, FloatState state) {
  while (x.size() % kCount != 0) {
    x.push_back(x[x.size() / 2]);
    if (!y.empty()) y.push_back(y[y.size() / 2]);
  }
  for (std::size_t i = 0; i < x.size(); i += kCount) {
    CHECK(ops.difference(&x[i], y.empty() ? nullptr : &y[i], state) == "");
  }
}

template <class T>
void check_unary(DType dtype, const std::vector<T>& values) {
  ComparedOps ops(dtype, elementwise_ops(dtype, 1));
  for (const FloatState state : kStates) check<T>(ops, values, {}, state);
}

/// Products and quotients run with flushing alone: rounding can lift one from just below the
/// smallest normal number, and only a processor that flushes sees it before rounding.
template <class T>
void check_binary(DType dtype, const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<Op> list = elementwise_ops(dtype, 2);
  ComparedOps all(dtype, list);
  check(all, x, y, FloatState::Flushes);
  std::erase_if(list, [](Op op) { return op == Op::Mul || op == Op::Div; });
  ComparedOps rest(dtype, list);
  check(rest, x, y, FloatState::Keeps);
}

template <class T>
void check_pairs(DType dtype, int draws) {
  std::vector<T> x, y;
  for (const T first : special_operands<T>()) {
    for (const T second : special_operands<T>()) {
      x.push_back(first);
      y.push_back(second);
    }
  }
  Draws<T> drawn;
  for (int i = 0; i < draws; ++i) {
    x.push_back(i % 4 == 0 ? drawn.any() : drawn.near());
    y.push_back(i % 4 < 2 ? drawn.any() : drawn.near());
  }
  check_binary(dtype, x, y);
}

void check_every_float32(Op op) {
  if (!has_comparable_isa()) return;
  ComparedOps ops(DType::Float32, {op});
  std::vector<std::uint32_t> bits(kCount);
  std::string found;
  for (std::uint64_t block = 0; found.empty() && block < (1ull << 32); block += kCount) {
    for (std::size_t i = 0; i < kCount; ++i) bits[i] = static_cast<std::uint32_t>(block + i);
    found = ops.difference(bits.data(), nullptr, FloatState::Keeps);
  }
  CHECK(found == "");
}

}  // namespace

TEST_CASE("scalar text: unary ops have the bits of cpu: a dense sample of float32") {
  if (!has_comparable_isa()) return;
  std::vector<float> values = special_operands<float>();
  for (std::uint32_t i = 0; i < 1u << 22; ++i) {
    values.push_back(std::bit_cast<float>(i << 10 | (i * 2654435761u >> 22)));
  }
  check_unary(DType::Float32, values);
}

TEST_CASE("scalar text: binary ops have the bits of cpu: float32") {
  if (has_comparable_isa()) check_pairs<float>(DType::Float32, 1 << 20);
}

TEST_CASE("scalar text: unary ops have the bits of cpu: float64") {
  if (!has_comparable_isa()) return;
  std::vector<double> values = special_operands<double>();
  Draws<double> drawn;
  for (int i = 0; i < 1 << 18; ++i) values.push_back(i % 2 == 0 ? drawn.any() : drawn.near());
  check_unary(DType::Float64, values);
}

TEST_CASE("scalar text: binary ops have the bits of cpu: float64") {
  if (has_comparable_isa()) check_pairs<double>(DType::Float64, 1 << 18);
}

TEST_CASE("scalar text: ops have the bits of cpu: all halves, and drawn pairs") {
  if (!has_comparable_isa()) return;
  std::vector<std::uint16_t> x(8 * kCount), y(x.size());
  std::mt19937 random(5);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::uint16_t>(i);
    y[i] = static_cast<std::uint16_t>(random());
  }
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    check_unary(dtype, std::vector<std::uint16_t>(x.begin(), x.begin() + kCount));
    check_binary(dtype, x, y);
  }
}

TEST_CASE("every float32: text of exp", "[matrix]") { check_every_float32(Op::Exp); }
TEST_CASE("every float32: text of expm1", "[matrix]") { check_every_float32(Op::Expm1); }
TEST_CASE("every float32: text of log", "[matrix]") { check_every_float32(Op::Log); }
TEST_CASE("every float32: text of log1p", "[matrix]") { check_every_float32(Op::Log1p); }
TEST_CASE("every float32: text of sin", "[matrix]") { check_every_float32(Op::Sin); }
TEST_CASE("every float32: text of cos", "[matrix]") { check_every_float32(Op::Cos); }
TEST_CASE("every float32: text of tanh", "[matrix]") { check_every_float32(Op::Tanh); }
TEST_CASE("every float32: text of sigmoid", "[matrix]") { check_every_float32(Op::Sigmoid); }
TEST_CASE("every float32: text of erf", "[matrix]") { check_every_float32(Op::Erf); }
TEST_CASE("every float32: text of atan", "[matrix]") { check_every_float32(Op::Atan); }
TEST_CASE("every float32: text of sqrt", "[matrix]") { check_every_float32(Op::Sqrt); }
TEST_CASE("every float32: text of floor", "[matrix]") { check_every_float32(Op::Floor); }
TEST_CASE("every float32: text of round", "[matrix]") { check_every_float32(Op::Round); }
