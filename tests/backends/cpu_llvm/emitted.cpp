// Runs each case on every ISA that this machine has, in lanes and one point at a time.
#include "tests/backends/cpu_llvm/emitted.h"

#include "backends/cpu/llvm/code/kernel_compiler.h"
#include "core/ops/convert.h"
#include "core/types/at.h"
#include "core/types/text.h"
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compiled_math.h"

#include <xmmintrin.h>

#include <algorithm>
#include <cmath>

namespace cpu_llvm_test {
namespace {

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;

/// A copy of the memory that begins at an odd multiple of `alignment`.
class AlignedCopy {
 public:
  AlignedCopy(const Memory& from, std::size_t alignment) : bytes_(from.bytes.size()) {
    room_.resize(bytes_ + 3 * alignment);
    const auto address = reinterpret_cast<std::uintptr_t>(room_.data());
    const std::uintptr_t even = address / (2 * alignment) * (2 * alignment);
    const std::uintptr_t odd = even + alignment;
    start_ = room_.data() + (odd >= address ? odd - address : odd + 2 * alignment - address);
    std::copy(from.bytes.begin(), from.bytes.end(), start_);
  }
  std::byte* start() const { return start_; }
  Memory memory() const { return {{start_, start_ + bytes_}}; }

 private:
  std::size_t bytes_;
  std::vector<std::byte> room_;
  std::byte* start_ = nullptr;
};

KernelOutcome run_code(const KernelFunction& function, const KernelCall& call,
                       std::size_t alignment) {
  KernelOutcome outcome;
  std::vector<AlignedCopy> copies;
  copies.reserve(call.operands.size());
  for (const Memory& operand : call.operands) copies.emplace_back(operand, alignment);
  std::vector<std::byte*> buffers;
  for (const AlignedCopy& copy : copies) buffers.push_back(copy.start());
  KernelArguments arguments;
  arguments.buffers = buffers.data();
  arguments.sizes = call.sizes.data();
  arguments.begin = call.begin;
  arguments.end = call.end;
  arguments.out_of_range = &outcome.out_of_range;
  arguments.seed = call.seed;
  arguments.call_counter = call.call_counter;
  constexpr unsigned kFlush = 0x8040;
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | kFlush);
  function.run(function.context, &arguments);
  _mm_setcsr(saved);
  for (const AlignedCopy& copy : copies) outcome.operands.push_back(copy.memory());
  return outcome;
}

/// The rank of a float among those of its dtype, so that neighbours are 1 apart.
std::int64_t rank_of(std::uint64_t bits, std::size_t bytes) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

/// The number there; a subnormal bfloat16 is a zero of its sign.
double number_at(DType dtype, const std::byte* x) {
  double value = 0;
  ir::load_floating(dtype, x, &value, 1);
  return value;
}

bool agree(DType dtype, const std::byte* x, const std::byte* y, int units) {
  const std::size_t bytes = dtype_bytes(dtype);
  if (std::memcmp(x, y, bytes) == 0) return true;
  if (!is_float(dtype)) return false;
  const double a = number_at(dtype, x), b = number_at(dtype, y);
  if (std::isnan(a) && std::isnan(b)) return true;
  if (a == b && std::signbit(a) == std::signbit(b)) return true;
  if (units == 0 || std::isnan(a) || std::isnan(b)) return false;
  std::uint64_t one = 0, other = 0;
  std::memcpy(&one, x, bytes);
  std::memcpy(&other, y, bytes);
  return std::abs(rank_of(one, bytes) - rank_of(other, bytes)) <= units;
}

std::string shown(DType dtype, const std::byte* x) {
  double value = 0;
  ir::convert_elements(dtype, x, DType::Float64, reinterpret_cast<std::byte*>(&value), 1);
  std::uint64_t bits = 0;
  std::memcpy(&bits, x, dtype_bytes(dtype));
  return text(value, " (bits ", bits, ")");
}

/// The first difference as text; empty when there is none.
std::string difference(const EmitCase& one, const KernelOutcome& wanted,
                       const KernelOutcome& found) {
  const IndexOutOfRange &a = wanted.out_of_range, &b = found.out_of_range;
  if (a.access != b.access || a.index != b.index || a.limit != b.limit) {
    return text("index out of range: access ", b.access, " index ", b.index, " limit ", b.limit,
                ", wanted ", a.access, " ", a.index, " ", a.limit);
  }
  for (std::size_t k = 0; k < wanted.operands.size(); ++k) {
    const DType dtype = one.kernel.operands[OperandId(static_cast<int>(k))].dtype;
    const std::size_t bytes = dtype_bytes(dtype);
    for (std::size_t i = 0; i < wanted.operands[k].bytes.size(); i += bytes) {
      const std::byte* x = wanted.operands[k].bytes.data() + i;
      const std::byte* y = found.operands[k].bytes.data() + i;
      if (agree(dtype, x, y, one.units)) continue;
      return text("operand ", k, " element ", i / bytes, ": ", shown(dtype, y), ", wanted ",
                  shown(dtype, x));
    }
  }
  return "";
}

/// Whether two codes of one kernel leave the same bytes and the same index out of range.
bool same_bits(const KernelOutcome& x, const KernelOutcome& y) {
  for (std::size_t i = 0; i < x.operands.size(); ++i) {
    if (x.operands[i].bytes != y.operands[i].bytes) return false;
  }
  const IndexOutOfRange &a = x.out_of_range, &b = y.out_of_range;
  return a.access == b.access && a.index == b.index && a.limit == b.limit;
}

}  // namespace

