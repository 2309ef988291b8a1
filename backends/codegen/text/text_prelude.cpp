// Concatenates pieces of text; KILN_BUILTIN(name) is a built-in function of the compiler.
#include "backends/codegen/text/text_prelude.h"

#include "backends/codegen/text/op_text.h"
#include "core/types/text.h"

#include <vector>

namespace kiln::codegen {
namespace {

/// Built-in functions with exact or correctly rounded results.
struct ExactFunction {
  const char* name;
  int arity;
};
constexpr ExactFunction kExact[] = {{"fabs", 1}, {"floor", 1},    {"nearbyint", 1}, {"sqrt", 1},
                                    {"fmod", 2}, {"copysign", 2}, {"fma", 3}};

/// Instructions of a GPU that flush operands and results. NVRTC would compile x * 1 in C++ to x.
struct FlushingInstruction {
  const char *function, *instruction;
};
constexpr FlushingInstruction kFlushing[] = {{"sum_of", "add.rn.ftz.f32"},
                                             {"difference_of", "sub.rn.ftz.f32"},
                                             {"product_of", "mul.rn.ftz.f32"},
                                             {"maximum_of", "max.ftz.NaN.f32"},
                                             {"minimum_of", "min.ftz.NaN.f32"}};

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
)";

constexpr const char* kNumbers = R"(
namespace {
template <class T> constexpr bool kFloating = false;
template <> constexpr bool kFloating<float> = true;
template <> constexpr bool kFloating<double> = true;
template <class T> constexpr bool kBool = false;
template <> constexpr bool kBool<Bool> = true;
template <class T> constexpr bool kSigned = T(-1) < T(0);
template <> constexpr bool kSigned<Bool> = false;

template <class T> u64 bits(T x) { return static_cast<u64>(x); }
template <class T> T wrap(u64 x) { return static_cast<T>(x); }
template <> Bool wrap<Bool>(u64 x) { return x != 0; }
template <class T, class B> T from_bits(B x) { return __builtin_bit_cast(T, x); }
inline bool negative(float x) { return from_bits<s32>(x) < 0; }
inline bool negative(double x) { return from_bits<s64>(x) < 0; }

template <class T> T load(const u8* from, s64 i) {
  T x;
  const void* element = __builtin_assume_aligned(from + i * s64(sizeof(T)), sizeof(T));
  KILN_BUILTIN(memcpy)(&x, element, sizeof(T));
  return x;
}
template <class T> void store(u8* to, s64 i, T x) {
  void* element = __builtin_assume_aligned(to + i * s64(sizeof(T)), sizeof(T));
  KILN_BUILTIN(memcpy)(element, &x, sizeof(T));
}

// A subnormal counts as zero of its sign.
#ifdef __CUDACC__
// One instruction. NVRTC cannot remove it as it would a multiplication by 1.
inline float flush(float x) {
  float y;
  asm("mul.rn.ftz.f32 %0, %1, 0f3F800000;" : "=f"(y) : "f"(x));
  return y;
}
// Identities: the instructions of sum_of(x, y) and the like flush.
inline float flush_operand(float x) { return x; }
inline float flush_result(float x) { return x; }
#else
inline float flush(float x) {
  return KILN_BUILTIN(fabsf)(x) < 0x1p-126f ? KILN_BUILTIN(copysignf)(0.0f, x) : x;
}
inline float flush_operand(float x) { return flush(x); }
inline float flush_result(float x) { return flush(x); }
#endif
inline double flush(double x) {
  return KILN_BUILTIN(fabs)(x) < 0x1p-1022 ? KILN_BUILTIN(copysign)(0.0, x) : x;
}
inline double flush_operand(double x) { return flush(x); }
inline double flush_result(double x) { return flush(x); }
template <class T> T sum_of(T x, T y) { return x + y; }
template <class T> T difference_of(T x, T y) { return x - y; }
template <class T> T product_of(T x, T y) { return x * y; }
template <class T> T maximum_of(T x, T y) {
  return x != x || y != y ? x + y : x == y ? (negative(x) ? y : x) : x > y ? x : y;
}
template <class T> T minimum_of(T x, T y) {
  return x != x || y != y ? x + y : x == y ? (negative(x) ? x : y) : x < y ? x : y;
}

// Rounded once to a format of `digits` bits whose smallest power is
// 2^lowest; from `limit` on it is infinity.
inline float rounded(double x, int digits, int lowest, double limit) {
  if (x != x || x == 0) return float(x);
  const double size = KILN_BUILTIN(fabs)(x);
  if (size >= limit) return KILN_BUILTIN(copysignf)(from_bits<float>(0x7f800000u), float(x));
  const int power = KILN_BUILTIN(ilogb)(size);
  const double unit = KILN_BUILTIN(ldexp)(1.0, (power < lowest ? lowest : power) - digits + 1);
  return float(KILN_BUILTIN(nearbyint)(x / unit) * unit);
}
inline float to_f16(double x) { return rounded(x, 11, -14, 65520); }
// bfloat16 has the exponents of float: subnormal floats count as zero.
inline float to_bf16(double x) {
  if (flush(float(x)) == 0) return KILN_BUILTIN(copysignf)(0.0f, float(x));
  return rounded(x, 8, -126, 0x1.ffp127);
}
// The same for floats, without double arithmetic, and halves by their bits.
inline float bf16_value(u16 half) { return from_bits<float>(u32(half) << 16); }
#ifdef __CUDACC__
// One instruction each, of compute capability 8.0. They differ from the other branch in the bits of
// a NaN alone.
inline float f16_value(u16 half) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half));
  return x;
}
inline u16 f16_bits(float x) {
  u16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
  return half;
}
inline u16 bf16_bits(float x) {
  u16 half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(x));
  return half;
}
inline float to_f16(float x) { return f16_value(f16_bits(x)); }
inline float to_bf16(float x) { return bf16_value(bf16_bits(flush(x))); }
#else
// Round to nearest even adds half of the last kept bit, less one unless that bit is set, and drops
// the bits below. Subnormals of float16 are rounded by adding 0.5: the last bit of the sum has the
// weight of their last bit.
inline float to_f16(float x) {
  const float size = KILN_BUILTIN(fabsf)(x);
  if (x != x) return x;
  if (size >= 65520) return KILN_BUILTIN(copysignf)(from_bits<float>(0x7f800000u), x);
  if (size < 0x1p-14f) return KILN_BUILTIN(copysignf)((size + 0.5f) - 0.5f, x);
  const u32 all = from_bits<u32>(x);
  return from_bits<float>((all + 0xfffu + (all >> 13 & 1)) & ~0x1fffu);
}
inline float to_bf16(float x) {
  if (x != x) return x;
  if (flush(x) == 0) return KILN_BUILTIN(copysignf)(0.0f, x);
  const u32 all = from_bits<u32>(x);
  return from_bits<float>((all + 0x7fffu + (all >> 16 & 1)) & ~0xffffu);
}

