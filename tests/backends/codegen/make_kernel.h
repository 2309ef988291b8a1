// Builds kernels by hand, part by part, and runs them on memory of a test: by the interpreter and
// as text, which must agree in every byte unless a test says otherwise.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/kernel.h"

#include <cstring>
#include <string>
#include <vector>

namespace kiln::test {

using codegen::AccessId, codegen::ExpressionId, codegen::OperandId, codegen::StageId;

inline constexpr DType kF32 = DType::Float32;

/// Adds parts to `kernel`; each call returns the id of the part that it added.
class KernelMaker {
 public:
  KernelMaker(std::string name, std::vector<ir::Dim> axes, int outer);

  OperandId input(DType dtype);
  OperandId output(DType dtype, bool read = false);
  /// One stride per axis.
  AccessId access(OperandId operand, std::vector<ir::Dim> strides, ir::Dim offset = 0);
  AccessId access_at(OperandId operand, std::vector<ir::Dim> strides, ExpressionId dynamic,
                     ir::Dim dynamic_stride, ir::Dim dynamic_limit);

  /// Gives the access a guard.
  AccessId guard(AccessId access, ExpressionId when);

  ExpressionId number(DType dtype, double value);
  ExpressionId axis(int number);
  ExpressionId size(const ir::Dim& dim);
  ExpressionId load(AccessId access);
  ExpressionId apply(ir::Op op, std::vector<ExpressionId> arguments);
  ExpressionId convert(DType dtype, ExpressionId argument);
  ExpressionId bitcast(DType dtype, ExpressionId argument);
  ExpressionId result(StageId stage);
  ExpressionId random(DType dtype, ExpressionId position, ExpressionId element, std::int64_t seed,
                      std::int64_t stream);

  StageId map(std::vector<codegen::Store> stores, bool inner = true);
  StageId reduce(codegen::Combiner combiner, ExpressionId value,
                 std::vector<codegen::Store> stores = {});
  StageId running(codegen::Combiner combiner, ExpressionId value,
                  std::vector<codegen::Store> stores);

  codegen::Kernel kernel;

 private:
  StageId add_stage(codegen::StageKind kind, codegen::Combiner combiner, ExpressionId value,
                    std::vector<codegen::Store> stores);
};

/// The memory of one operand.
struct Memory {
  std::vector<std::byte> bytes;
  bool operator==(const Memory&) const = default;
};

template <class T>
Memory memory(const std::vector<T>& elements) {
  Memory result{std::vector<std::byte>(elements.size() * sizeof(T))};
  if (!elements.empty()) std::memcpy(result.bytes.data(), elements.data(), result.bytes.size());
  return result;
}
template <class T>
std::vector<T> elements(const Memory& from) {
  std::vector<T> list(from.bytes.size() / sizeof(T));
  if (!list.empty()) std::memcpy(list.data(), from.bytes.data(), from.bytes.size());
  return list;
}

struct KernelCall {
  std::vector<Memory> operands;
  std::vector<std::int64_t> sizes = {};
  std::int64_t begin = 0, end = 1;
  std::uint64_t seed = 0, call_counter = 0;
};
struct KernelOutcome {
  std::vector<Memory> operands;
  codegen::IndexOutOfRange out_of_range;
};

/// Runs the kernel by the interpreter.
KernelOutcome run_interpreted(const codegen::Kernel& kernel, const KernelCall& call);
/// Runs the C++ text of the kernels, all compiled at once.
std::vector<KernelOutcome> run_as_text(const std::vector<codegen::Kernel>& kernels,
                                       const std::vector<KernelCall>& calls);
/// Checks that two outcomes agree in every byte and in the index out of range.
void check_equal(const KernelOutcome& found, const KernelOutcome& expected);
/// Checks the same, except that floats may differ by rounding where the kernel adds or multiplies.
void check_close(const codegen::Kernel& kernel, const KernelOutcome& found,
                 const KernelOutcome& expected);
/// Runs on up to four devices and in three orders of threads, as compiled text and as interpreter
/// of the text: checks that these agree in every byte, and with `interpreted` up to rounding of
/// sums. REQUIRES: the call is for all of axis 0.
void run_as_grids(const codegen::Kernel& kernel, const KernelCall& call,
                  const KernelOutcome& interpreted);
/// The same of several kernels, which are compiled together. REQUIRES: names differ.
void run_as_grids(const std::vector<codegen::Kernel>& kernels, const std::vector<KernelCall>& calls,
                  const std::vector<KernelOutcome>& interpreted);
/// Kernels that run_as_grids compiles together, with their calls.
class GridCases {
 public:
  void add(codegen::Kernel kernel, KernelCall call);
  void run() const { run_as_grids(kernels_, calls_, interpreted_); }

 private:
  std::vector<codegen::Kernel> kernels_;
  std::vector<KernelCall> calls_;
  std::vector<KernelOutcome> interpreted_;
};
/// Runs the interpreter, the loops and, where the call is for all of axis 0, the grids; checks that
/// all agree.
KernelOutcome run_all_ways(const codegen::Kernel& kernel, const KernelCall& call);

}  // namespace kiln::test
