// Transposes filters between the layout of the graph, HWIO ([spatial.., channels, filters]), and
// that of cuDNN, KRSC ([filters, spatial.., channels]): matrices whose columns are the filters.
#pragma once

#include "backends/cuda/api/open_compiler.h"
#include "backends/cuda/execute/launch_kernel.h"

#include <map>
#include <mutex>

namespace kiln::cuda {

/// A launch for the sizes of a call.
struct FilterTransposition {
  const LoadedKernel* kernel = nullptr;
  std::vector<std::int64_t> sizes;  // one per Kernel::sizes
  codegen::GridLaunch grid;
};

/// The kernels of a device, one for each dtype; programs share them. Thread-safe.
class FilterTranspositions {
 public:
  FilterTranspositions(std::shared_ptr<const Device> device,
                       std::shared_ptr<const api::Compiler> compiler, const sdk::Host& host)
      : device_(std::move(device)), compiler_(std::move(compiler)), host_(host) {}

  /// The transposition of a dense matrix [rows, columns]. The first one of a dtype compiles the
  /// kernel, and blocks other threads meanwhile. Throws sdk::Failure. REQUIRES: a ScopedContext of
  /// the thread, which captures no stream; the object outlives the result.
  FilterTransposition bind(DType dtype, std::int64_t rows, std::int64_t columns) const;

 private:
  struct Transposer {
    ir::Dim rows, columns;
    codegen::BuiltKernel built;
    std::unique_ptr<const KernelLibrary> library;  // of one kernel
  };

  const Transposer& transposer_of(DType dtype) const;
  Transposer compile(DType dtype) const;

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const api::Compiler> compiler_;
  sdk::Host host_;  // receives dumps of the kernels
  mutable std::mutex mutex_;
  mutable std::map<DType, Transposer> transposers_;
};

/// Queues the transposition of the matrix at `from` to `to`. `call_block`: as launch_kernel().
/// Throws sdk::Failure. REQUIRES: a ScopedContext of the thread.
void issue_transposition(const FilterTransposition& bound, const Stream& stream,
                         api::DeviceAddress from, api::DeviceAddress to,
                         api::DeviceAddress call_block);

}  // namespace kiln::cuda
