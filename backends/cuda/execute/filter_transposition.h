// Transposes filters between the layout of the graph, HWIO ([spatial.., channels, filters]), and
// that of cuDNN, KRSC ([filters, spatial.., channels]): matrices whose columns are the filters.
#pragma once

#include "backends/cuda/execute/graph_kernel.h"

#include <map>
#include <mutex>

namespace kiln::cuda {

/// The kernels of a device, one for each dtype; programs share them. Thread-safe.
class FilterTranspositions {
 public:
  explicit FilterTranspositions(KernelCompiler compiler) : compiler_(std::move(compiler)) {}

  /// The transposition of a dense matrix [rows, columns]; its operands are that matrix and the
  /// transposed one. The first one of a dtype compiles the
  /// kernel, and blocks other threads meanwhile. Throws sdk::Failure. REQUIRES: a ScopedContext of
  /// the thread, which captures no stream; the object outlives the result.
  BoundKernel bind(DType dtype, std::int64_t rows, std::int64_t columns) const;

 private:
  struct Transposer {
    ir::Dim rows;  // the other symbol is that of the columns
    std::unique_ptr<const GraphKernel> kernel;
  };

  const Transposer& transposer_of(DType dtype) const;
  Transposer compile(DType dtype) const;

  KernelCompiler compiler_;
  mutable std::mutex mutex_;
  mutable std::map<DType, Transposer> transposers_;
};

}  // namespace kiln::cuda
