// The kernel is lowered from a graph of one permutation of unknown sizes, by the passes that lower
// all programs.
#include "backends/cuda/execute/filter_transposition.h"

#include "backends/codegen/grid/shape_kernel.h"
#include "backends/codegen/pipeline.h"
#include "core/module/read.h"
#include "core/ops/build.h"

#include <kiln/error.h>

namespace kiln::cuda {
namespace {

/// Throws InternalError unless the program is one kernel from its argument to its result.
void require_one_kernel(const codegen::Program& program) {
  const codegen::Plan& plan = program.plan;
  const auto* step =
      plan.steps.size() == 1 ? std::get_if<codegen::KernelStep>(&plan.steps[0]) : nullptr;
  const std::vector<int> slots{plan.arguments.at(0), plan.results.at(0)};
  if (step != nullptr && step->slots == slots) return;
  throw InternalError("bind", "", "the transposition of a filter is not one kernel");
}

}  // namespace

FilterTranspositions::Transposer FilterTranspositions::compile(DType dtype) const {
  Transposer transposer;
  transposer.rows = ir::Dim::fresh("rows");
  const ir::Type type{dtype, {transposer.rows, ir::Dim::fresh("columns")}};
  const ir::Value filter =
      ir::make(ir::Op::Placeholder, ir::PlaceholderAttrs{module::fresh_id(), "filter", type}, {});
  codegen::Compilation lowering;
  lowering.arguments = {filter};
  lowering.results = {ir::permute(filter, {1, 0})};
  lowering.target = codegen::target_of(device_->grid());
  lowering.loop_transform = codegen::shape_for_grid;
  codegen::run_pipeline(lowering);
  require_one_kernel(lowering.program);
  transposer.built = std::move(lowering.program.kernels[0]);
  const CodeTarget target{device_->grid(),
                          code_architecture(*compiler_, device_->identity().compute_capability)};
  const std::vector<codegen::BuiltKernel> kernels{transposer.built};
  const std::string label = "transpose_filter";
  transposer.library = std::make_unique<const KernelLibrary>(
      kernels, device_,
      compile_kernels(kernels, target, *compiler_, codegen::Dumps(host_, label), label));
  return transposer;
}

const FilterTranspositions::Transposer& FilterTranspositions::transposer_of(DType dtype) const {
  const std::lock_guard lock(mutex_);
  const auto found = transposers_.find(dtype);
  if (found != transposers_.end()) return found->second;
  return transposers_.emplace(dtype, compile(dtype)).first->second;
}

BoundKernel FilterTranspositions::bind(DType dtype, std::int64_t rows, std::int64_t columns) const {
  const Transposer& one = transposer_of(dtype);
  const ir::Symbol rows_symbol = *one.rows.as_symbol();
  const codegen::EvaluateDim evaluate = [&](const ir::Dim& dim) {
    return ir::evaluate(dim, [&](const ir::Symbol& symbol) {
      return std::optional(symbol == rows_symbol ? rows : columns);
    });
  };
  return bind_kernel(one.built.kernel, one.library->kernels()[0], device_->grid(), evaluate);
}

}  // namespace kiln::cuda
