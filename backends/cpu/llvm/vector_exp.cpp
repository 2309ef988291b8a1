// exp and what is made of it. x = n ln 2 + r with |r| <= ln 2 / 2; e^r - 1 = r + r^2 q(r), where q
// is minimax for the relative error of e^r - 1 (Remez exchange in 200 bits, then rounded).
#include "backends/cpu/llvm/float_lanes.h"
#include "backends/cpu/llvm/vector_math.h"

#include <limits>

namespace kiln::cpu {
namespace {

using llvm::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLog2E = 0x1.71547652b82fep+0;
// Where results leave the normal numbers of a format.
constexpr double kExpOverflows[] = {88.722835, 709.78271289338397};
constexpr double kExpVanishes[] = {-87.33654, -708.39641853226411};
// 2^-26, 2^-32 and 2^-61.7 relative to e^r - 1.
constexpr double kSingleShort[] = {0.4999999813, 0.1666654235, 0.04166720533, 0.008366691552,
                                   0.00138824913};
constexpr double kSingle[] = {0.5000000045,   0.1666666637,   0.04166635778,
                              0.008333389949, 0.001394089279, 0.0001984590003};
constexpr double kDouble[] = {0.5,
                              0.166666666666666768,
                              0.0416666666666665048,
                              0.00833333333332144933,
                              0.00138888888889638598,
                              0.000198412698866613565,
                              0.0000248015871705832536,
                              2.75572435998442379e-6,
                              2.75574034734502876e-7,
                              2.51092723557663127e-8,
                              2.08753301155758408e-9};
// Of (tanh x / x - 1) / x^2 in x^2 for |x| <= 1/2: 2^-31.4 and 2^-58.3 relative to tanh.
constexpr double kTanhSingle[] = {-0.3333332688, 0.1333296425, -0.05389919002, 0.02129798876,
                                  -0.006647483807};
constexpr double kTanhDouble[] = {-0.333333333333331643,
                                  0.133333333333003396,
                                  -0.0539682539459249595,
                                  0.0218694877864955857,
                                  -0.00886322103099384097,
                                  0.00359195393229086512,
                                  -0.00145448972016350304,
                                  0.000583303310605614108,
                                  -0.000217836227896106257,
                                  0.0000568048195141908016};

struct Reduced {
  Value* expm1;     // e^r - 1
  Value* exponent;  // n in the low bits, with other bits above it
};

/// `careful`: with what rounding takes from r.
Reduced reduce(const FloatLanes& f, Value* x, Coefficients single, bool careful = false) {
  // ln 2 in two parts: integers as large as exponents times the first are exact.
  const double high = f.by_format(0x1.62e4p-1, 0x1.62e42fefa38p-1);
  const double low = f.by_format(0x1.7f7d1cf79abcap-20, 0x1.ef35793c7673p-45);
  Value* shifted = f.multiply_add(x, f.real(kLog2E), f.rounder());
  Value* n = f.subtract(shifted, f.rounder());
  Value* whole = f.multiply_add(n, f.real(-high), x);
  Value* r = f.multiply_add(n, f.real(-low), whole);
  Value* q = f.polynomial(r, f.wide ? Coefficients(kDouble) : single);
  Value* square = f.multiply(r, r);
  if (!careful) return {f.multiply_add(square, q, r), f.bits(shifted)};
  Value* lost = f.multiply_add(n, f.real(-low), f.subtract(whole, r));
  return {f.add(r, f.multiply_add(square, q, lost)), f.bits(shifted)};
}

/// 2^n for an exponent that a normal number may have.
Value* power_of_two(const FloatLanes& f, Value* n) {
  return f.from_bits(f.to_exponent(f.e.b.CreateAdd(n, f.integer(f.bias))));
}

/// e^x where that is a normal number.
Value* normal_exp(const FloatLanes& f, Value* x) {
  const Reduced r = reduce(f, x, kSingleShort);
  // By adding to the exponent: 2^n itself may overflow where the result does not.
  Value* mantissa = f.bits(f.add(r.expm1, f.real(1)));
  return f.from_bits(f.e.b.CreateAdd(mantissa, f.to_exponent(r.exponent)));
}

/// y, but infinity for x above the limit, and NaN for NaN.
Value* with_overflow(const FloatLanes& f, Value* x, Value* y) {
  Value* fits = f.e.b.CreateFCmpOLE(x, f.real(kExpOverflows[f.wide]));
  return f.choose(fits, y, f.multiply(x, f.real(kInfinity)));
}

}  // namespace

Value* emit_exp(const Emit& e, Value* x) {
  const FloatLanes f(e, x);
  Value* y = with_overflow(f, x, normal_exp(f, x));
  return f.choose(f.below(x, f.real(kExpVanishes[f.wide])), f.real(0), y);
}

Value* emit_expm1(const Emit& e, Value* x) {
  const FloatLanes f(e, x);
  const Reduced r = reduce(f, f.at_least(x, f.real(-50)), kSingle, f.wide);
  // Near overflow half of the power, twice; there the 1 does not count.
  Value* large = f.below(f.real(60), x);
  Value* bias = f.choose(large, f.integer(f.bias - 1), f.integer(f.bias));
  Value* scale = f.from_bits(f.to_exponent(e.b.CreateAdd(r.exponent, bias)));
  Value* y = f.multiply_add(scale, r.expm1, f.subtract(scale, f.real(1)));
  y = f.multiply(y, f.choose(large, f.real(2), f.real(1)));
  return f.with_sign_of(with_overflow(f, x, y), x);
}

Value* emit_tanh(const Emit& e, Value* x) {
  const FloatLanes f(e, x);
  Value* square = f.multiply(x, x);
  Value* p = f.polynomial(square, f.wide ? Coefficients(kTanhDouble) : kTanhSingle);
  Value* small = f.multiply_add(f.multiply(x, square), p, x);
  // t / (t + 2) with t = e^2|x| - 1, which is 1 from the limit on.
  Value* size = f.magnitude(x);
  Value* limited = f.at_most(size, f.real(f.by_format(10, 22)));
  const Reduced r = reduce(f, f.multiply(limited, f.real(2)), kSingleShort);
  Value* scale = power_of_two(f, r.exponent);
  Value* t = f.multiply_add(scale, r.expm1, f.subtract(scale, f.real(1)));
  Value* large = f.divide(t, f.add(t, f.real(2)));
  return f.with_sign_of(f.choose(f.below(size, f.real(0.5)), small, large), x);
}

Value* emit_sigmoid(const Emit& e, Value* x) {
  const FloatLanes f(e, x);
  // 1 / (1 + 2^n + 2^n (e^r - 1)); what the first sum loses for large n goes to the product.
  const Reduced r = reduce(f, f.at_least(e.b.CreateFNeg(x), f.real(-40)), kSingleShort);
  Value* scale = power_of_two(f, r.exponent);
  Value* head = f.add(scale, f.real(1));
  Value* lost = f.subtract(f.real(1), f.subtract(head, scale));
  Value* sum = f.add(head, f.multiply_add(scale, r.expm1, lost));
  Value* vanishes = f.below(x, f.real(kExpVanishes[f.wide]));
  return f.choose(vanishes, f.real(0), f.divide(f.real(1), sum));
}

Value* emit_erf(const Emit& e, Value* x) {
  const FloatLanes f(e, x);
  if (f.wide) return emit_library_call(e, "erf", {x});
  // Below 1: erf a = a (1 + p(a^2)). Above: 1 - e^q(a), where q approximates log erfc a. Both are
  // minimax (2^-29.6 of the result), and from 4.05 on it is 1.
  Value* a = f.at_most(f.magnitude(x), f.real(4.05));
  Value* p = f.polynomial(f.multiply(a, a),
                          {0.1283791657, -0.3761262582, 0.1128358515, -0.02685381207,
                           0.005188327932, -0.0008010195606, 7.853867235e-5});
  Value* q = f.polynomial(a, {-0.0003326937881, -1.127122481, -0.6380935953, -0.1031479429,
                              0.02185629916, -0.002951873549, 0.0001867766565});
  Value* tail = f.subtract(f.real(1), normal_exp(f, q));
  Value* y = f.choose(f.below(f.real(1), a), tail, f.multiply(a, f.add(p, f.real(1))));
  return f.with_sign_of(y, x);
}

}  // namespace kiln::cpu