void check_emitted(const std::vector<EmitCase>& cases) {
  BuiltKernels built;
  std::vector<std::vector<KernelOutcome>> wanted;
  for (const EmitCase& one : cases) {
    built.push_back({one.kernel, {}, {}, {}});
    built.back().kernel.name = text("kernel", built.size());
    wanted.emplace_back();
    for (const KernelCall& call : one.calls) {
      wanted.back().push_back(run_interpreted(one.kernel, call));
    }
  }
  std::vector<cpu::IsaTarget> targets = targets_here();
  if (targets.back().has_avx512_bf16) {
    targets.push_back(targets.back());
    targets.back().has_avx512_bf16 = false;
  }
  for (const cpu::IsaTarget& target : targets) {
    std::shared_ptr<const void> code;
    cpu::CompileTexts texts;
    const auto functions = cpu::compile_kernels(built, {target}, code, texts);
    std::shared_ptr<const void> numbered_code;
    const auto numbered =
        cpu::compile_kernels(built, {target, 2, cpu::ParametricCode::Always}, numbered_code, texts);
    for (const KernelId id : built.ids()) {
      const std::size_t i = at(id.number);
      for (std::size_t c = 0; c < cases[i].calls.size(); ++c) {
        const KernelOutcome found = run_code(functions[id], cases[i].calls[c], cases[i].alignment);
        const std::string problem = difference(cases[i], wanted[i][c], found);
        INFO(cpu::name_of(target.isa) << ", call " << c << "\n" << print(cases[i].kernel));
        CHECK(problem == "");
        const KernelOutcome shared = run_code(numbered[id], cases[i].calls[c], cases[i].alignment);
        CHECK(same_bits(shared, found));
      }
    }
  }
}

std::vector<DType> every_dtype() {
  std::vector<DType> list{DType::Bool};
  for (const DType dtype : kFloats) list.push_back(dtype);
  for (const DType dtype : kIntegers) list.push_back(dtype);
  return list;
}

Memory filled(DType dtype, const std::vector<double>& values) {
  Memory result{std::vector<std::byte>(values.size() * dtype_bytes(dtype))};
  ir::convert_elements(DType::Float64, reinterpret_cast<const std::byte*>(values.data()), dtype,
                       result.bytes.data(), static_cast<std::int64_t>(values.size()));
  return result;
}

std::vector<double> whole_numbers(std::size_t count, int low, int high) {
  std::vector<double> list;
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    list.push_back(low + static_cast<int>((state >> 8) % at(high - low + 1)));
  }
  return list;
}

}  // namespace cpu_llvm_test
