// Binds a loop that is one kernel (codegen::RowLoop) to the sizes of a call.
#pragma once

#include "backends/codegen/bind/bind_loop.h"
#include "backends/cuda/execute/kernel_library.h"

#include <vector>

namespace kiln::cuda {

struct BoundRowLoop {
  const LoadedLoop* loaded = nullptr;
  std::vector<std::int64_t> numbers = {};  // the numbers among the parameters, in their order
  std::int64_t rows = 0;              // of all blocks
  std::int64_t blocks = 0;
};

/// `bound`: of the step. `loaded` outlives the result. Throws as `evaluate`.
BoundRowLoop bind_row_loop(const codegen::LoopStep& step, const codegen::LoopBinding& bound,
                           const LoadedLoop& loaded, const codegen::EvaluateDim& evaluate);

}  // namespace kiln::cuda