inline float f16_value(u16 half) {
  const u32 sign = (half & 0x8000u) << 16, power = half >> 10 & 31, digits = half & 1023;
  if (power == 31) return from_bits<float>(sign | 0x7f800000u | digits << 13);
  if (power != 0) return from_bits<float>(sign | (power + 112) << 23 | digits << 13);
  return from_bits<float>(sign | from_bits<u32>(float(digits) * 0x1p-24f));
}
inline u16 f16_bits(float x) {
  const u32 all = from_bits<u32>(x), sign = all >> 16 & 0x8000u;
  const float size = KILN_BUILTIN(fabsf)(x);
  if (x != x) return u16(sign | 0x7e00u);
  if (size >= 65520) return u16(sign | 0x7c00u);
  if (size < 0x1p-14f) return u16(sign | u32(size * 0x1p24f));
  return u16(sign | ((all >> 23 & 255) - 112) << 10 | (all >> 13 & 1023));
}
inline u16 bf16_bits(float x) {
  return x != x ? u16(0x7fc0u) : u16(from_bits<u32>(x) >> 16);
}
#endif

// Toward zero, saturated; NaN gives 0.
template <class T> T truncated(double x) {
  constexpr int kBits = int(8 * sizeof(T)), kValueBits = kSigned<T> ? kBits - 1 : kBits;
  const u64 highest = ~u64{0} >> (64 - kValueBits);
  if (x != x) return 0;
  if (x >= KILN_BUILTIN(ldexp)(1.0, kValueBits)) return T(highest);
  const double lowest = kSigned<T> ? -KILN_BUILTIN(ldexp)(1.0, kValueBits) : 0;
  if (x <= lowest) return T(kSigned<T> ? ~highest : 0);
  return T(x);
}
// A double that rounds to a half as the integer would: dropped bits are ORed into the last bit kept
// (sticky bit), so that the second rounding is correct.
inline double sticky(u64 size) {
  return size >> 53 == 0 ? double(size) : double(size >> 11 | ((size & 2047) != 0)) * 2048;
}
inline float half_source(float x) { return x; }
template <class T> double half_source(T x) {
  if constexpr (kFloating<T>) return x;
  else return x < 0 ? -sticky(0 - bits(x)) : sticky(bits(x));
}
template <class To, class T> To convert(T x) {
  if constexpr (kFloating<T> && kFloating<To>) return flush(To(x));
  else if constexpr (kFloating<T> && kBool<To>) return x != 0;
  else if constexpr (kFloating<T>) return truncated<To>(x);
  else if constexpr (kFloating<To>) return To(x);
  else return wrap<To>(bits(x));
}
template <class T> T integer_power(T x, T y) {
  if (y < 0) return x == 1 ? T(1) : x == T(-1) ? (y % 2 == 0 ? T(1) : T(-1)) : T(0);
  u64 power = 1, square = bits(x);
  for (u64 rest = bits(y); rest != 0; rest >>= 1, square *= square) {
    if ((rest & 1) != 0) power *= square;
  }
  return wrap<T>(power);
}
)";

