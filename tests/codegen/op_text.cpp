// The table, and function templates made of it.
#include "tests/codegen/op_text.h"

#include "core/ops/table.h"
#include "core/types/text.h"

#include <algorithm>
#include <iterator>

namespace kiln::test {
namespace {

using ir::Op;

constexpr OpText kTexts[] = {
    {Op::Neg, "-x", "wrap<T>(0 - bits(x))"},
    {Op::Abs, "fabs_of(x)", "x < 0 ? wrap<T>(0 - bits(x)) : x"},
    {Op::Sign, "x > 0 ? T(1) : x < 0 ? T(-1) : x", "T((x > 0) - (x < 0))"},
    {Op::Floor, "floor_of(x)", nullptr},
    {Op::Round, "nearbyint_of(x)", nullptr},
    {Op::Exp, "exp_of(x)", nullptr},
    {Op::Expm1, "expm1_of(x)", nullptr},
    {Op::Log, "log_of(x)", nullptr},
    {Op::Log1p, "log1p_of(x)", nullptr},
    {Op::Sqrt, "sqrt_of(x)", nullptr},
    {Op::Sin, "sin_of(x)", nullptr},
    {Op::Cos, "cos_of(x)", nullptr},
    {Op::Tanh, "tanh_of(x)", nullptr},
    {Op::Sigmoid, "x >= 0 ? 1 / (1 + exp_of(-x)) : exp_of(x) / (1 + exp_of(x))", nullptr},
    {Op::Not, "x == 0", "x == 0", true},
    {Op::Add, "x + y", "wrap<T>(bits(x) + bits(y))"},
    {Op::Sub, "x - y", "wrap<T>(bits(x) - bits(y))"},
    {Op::Mul, "x * y", "wrap<T>(bits(x) * bits(y))"},
    {Op::Div, "x / y",
     "y == 0 ? T(0) : kSigned<T> && y == T(-1) ? wrap<T>(0 - bits(x)) : T(x / y)"},
    {Op::Mod, "fmod_of(x, y)", "y == 0 || (kSigned<T> && y == T(-1)) ? T(0) : T(x % y)"},
    {Op::Pow, "pow_of(x, y)", "whole_power(x, y)"},
    {Op::Maximum, "x != x || y != y ? x + y : x == y ? (negative(x) ? y : x) : x > y ? x : y",
     "x > y ? x : y"},
    {Op::Minimum, "x != x || y != y ? x + y : x == y ? (negative(x) ? x : y) : x < y ? x : y",
     "x < y ? x : y"},
    {Op::Equal, "x == y", "x == y", true},
    {Op::Less, "x < y", "x < y", true},
    {Op::LessEqual, "x <= y", "x <= y", true},
    {Op::And, "x != 0 && y != 0", "x != 0 && y != 0", true},
    {Op::Or, "x != 0 || y != 0", "x != 0 || y != 0", true},
    {Op::Select, "x != 0 ? y : z", "x != 0 ? y : z"},
};

constexpr bool is_written(const ir::OpDef& d) {
  return !has_scalar_meaning(d) || std::any_of(std::begin(kTexts), std::end(kTexts),
                                               [&](const OpText& row) { return row.op == d.op; });
}
static_assert(ir::every_op(is_written), "an elementwise op has no row in op_text.cpp");

/// Names of the machine's mathematical functions of one and of two numbers.
constexpr const char* kUnary[] = {"fabs", "floor", "nearbyint", "exp", "expm1", "log", "log1p",
                                  "sqrt", "sin", "cos", "tanh"};
constexpr const char* kBinary[] = {"fmod", "pow"};

constexpr const char* kTypes = R"(typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
struct Bool {
  u8 value;
  Bool() = default;
  Bool(bool truth) : value(truth) {}
  operator int() const { return value; }
};
struct KernelFault {
  s64 access, index, limit;
};
struct KernelArguments {
  u8* const* buffers;
  const s64* sizes;
  s64 begin, end;
  KernelFault* fault;
  u64 seed, call_counter;
};
)";

constexpr const char* kNumbers = R"(
namespace {
template <class T> constexpr bool kReal = false;
template <> constexpr bool kReal<float> = true;
template <> constexpr bool kReal<double> = true;
template <class T> constexpr bool kBool = false;
template <> constexpr bool kBool<Bool> = true;
template <class T> constexpr bool kSigned = T(-1) < T(0);
template <> constexpr bool kSigned<Bool> = false;

template <class T> u64 bits(T x) { return static_cast<u64>(x); }
template <class T> T wrap(u64 x) { return static_cast<T>(x); }
template <> Bool wrap<Bool>(u64 x) { return x != 0; }
template <class T, class B> T from_bits(B x) { return __builtin_bit_cast(T, x); }
inline bool negative(float x) { return __builtin_signbit(x) != 0; }
inline bool negative(double x) { return __builtin_signbit(x) != 0; }

template <class T> T load(const u8* from, s64 i) {
  T x;
  __builtin_memcpy(&x, from + i * s64(sizeof(T)), sizeof(T));
  return x;
}
template <class T> void store(u8* to, s64 i, T x) {
  __builtin_memcpy(to + i * s64(sizeof(T)), &x, sizeof(T));
}

// A subnormal counts as zero of its sign.
inline float flush(float x) {
  return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x;
}
inline double flush(double x) {
  return __builtin_fabs(x) < 0x1p-1022 ? __builtin_copysign(0, x) : x;
}

// Rounded once to a format of `digits` bits whose smallest power is 2^lowest; from `limit` on it is
// infinity.
inline float rounded(double x, int digits, int lowest, double limit) {
  if (x != x || x == 0) return float(x);
  const double size = __builtin_fabs(x);
  if (size >= limit) return __builtin_copysignf(__builtin_inff(), float(x));
  const int power = __builtin_ilogb(size);
  const double unit = __builtin_ldexp(1, (power < lowest ? lowest : power) - digits + 1);
  return float(__builtin_nearbyint(x / unit) * unit);
}
inline float to_f16(double x) { return rounded(x, 11, -14, 65520); }
// Its exponents are those of float: what is subnormal there counts as zero.
inline float to_bf16(double x) {
  return flush(float(x)) == 0 ? __builtin_copysignf(0, float(x)) : rounded(x, 8, -126, 0x1.ffp127);
}

inline float f16_value(u16 half) {
  const u32 sign = (half & 0x8000u) << 16, power = half >> 10 & 31, digits = half & 1023;
  if (power == 31) return from_bits<float>(sign | 0x7f800000u | digits << 13);
  if (power != 0) return from_bits<float>(sign | (power + 112) << 23 | digits << 13);
  return from_bits<float>(sign | from_bits<u32>(float(digits) * 0x1p-24f));
}
inline u16 f16_bits(float x) {
  const u32 all = from_bits<u32>(x), sign = all >> 16 & 0x8000u;
  const float size = __builtin_fabsf(x);
  if (x != x) return u16(sign | 0x7e00u);
  if (size >= 65520) return u16(sign | 0x7c00u);
  if (size < 0x1p-14f) return u16(sign | u32(size * 0x1p24f));
  return u16(sign | ((all >> 23 & 255) - 112) << 10 | (all >> 13 & 1023));
}
inline float bf16_value(u16 half) { return from_bits<float>(u32(half) << 16); }
inline u16 bf16_bits(float x) {
  return x != x ? u16(0x7fc0u) : u16(from_bits<u32>(x) >> 16);
}

// Toward zero, saturated; NaN gives 0.
template <class T> T truncated(double x) {
  constexpr int kBits = int(8 * sizeof(T)), kValueBits = kSigned<T> ? kBits - 1 : kBits;
  const u64 highest = ~u64{0} >> (64 - kValueBits);
  if (x != x) return 0;
  if (x >= __builtin_ldexp(1, kValueBits)) return T(highest);
  if (x <= (kSigned<T> ? -__builtin_ldexp(1, kValueBits) : 0)) return T(kSigned<T> ? ~highest : 0);
  return T(x);
}
// A double that rounds to a half as the integer would: lost bits are seen in the last one kept.
inline double kept(u64 size) {
  return size >> 53 == 0 ? double(size) : double(size >> 11 | ((size & 2047) != 0)) * 2048;
}
template <class T> double half_source(T x) {
  if constexpr (kReal<T>) return x;
  else return x < 0 ? -kept(0 - bits(x)) : kept(bits(x));
}
template <class To, class T> To convert(T x) {
  if constexpr (kReal<T> && kReal<To>) return flush(To(x));
  else if constexpr (kReal<T> && kBool<To>) return x != 0;
  else if constexpr (kReal<T>) return truncated<To>(x);
  else if constexpr (kReal<To>) return To(x);
  else return wrap<To>(bits(x));
}
template <class T> T whole_power(T x, T y) {
  if (y < 0) return x == 1 ? T(1) : x == T(-1) ? (y % 2 == 0 ? T(1) : T(-1)) : T(0);
  u64 power = 1, square = bits(x);
  for (u64 rest = bits(y); rest != 0; rest >>= 1, square *= square) {
    if ((rest & 1) != 0) power *= square;
  }
  return wrap<T>(power);
}
)";

constexpr const char* kRest = R"(
// Whether x goes before the largest one so far; a NaN is above everything.
template <class T> bool above(T x, T best) { return best == best && (x != x || x > best); }

inline bool inside(const KernelArguments* a, s64 access, s64 index, s64 limit) {
  if (index >= 0 && index < limit) return true;
  if (a->fault->access < 0) *a->fault = {access, index, limit};
  return false;
}

struct Drawn {
  u32 first, second;
};
// Philox 4x32 in ten rounds: counter and key as the definition of random_uniform lays them out.
inline Drawn drawn(const KernelArguments* a, s64 place, s64 element, u64 own_seed, u64 stream) {
  const u64 seed = own_seed ^ a->seed;
  u32 key0 = u32(seed), key1 = u32(seed >> 32);
  u32 c0 = u32(element), c1 = u32(u64(element) >> 32) ^ u32(a->call_counter);
  u32 c2 = u32(place), c3 = u32(u64(place) >> 32) ^ u32(stream);
  for (int round = 0; round < 10; ++round) {
    const u64 left = u64(0xd2511f53u) * c0, right = u64(0xcd9e8d57u) * c2;
    c0 = u32(right >> 32) ^ c1 ^ key0;
    c1 = u32(right);
    c2 = u32(left >> 32) ^ c3 ^ key1;
    c3 = u32(left);
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return {c0, c1};
}
inline float uniform_f16(Drawn d) { return float(d.first >> 21) * 0x1p-11f; }
inline float uniform_bf16(Drawn d) { return float(d.first >> 24) * 0x1p-8f; }
inline float uniform_f32(Drawn d) { return float(d.first >> 8) * 0x1p-24f; }
inline double uniform_f64(Drawn d) {
  return double((u64(d.first) << 32 | d.second) >> 11) * 0x1p-53;
}
}  // namespace
)";

