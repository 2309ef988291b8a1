// Emits the loop nest of a kernel, and the entries for both kinds of code.
#include "backends/cpu/llvm/kernel/emit_kernel.h"

#include "backends/cpu/llvm/kernel/kernel_emitter.h"

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Called by kernels: records a call's first index out of range. `bad`: a byte per lane.
void record_out_of_range(IndexOutOfRange* record, std::int64_t access, std::int64_t limit,
                         const std::int64_t* indices, const std::uint8_t* bad, std::int64_t lanes) {
  if (record->access >= 0) return;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    if (!bad[lane]) continue;
    *record = {access, indices[lane], limit};
    return;
  }
}

}  // namespace

using llvm::Value;

void KernelEmitter::run() {
  begin_function();
  compute(levels_.needed_everywhere(), 0);
  check_rows(levels_.needed_everywhere(), 0);
  if (schedule_.streams.any()) {
    streaming_loops();
  } else {
    outer_loops(0);
  }
  b_.CreateRetVoid();
}

void KernelEmitter::outer_loops(int axis) {
  if (axis == kernel_.outer) {
    for (const StageGroup group : schedule_.groups) run_stages(group);
    for (Value*& result : results_) result = nullptr;
    return;
  }
  if (axis == schedule_.tiles.axis) return tile_loops();
  if (schedule_.row_blocks.any() && axis == row_axis()) return row_block_loops();
  axis_loop(axis, [&] {
    const IdVector<AccessId, CheckedRow> outside = checked_rows_;
    compute(levels_.needed_everywhere(), axis + 1);
    check_rows(levels_.needed_everywhere(), axis + 1);
    prefetch_gathered_rows(axis);
    outer_loops(axis + 1);
    checked_rows_ = outside;
  });
}

void emit_kernel(llvm::Module& module, const Kernel& kernel, const IsaTarget& target) {
  KernelEmitter(module, kernel, target, nullptr).run();
}

std::vector<std::int64_t> emit_parametric_kernel(llvm::Module& module, const Kernel& kernel,
                                                 const IsaTarget& target) {
  std::vector<std::int64_t> parameters;
  KernelEmitter(module, kernel, target, &parameters).run();
  return parameters;
}

std::vector<RuntimeSymbol> kernel_symbols() {
  return {{"kiln_record_out_of_range", reinterpret_cast<void*>(record_out_of_range)}};
}

}  // namespace kiln::cpu
