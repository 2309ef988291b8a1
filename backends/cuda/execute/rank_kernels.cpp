// The ops of the graph have the meaning that the host's sums have.
#include "backends/cuda/execute/rank_kernels.h"

#include "core/ops/build.h"

#include <bit>
#include <optional>

namespace kiln::cuda {
namespace {

ir::Op op_of(ir::CollectiveReduction reduction) {
  switch (reduction) {
    case ir::CollectiveReduction::Sum: return ir::Op::Add;
    case ir::CollectiveReduction::Max: return ir::Op::Maximum;
    case ir::CollectiveReduction::Min: return ir::Op::Minimum;
  }
  return ir::Op::Add;
}

ir::Value tree(ir::Op op, std::span<const ir::Value> leaves) {
  if (leaves.size() == 1) return leaves[0];
  const std::size_t left = std::bit_floor(leaves.size() - 1);
  return ir::binary(op, tree(op, leaves.first(left)), tree(op, leaves.subspan(left)));
}

bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

std::unique_ptr<const GraphKernel> compile_reduction(const KernelCompiler& compiler, DType dtype,
                                                     ir::CollectiveReduction reduction,
                                                     std::int64_t ranks) {
  const ir::Type type{dtype, {ir::Dim::fresh("count")}};
  const bool is_wide = is_half(dtype) && reduction == ir::CollectiveReduction::Sum;
  std::vector<ir::Value> arguments, leaves;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const ir::Value argument = kernel_argument("of rank " + std::to_string(rank), type);
    arguments.push_back(argument);
    leaves.push_back(is_wide ? ir::cast(argument, DType::Float32) : argument);
  }
  const ir::Value combined = tree(op_of(reduction), leaves);
  return std::make_unique<const GraphKernel>(compiler, std::move(arguments),
                                             is_wide ? ir::cast(combined, dtype) : combined,
                                             "combine_ranks");
}

DType dtype_of_width(std::size_t bytes) {
  switch (bytes) {
    case 1: return DType::UInt8;
    case 2: return DType::UInt16;
    case 4: return DType::UInt32;
    default: return DType::UInt64;
  }
}

codegen::EvaluateDim evaluating(const std::function<std::int64_t(const ir::Symbol&)>& value) {
  return [value](const ir::Dim& dim) {
    return ir::evaluate(dim,
                        [&](const ir::Symbol& symbol) { return std::optional(value(symbol)); });
  };
}

}  // namespace

BoundGraphKernel RankKernels::reduce(DType dtype, ir::CollectiveReduction reduction,
                                     std::int64_t ranks, std::int64_t count) const {
  if (dtype == DType::Bool) dtype = DType::UInt8;  // of which Max is any and Min is all
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const GraphKernel>& kernel = reductions_[{dtype, reduction, ranks}];
  if (!kernel) kernel = compile_reduction(compiler_, dtype, reduction, ranks);
  return {kernel.get(), kernel->bind(evaluating([count](const ir::Symbol&) { return count; }))};
}

BoundGraphKernel RankKernels::swap_blocks(std::size_t element_bytes, std::int64_t a, std::int64_t b,
                                          std::int64_t c) const {
  const std::lock_guard lock(mutex_);
  SwapKernel& swap = swaps_[element_bytes];
  if (!swap.kernel) {
    for (ir::Dim& dim : swap.dims) dim = ir::Dim::fresh("size");
    const ir::Value blocks = kernel_argument(
        "blocks", {dtype_of_width(element_bytes), {swap.dims[0], swap.dims[1], swap.dims[2]}});
    swap.kernel = std::make_unique<const GraphKernel>(
        compiler_, std::vector{blocks}, ir::permute(blocks, {1, 0, 2}), "swap_blocks");
  }
  const ir::Symbol first = *swap.dims[0].as_symbol(), second = *swap.dims[1].as_symbol();
  const auto value = [=](const ir::Symbol& symbol) {
    return symbol == first ? a : symbol == second ? b : c;
  };
  return {swap.kernel.get(), swap.kernel->bind(evaluating(value))};
}

}  // namespace kiln::cuda
