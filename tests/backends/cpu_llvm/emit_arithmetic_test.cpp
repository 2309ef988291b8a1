// Tests emitted arithmetic: every op and cast of every dtype on pairs of special values, integers
// next to multiples, all halves, and floats around every rounding boundary of a half.
#include "core/types/at.h"
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/emitted.h"

#include "core/ops/convert.h"
#include "core/types/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void append(Memory& to, const std::vector<std::byte>& bytes) {
  to.bytes.insert(to.bytes.end(), bytes.begin(), bytes.end());
}

std::vector<std::vector<std::byte>> special_values(DType dtype) {
  std::vector<double> numbers{0, 1, 2, 3, 5, 9, 120, 1e300};
  if (dtype == DType::Bool) numbers = {0, 1};
  const bool is_signed = is_float(dtype) || info(dtype).kind == DTypeKind::Signed;
  if (is_signed && dtype != DType::Bool) {
    for (double x : {-1.0, -2.0, -3.0, -1e300}) numbers.push_back(x);
  }
  if (is_float(dtype)) {
    for (double x : {kNan, kInfinity, -kInfinity, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -0.1, 89.0,
                     255.5, 65519.0, 65520.0, 2147483647.0, -2147483904.0, 9.3e18, 1.9e19}) {
      numbers.push_back(x);
    }
  }
  std::vector<std::vector<std::byte>> list;
  for (double x : numbers) list.push_back(ir::scalar_bytes(dtype, x));
  if (!is_float(dtype)) return list;
  for (const bool negative : {false, true}) {  // subnormal
    std::vector<std::byte> small(dtype_bytes(dtype));
    small[0] = std::byte{5};
    if (negative) small.back() = std::byte{0x80};
    list.push_back(small);
  }
  return list;
}

int units_of(Op op, DType dtype) {
  constexpr Op kNear[] = {Op::Exp,  Op::Expm1,   Op::Log, Op::Log1p, Op::Sin, Op::Cos,
                          Op::Tanh, Op::Sigmoid, Op::Erf, Op::Atan,  Op::Pow};
  const bool near = std::find(std::begin(kNear), std::end(kNear), op) != std::end(kNear);
  if (!near || !is_float(dtype)) return 0;
  return dtype == DType::Float32 || dtype == DType::Float64 ? 2 : 1;
}

bool takes(const ir::OpDef& d, DType dtype) {
  if (d.op == Op::Select) return true;
  if ((d.dtypes & ir::dtype_bit(dtype)) == 0) return false;
  return d.scalar.floating || d.scalar.signed_integer || d.scalar.unsigned_integer;
}

/// One op on all pairs of special values (and on a third operand, the condition).
EmitCase all_pairs(const ir::OpDef& d, DType dtype) {
  Memory x, y, chosen;
  for (const auto& first : special_values(dtype)) {
    for (const auto& second : special_values(dtype)) {
      append(x, first);
      append(y, second);
      chosen.bytes.push_back(std::byte(chosen.bytes.size() % 3 == 0));
    }
  }
  const auto count = static_cast<std::int64_t>(chosen.bytes.size());
  KernelMaker k("pairs", {count}, 1);
  const AccessId from_x = k.access(k.input(dtype), {1}), from_y = k.access(k.input(dtype), {1});
  const ExpressionId which = k.load(k.access(k.input(DType::Bool), {1}));
  std::vector<ExpressionId> arguments{k.load(from_x), k.load(from_y)};
  if (d.arity == 1) arguments.pop_back();
  if (d.arity == 3) arguments.insert(arguments.begin(), which);
  const ExpressionId value = k.apply(d.op, arguments);
  const DType result = k.kernel.expressions[value].dtype;
  k.map({{k.access(k.output(result), {1}), value}});
  k.kernel.vector_axis = 0;
  const Memory out{std::vector<std::byte>(at(count) * dtype_bytes(result))};
  return {k.kernel, {{{x, y, chosen, out}, {}, 0, count}}, units_of(d.op, dtype)};
}

struct Pairs {
  std::vector<double> x, y;
};

/// All pairs of the values of an 8-bit dtype, modulo 256.
Pairs all_bytes() {
  Pairs pairs;
  for (int x = -128; x < 256; ++x) {
    for (int y = -128; y < 256; ++y) {
      pairs.x.push_back(x);
      pairs.y.push_back(y);
    }
  }
  return pairs;
}

/// Small and large multiples of divisors of every size, and their neighbours, as far as the dtype
/// has them.
Pairs multiples(DType dtype) {
  const int bits = static_cast<int>(8 * dtype_bytes(dtype));
  const bool is_signed = info(dtype).kind == DTypeKind::Signed;
  const double max = std::ldexp(1, is_signed ? bits - 1 : bits) - 1;
  const double min = is_signed ? -max - 1 : 0;
  Pairs pairs;
  for (double divisor = 1; divisor <= max; divisor = std::floor(divisor * 1.7) + 1) {
    for (const double count : {1.0, 2.0, 1000.0, std::floor(max / divisor)}) {
      for (const double sign : {1.0, -1.0}) {
        for (const double more : {-1.0, 0.0, 1.0}) {
          const double x = sign * count * divisor + more, y = sign * divisor;
          if (x < min || x > max || y < min) continue;
          pairs.x.insert(pairs.x.end(), {x, x});
          pairs.y.insert(pairs.y.end(), {y, divisor});
        }
      }
    }
  }
  return pairs;
}

