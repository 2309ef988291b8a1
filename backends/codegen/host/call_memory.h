// The memory of one call of an executable: arena, packed operands, and
// the execution list over them.
#pragma once

#include "backends/codegen/host/execution_list.h"

#include <cstdlib>
#include <memory>

namespace kiln::codegen {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Used by one call at a time and reused by later calls, so that pages are faulted in once and
/// packed operands stay packed.
struct CallMemory {
  /// Throws sdk::Failure (RESOURCE_EXHAUSTED) naming the largest tensors.
  explicit CallMemory(const BoundPlan& plan);

  std::unique_ptr<std::byte, FreeMemory> arena, packed;
  ExecutionList list;
  std::vector<std::uint64_t> packed_versions;  // of packed slots, see ExecutionList::versions
  std::vector<std::uint64_t> cached_versions;    // of BoundPlan::cached_arguments in the last run
  std::uint64_t cached_runs = 0;                 // number of runs of the cached steps
};

}  // namespace kiln::codegen
