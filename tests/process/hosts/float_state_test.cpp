// Tests the host's floating-point state while a function is built, compiled and called: rounding,
// precision, flushing, traps and flags are restored afterwards, and results do not depend on
// them.
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <xmmintrin.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <sstream>

using namespace kiln;

namespace {

struct FloatState {
  unsigned vector = 0;       // MXCSR
  std::uint16_t x87 = 0;     // control word
  std::uint16_t status = 0;  // exception flags of the x87 unit

  bool operator==(const FloatState&) const = default;
};

FloatState current() {
  FloatState state;
  state.vector = _mm_getcsr();
  __asm__ volatile("fnstcw %0" : "=m"(state.x87));
  __asm__ volatile("fnstsw %0" : "=m"(state.status));
  state.status &= 0x3f;
  return state;
}

void set(unsigned vector, std::uint16_t x87) {
  __asm__ volatile("fldcw %0" : : "m"(x87));
  _mm_setcsr(vector);
}

constexpr unsigned kMasked = 0x1f80, kUpward = 0x4000, kDownward = 0x2000, kToZero = 0x6000,
                   kFlush = 0x8000, kZeroOperands = 0x40, kInexact = 0x20, kInexactMasked = 0x1000;
constexpr std::uint16_t kExtended = 0x037f, kSingleDown = 0x047f, kTraps = 0x0360;

struct Case {
  const char* name;
  unsigned vector;
  std::uint16_t x87;
};
const Case kCases[] = {
    {"upward", kMasked | kUpward, kExtended},
    {"downward with a pending flag", kMasked | kDownward | kInexact, kExtended},
    {"to zero, x87 in single precision and downward", kMasked | kToZero, kSingleDown},
    {"subnormals flushed", kMasked | kFlush | kZeroOperands, kExtended},
    {"every exception but inexact traps", kInexactMasked, kTraps},
    {"every exception traps", 0, 0x0340},
};

/// Runs `action` in that state; returns whether it stays, and restores the usual state.
bool keeps(const Case& c, const std::function<void()>& action) {
  const FloatState usual = current();
  set(c.vector, c.x87);
  const FloatState before = current();
  action();
  const FloatState after = current();
  set(usual.vector, usual.x87);
  return after == before;
}

/// A program with kernels of every kind, matmuls, random numbers and folded constants.
struct Program {
  Program() : x(placeholder({.shape = {None, 33}, .name = "x"})) {
    const Tensor w = constant(Array::full({33, 17}, 0.1));
    const Tensor third = constant(Array::full({17}, 1)) / 3.0;
    const Tensor wide = cast(x, DType::Float64);
    outputs = {exp(x) / 3.0 + sin(x),
               relu(dot(tanh(x), w) + third),
               log(x),
               sqrt(x),
               softmax(x * 0.01),
               sum(x / 7.0, {.axis = {0}}),
               log(wide) + pow(wide, constant(Array(0.3), {.dtype = DType::Float64})),
               cast(clip(x, -3.0, 3.0) * 1.7, DType::Int32),
               cast(x * 1e-3, DType::Float16),
               gradients(sum(square(tanh(x) / 3.0)), {x})[0]};
  }
  Function compiled() const { return function({x}, outputs, {.backend = "cpu"}); }

  Tensor x;
  std::vector<Tensor> outputs;
};

Array numbers() {
  std::vector<float> values(64 * 33);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 40.0f;
  values[3] = 1e-40f;  // subnormal
  values[4] = std::numeric_limits<float>::infinity();
  values[5] = std::numeric_limits<float>::quiet_NaN();
  values[6] = std::numeric_limits<float>::signaling_NaN();
  return Array(values, {64, 33});
}

bool same_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) {
    same = a[i].bytes() == b[i].bytes() && std::memcmp(a[i].data(), b[i].data(), a[i].bytes()) == 0;
    INFO("result " << i);
    CHECK(same);
  }
  return same;
}

}  // namespace

TEST_CASE("floating-point state: calls neither depend on it nor change it") {
  const Function f = Program().compiled();
  const Array input = numbers();
  const std::vector<Array> expected = f({input});
  for (const Case& c : kCases) {
    INFO(c.name);
    std::vector<Array> results;
    CHECK(keeps(c, [&] { results = f({input}); }));
    CHECK(same_bits(results, expected));
  }
}

TEST_CASE("floating-point state: building and compiling neither depend on it nor change it") {
  const Array input = numbers();
  const std::vector<Array> expected = Program().compiled()({input});
  for (const Case& c : kCases) {
    INFO(c.name);
    std::vector<Array> results;
    CHECK(keeps(c, [&] { results = Program().compiled()({input}); }));
    CHECK(same_bits(results, expected));
  }
}

TEST_CASE("floating-point state: a failing call restores it, too") {
  const Tensor x = placeholder({.shape = {None}, .dtype = DType::Int32, .name = "x"});
  const Function f = function({x}, {gather(constant(Array{1.f, 2.f}), x)}, {.backend = "cpu"});
  const Array outside(std::vector<std::int32_t>{5});
  for (const Case& c : kCases) {
    INFO(c.name);
    bool thrown = false;
    CHECK(keeps(c, [&] {
      try {
        f({outside});
      } catch (const Error&) {
        thrown = true;
      }
    }));
    CHECK(thrown);
  }
}

TEST_CASE("floating-point state: dumps, timings, prints and draws keep it") {
  const testing::Scratch scratch;
  const Tensor x = placeholder({.shape = {None, 33}, .name = "x"});
  const auto compile = [&](const std::string& dump) {
    return function({x}, {softmax(dot(x, ones({33, 5})) / 3.0)}, {.backend = "cpu", .dump = dump});
  };
  const Function asked = compile("");
  const Array input = Array::full({7, 33}, 0.3), other = Array::full({9, 33}, 0.3);
  for (const Case& c : kCases) {
    INFO(c.name);
    CHECK(keeps(c, [&] { asked.dump(scratch.path("asked")); }));
    CHECK(keeps(c, [&] { asked({input}); }));
    CHECK(keeps(c, [&] {
      const Function dumped = compile(scratch.path("at once"));
      dumped({input});
      dumped({other});
    }));
    CHECK(keeps(c, [&] { std::ostringstream() << input; }));
    CHECK(keeps(c, [&] { return random_normal_variable({3, 3}, 0.0, 0.1); }));
    CHECK(keeps(c, [&] { return random_uniform_variable({3, 3}, -0.1, 0.1); }));
  }
}

TEST_CASE("floating-point state: threads of the pool do not inherit it") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Function f = function({x}, {exp(x) / 3.0 + sqrt(x)}, {.backend = "cpu"});
  std::vector<float> values(300'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1e-5f * static_cast<float>(i) - 1.0f;
  const Array input(values, {300'000});
  set_threads(1);
  const std::vector<Array> expected = f({input});
  for (const Case& c : kCases) {
    INFO(c.name);
    std::vector<Array> results;
    set_threads(3);  // new threads inherit the starter's state
    CHECK(keeps(c, [&] { results = f({input}); }));
    CHECK(same_bits(results, expected));
    set_threads(1);
  }
}
