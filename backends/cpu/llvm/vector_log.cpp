// log and log1p: x = 2^n (1 + g) with 1 + g in [sqrt 1/2, sqrt 2). log(1 + g) is a polynomial for
// float32, and a series in s = g / (2 + g) for float64; both minimax for the relative error of
// the logarithm (2^-30.3 and 2^-59.5; Remez exchange in 200 bits, then rounded).
#include "backends/cpu/llvm/float_lanes.h"
#include "backends/cpu/llvm/vector_math.h"

#include <limits>

namespace kiln::cpu {
namespace {

using llvm::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// n ln 2 + log(1 + g)
Value* sum_of_logs(const FloatLanes& f, Value* n, Value* g) {
  Value* high = f.real(f.by_format(0x1.62e4p-1, 0x1.62e42fefa38p-1));
  Value* low = f.multiply(n, f.real(f.by_format(0x1.7f7d1cf79abcap-20, 0x1.ef35793c7673p-45)));
  Value* square = f.multiply(g, g);
  if (!f.wide) {
    Value* p = f.polynomial(g, {0.333333126, -0.250000096, 0.2000211865, -0.1666799588,
                                0.1421955252, -0.1240558849, 0.1188816074, -0.1167565414,
                                0.06746646875});
    Value* tail = f.multiply_add(f.multiply(square, g), p, low);
    tail = f.multiply_add(square, f.real(-0.5), tail);
    return f.multiply_add(n, high, f.add(g, tail));
  }
  Value* s = f.divide(g, f.add(g, f.real(2)));
  Value* z = f.multiply(s, s);
  Value* r = f.polynomial(z, {0.666666666666673446, 0.399999999994143063, 0.285714287424780477,
                              0.222221985631971765, 0.181835648795635166, 0.153140355555980273,
                              0.147961077930189917});
  Value* half = f.multiply(square, f.real(0.5));
  Value* inner = f.multiply_add(s, f.multiply_add(z, r, half), low);
  return f.multiply_add(n, high, f.subtract(g, f.subtract(half, inner)));
}

/// Infinity and NaN as they are; -infinity below `pole`, NaN from `outside` down.
Value* with_special(const FloatLanes& f, Value* x, Value* y, double pole, double outside) {
  auto& b = f.e.b;
  y = f.choose(b.CreateFCmpUEQ(x, f.real(kInfinity)), x, y);
  y = f.choose(f.below(x, f.real(pole)), f.real(-kInfinity), y);
  return f.choose(b.CreateFCmpOLE(x, f.real(outside)), llvm::ConstantFP::getNaN(f.type), y);
}

}  // namespace

Value* emit_log(const Emit& e, Value* x) {
  const FloatLanes f(e, x);
  const Split parts = split_exponent(f, x);
  const double smallest = f.by_format(0x1p-126, 0x1p-1022);
  return with_special(f, x, sum_of_logs(f, parts.n, parts.g), smallest, -smallest);
}

Value* emit_log1p(const Emit& e, Value* x) {
  const FloatLanes f(e, x);
  // 1 + x = u + rest exactly; the rest, over 2^n, goes to g, which becomes x itself for n = 0.
  Value* one = f.real(1);
  Value* larger = f.choose(f.below(one, x), x, one);
  Value* smaller = f.choose(f.below(one, x), one, x);
  Value* u = f.add(larger, smaller);
  Value* rest = f.subtract(smaller, f.subtract(u, larger));
  const Split parts = split_exponent(f, u);
  Value* scale = f.from_bits(f.to_exponent(e.b.CreateSub(f.integer(f.bias), parts.exponent)));
  Value* far = f.below(f.real(f.by_format(0x1p30, 0x1p60)), x);
  Value* g = f.add(parts.g, f.choose(far, f.real(0), f.multiply(rest, scale)));
  Value* y = f.with_sign_of(sum_of_logs(f, parts.n, g), x);
  const double next_above = f.by_format(-0x1.fffffep-1, -0x1.fffffffffffffp-1);
  const double next_below = f.by_format(-0x1.000002p0, -0x1.0000000000001p0);
  return with_special(f, x, y, next_above, next_below);
}

}  // namespace kiln::cpu
