// Builds one kernel with an output for each op.
#include "tests/backends/cpu_llvm/compared_text.h"

#include "backends/codegen/text/op_text.h"
#include "backends/cpu/llvm/code/kernel_compiler.h"
#include "core/types/text.h"
#include "tests/support/catch.h"
#include "tests/backends/codegen/host_compiler.h"
#include "tests/backends/codegen/make_kernel.h"
#include "tests/backends/cpu_llvm/compiled_math.h"

#include <xmmintrin.h>

#include <cstring>

namespace cpu_llvm_test {
namespace {

using namespace kiln;
using namespace kiln::codegen;

void run(const KernelFunction& function, const std::vector<std::byte*>& buffers, FloatState state) {
  IndexOutOfRange out_of_range;
  KernelArguments arguments;
  arguments.buffers = buffers.data();
  arguments.end = static_cast<std::int64_t>(ComparedOps::kCount);
  arguments.out_of_range = &out_of_range;
  constexpr unsigned kFlush = 0x8040;
  const unsigned saved = _mm_getcsr();
  if (state == FloatState::Flushes) _mm_setcsr(saved | kFlush);
  function.run(function.context, &arguments);
  _mm_setcsr(saved);
}

std::byte* bytes(const void* x) { return const_cast<std::byte*>(static_cast<const std::byte*>(x)); }

std::uint64_t element(DType dtype, const void* from, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(from) + i * dtype_bytes(dtype),
              dtype_bytes(dtype));
  return bits;
}

/// The bits with one NaN, and zeros for subnormal numbers, as core/ops/op.h defines them.
std::uint64_t canonical(DType dtype, std::uint64_t bits) {
  struct Layout {
    int sign, mantissa;
  };
  const Layout layout = dtype == DType::Float64    ? Layout{63, 52}
                        : dtype == DType::Float32  ? Layout{31, 23}
                        : dtype == DType::BFloat16 ? Layout{15, 7}
                                                   : Layout{15, 10};
  if (!is_float(dtype)) return bits;
  const std::uint64_t sign = bits & 1ull << layout.sign, size = bits ^ sign;
  const std::uint64_t infinity = (1ull << layout.sign) - (1ull << layout.mantissa);
  if (size > infinity) return infinity + 1;
  const bool is_zero = dtype != DType::Float16 && size < 1ull << layout.mantissa;
  return is_zero ? sign : bits;
}

}  // namespace

bool has_comparable_isa() {
  if (targets_here().back().has_fma) return true;
  WARN("left out: this machine has no fused multiply-add");
  return false;
}

std::vector<ir::Op> elementwise_ops(DType dtype, int arity) {
  std::vector<ir::Op> ops;
  for (const OpText& row : op_texts()) {
    const ir::OpDef& d = ir::def(row.op);
    if (d.arity == arity && (d.dtypes & ir::dtype_bit(dtype)) != 0) ops.push_back(row.op);
  }
  return ops;
}

ComparedOps::ComparedOps(DType dtype, std::vector<ir::Op> ops) : dtype_(dtype) {
  test::KernelMaker k("ops", {static_cast<std::int64_t>(kCount)}, 1);
  std::vector<ExpressionId> arguments;
  for (int i = 0; i < ir::def(ops[0]).arity; ++i) {
    arguments.push_back(k.load(k.access(k.input(dtype), {1})));
  }
  std::vector<Store> stores;
  for (const ir::Op op : ops) {
    const ExpressionId value = k.apply(op, arguments);
    const DType result = k.kernel.expressions[value].dtype;
    stores.push_back({k.access(k.output(result), {1}), value});
    const std::vector<std::byte> memory(kCount * dtype_bytes(result));
    results_.push_back({op, result, memory, memory});
  }
  k.map(stores);
  k.kernel.vector_axis = 0;
  cpu::CompileTexts texts;
  code_ =
      cpu::compile_kernels({{k.kernel, {}, {}, {}}}, {targets_here().back()}, code_holder_, texts)
          .front();
  text_ = test::compile_text({&k.kernel, 1}, text_holder_).front();
}

std::string ComparedOps::difference(const void* x, const void* y, FloatState text_state) {
  std::vector<std::byte*> code{bytes(x)};
  if (y != nullptr) code.push_back(bytes(y));
  std::vector<std::byte*> text = code;
  for (Result& result : results_) {
    code.push_back(result.code.data());
    text.push_back(result.text.data());
  }
  run(code_, code, FloatState::Flushes);
  run(text_, text, text_state);
  for (const Result& result : results_) {
    if (result.code == result.text) continue;
    const std::string found = difference_of(result, x, y);
    if (!found.empty()) return found;
  }
  return "";
}

std::string ComparedOps::difference_of(const Result& result, const void* x, const void* y) const {
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::uint64_t code = element(result.dtype, result.code.data(), i);
    const std::uint64_t text = element(result.dtype, result.text.data(), i);
    if (canonical(result.dtype, code) == canonical(result.dtype, text)) continue;
    return kiln::text(ir::def(result.op).name, " of ", dtype_name(dtype_), " at bits ", std::hex,
                      element(dtype_, x, i), " ", y == nullptr ? 0 : element(dtype_, y, i),
                      ": text ", text, ", code ", code);
  }
  return "";
}

}  // namespace cpu_llvm_test
