// A graph of one permutation of unknown sizes.
#include "backends/cuda/execute/filter_transposition.h"

#include "core/ops/build.h"

namespace kiln::cuda {

FilterTranspositions::Transposer FilterTranspositions::compile(DType dtype) const {
  const ir::Dim rows = ir::Dim::fresh("rows");
  const ir::Value filter = kernel_argument("filter", {dtype, {rows, ir::Dim::fresh("columns")}});
  return {rows,
          std::make_unique<const GraphKernel>(compiler_, std::vector{filter},
                                              ir::permute(filter, {1, 0}), "transpose_filter")};
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
  return one.kernel->bind([&](const ir::Dim& dim) {
    return ir::evaluate(dim, [&](const ir::Symbol& symbol) {
      return std::optional(symbol == rows_symbol ? rows : columns);
    });
  });
}

}  // namespace kiln::cuda