constexpr const char* kRest = R"(
// Whether x is above the largest value so far; NaN is above every number.
template <class T> bool above(T x, T best) { return best == best && (x != x || x > best); }

inline bool inside(s64 index, s64 limit) { return index >= 0 && index < limit; }

struct Drawn {
  u32 first, second;
};
// Philox 4x32 in ten rounds: counter and key as the definition of random_uniform lays them out.
inline Drawn drawn(u64 seed, u64 call_counter, s64 position, s64 element, u64 stream) {
  u32 key0 = u32(seed), key1 = u32(seed >> 32);
  u32 c0 = u32(element), c1 = u32(u64(element) >> 32) ^ u32(call_counter);
  u32 c2 = u32(position), c3 = u32(u64(position) >> 32) ^ u32(stream >> 1);
  for (int round = 0; round < 10; ++round) {
    const u64 left = u64(0xd2511f53u) * c0, right = u64(0xcd9e8d57u) * c2;
    c0 = u32(right >> 32) ^ c1 ^ key0;
    c1 = u32(right);
    c2 = u32(left >> 32) ^ c3 ^ key1;
    c3 = u32(left);
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return stream % 2 == 0 ? Drawn{c0, c1} : Drawn{c2, c3};
}
inline float uniform_f16(Drawn d) { return float(d.first >> 21) * 0x1p-11f; }
inline float uniform_bf16(Drawn d) { return float(d.first >> 24) * 0x1p-8f; }
inline float uniform_f32(Drawn d) { return float(d.first >> 8) * 0x1p-24f; }
inline double uniform_f64(Drawn d) {
  return double((u64(d.first) << 32 | d.second) >> 11) * 0x1p-53;
}
)";

/// fabs_of(x) and the other exact functions, for float and double.
std::string exact_functions() {
  std::string out = "\n";
  for (const auto& [name, arity] : kExact) {
    for (const char* type : {"float", "double"}) {
      const char* suffix = type[0] == 'f' ? "f" : "";
      const char* arguments = arity == 1 ? "x" : arity == 2 ? "x, y" : "x, y, z";
      std::vector<std::string> parameters;
      for (int i = 0; i < arity; ++i) parameters.push_back(text(type, " ", "xyz"[i]));
      out += text("inline ", type, " ", name, "_of(", join_text(parameters),
                  ") { return KILN_BUILTIN(", name, suffix, ")(", arguments, "); }\n");
    }
  }
  return out;
}

/// Overloads for float of sum_of(x, y) and the like, which NVRTC prefers to the templates.
std::string flushing_functions() {
  std::string out = "\n#ifdef __CUDACC__\n";
  for (const auto& [function, instruction] : kFlushing) {
    out +=
        text("inline float ", function, "(float x, float y) {\n  float z;\n  asm(\"", instruction,
             " %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y));\n", "  return z;\n}\n");
  }
  return out + "#endif\n";
}

}  // namespace

// A template op_<name> that no kernel instantiates may call a formula that is not defined.
std::string text_prelude(TextDialect dialect, const Formulas& used) {
  const char* builtin = dialect == TextDialect::Host ? "__builtin_##name" : "name";
  return text("#define KILN_BUILTIN(name) ", builtin, "\n", kTypes, kNumbers, flushing_functions(),
              exact_functions(), "\n", formula_functions(used), "\n", op_functions(), kRest,
              "}  // namespace\n");
}

}  // namespace kiln::codegen