std::string mathematics() {
  std::string out = "\n";
  for (const char* name : kUnary) {
    for (const char* type : {"float", "double"}) {
      const char* suffix = type[0] == 'f' ? "f" : "";
      out += text("inline ", type, " ", name, "_of(", type, " x) { return __builtin_", name, suffix,
                  "(x); }\n");
    }
  }
  for (const char* name : kBinary) {
    for (const char* type : {"float", "double"}) {
      const char* suffix = type[0] == 'f' ? "f" : "";
      out += text("inline ", type, " ", name, "_of(", type, " x, ", type, " y) { return __builtin_",
                  name, suffix, "(x, y); }\n");
    }
  }
  return out;
}

std::string function_of(const OpText& row) {
  const ir::OpDef& d = ir::def(row.op);
  const char* parameters = d.arity == 1 ? "T x" : d.arity == 2 ? "T x, T y" : "Bool x, T y, T z";
  std::string out = text("template <class T> ", row.truth ? "Bool" : "T", " op_", d.name, "(",
                         parameters, ") {\n");
  if (!row.whole) return out + text("  return ", row.real, ";\n}\n");
  out += text("  if constexpr (kReal<T>) return ", row.real, ";\n");
  return out + text("  else return ", row.whole, ";\n}\n");
}

std::string make_prelude() {
  std::string out = text(kTypes, kNumbers, mathematics(), "\n");
  for (const OpText& row : kTexts) out += function_of(row);
  return out + kRest;
}

}  // namespace

std::span<const OpText> op_texts() { return kTexts; }

const OpText* find_op_text(ir::Op op) {
  for (const OpText& row : kTexts) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

const std::string& text_prelude() {
  static const std::string prelude = make_prelude();
  return prelude;
}

}  // namespace kiln::test