EmitCase of_pairs(Op op, DType dtype, const Pairs& pairs) {
  const auto count = static_cast<std::int64_t>(pairs.x.size());
  KernelMaker k("pairs", {count}, 1);
  const ExpressionId x = k.load(k.access(k.input(dtype), {1})),
                     y = k.load(k.access(k.input(dtype), {1}));
  k.map({{k.access(k.output(dtype), {1}), k.apply(op, {x, y})}});
  k.kernel.vector_axis = 0;
  const Memory out{std::vector<std::byte>(at(count) * dtype_bytes(dtype))};
  return {k.kernel, {{{filled(dtype, pairs.x), filled(dtype, pairs.y), out}, {}, 0, count}}};
}

EmitCase cast_of(DType from, DType to, const Memory& values, int vector_axis = 0) {
  const auto count = static_cast<std::int64_t>(values.bytes.size() / dtype_bytes(from));
  KernelMaker k("cast", {count}, 1);
  const ExpressionId value = k.load(k.access(k.input(from), {1}));
  k.map({{k.access(k.output(to), {1}), k.convert(to, value)}});
  k.kernel.vector_axis = vector_axis;
  const Memory out{std::vector<std::byte>(at(count) * dtype_bytes(to))};
  return {k.kernel, {{{values, out}, {}, 0, count}}};
}

/// `vector_axis` as for cast_of.
EmitCase bitcast_of(DType from, DType to, const Memory& values, int vector_axis) {
  EmitCase made = cast_of(from, to, values, vector_axis);
  for (auto& e : made.kernel.expressions) {
    if (e.kind == codegen::ExpressionKind::Convert) e.kind = codegen::ExpressionKind::Bitcast;
  }
  return made;
}

Memory every_half() {
  std::vector<std::uint16_t> halves;
  for (unsigned bits = 0; bits < 0x10000; ++bits) halves.push_back(std::uint16_t(bits));
  return memory(halves);
}

/// Between each half and the next one: the middle, and the floats next to it.
Memory around_halves(DType dtype) {
  std::vector<float> list;
  for (unsigned bits = 0; bits < 0xffff; ++bits) {
    const auto convert = dtype == DType::Float16 ? float16_to_float : bfloat16_to_float;
    const float low = convert(std::uint16_t(bits)), high = convert(std::uint16_t(bits + 1));
    const float middle = low / 2 + high / 2;
    list.push_back(low);
    list.push_back(middle);
    list.push_back(std::nextafter(middle, kInfinity));
    list.push_back(std::nextafter(middle, -kInfinity));
  }
  return memory(list);
}

}  // namespace

TEST_CASE("emitted: every op on all pairs of special values of every dtype") {
  std::vector<EmitCase> cases;
  for (const ir::OpDef& d : ir::all_ops()) {
    if (!has_scalar_meaning(d)) continue;
    for (const DType dtype : every_dtype()) {
      if (takes(d, dtype)) cases.push_back(all_pairs(d, dtype));
    }
  }
  CHECK(cases.size() > 150);
  check_emitted(cases);
}

TEST_CASE("emitted: quotients and remainders next to every multiple, and those of all bytes") {
  std::vector<EmitCase> cases;
  for (const Op op : {Op::Div, Op::Mod}) {
    for (const DType dtype : kIntegers) {
      if (dtype_bytes(dtype) > 4) continue;
      const Pairs pairs = dtype_bytes(dtype) == 1 ? all_bytes() : multiples(dtype);
      cases.push_back(of_pairs(op, dtype, pairs));
    }
  }
  check_emitted(cases);
}

TEST_CASE("emitted: every cast of special values, in lanes and one at a time") {
  std::vector<EmitCase> cases;
  for (const DType from : every_dtype()) {
    Memory values;
    for (const auto& value : special_values(from)) append(values, value);
    for (const DType to : every_dtype()) {
      if (from == to) continue;
      cases.push_back(cast_of(from, to, values, 0));
      cases.push_back(cast_of(from, to, values, -1));
    }
  }
  check_emitted(cases);
}

/// Of a half, only its arithmetic value is in registers.
TEST_CASE("emitted: every bitcast of special values, in lanes and one at a time") {
  std::vector<EmitCase> cases;
  for (const DType from : every_dtype()) {
    Memory values;
    for (const auto& value : special_values(from)) append(values, value);
    for (const DType to : every_dtype()) {
      const bool fits = from != DType::Bool && to != DType::Bool && from != to &&
                        dtype_bytes(from) == dtype_bytes(to);
      if (!fits || (dtype_bytes(from) == 2 && (is_float(from) || is_float(to)))) continue;
      cases.push_back(bitcast_of(from, to, values, 0));
      cases.push_back(bitcast_of(from, to, values, -1));
    }
  }
  CHECK(cases.size() == 32);
  check_emitted(cases);
}

TEST_CASE("emitted: casts of every half, and of floats around every half to halves") {
  std::vector<EmitCase> cases;
  for (const DType half : {DType::Float16, DType::BFloat16}) {
    for (const DType to : {DType::Float32, DType::Float64, DType::Int32, DType::Bool}) {
      cases.push_back(cast_of(half, to, every_half()));
    }
    cases.push_back(cast_of(DType::Float32, half, around_halves(half)));
  }
  check_emitted(cases);
}
