// Aligns large allocations to large pages and requests these from the system.
#include "backends/codegen/host/call_memory.h"

#include "backends/abi/kiln_backend_memory.h"
#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/bind/memory_report.h"
#include "backends/codegen/host/bind/bound_memory.h"
#include "core/types/text.h"

#include <algorithm>
#include <cstdlib>

namespace kiln::codegen {
namespace {

std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

/// Aligned to kAlignment; memory of at least two large pages is aligned to a large page.
std::byte* allocate(std::int64_t bytes, const char* what, const BoundPlan& plan) {
  constexpr std::int64_t kPage = std::int64_t{2} << 20, kTooLarge = std::int64_t{1} << 48;
  const bool large = bytes >= 2 * kPage && bytes < kTooLarge;
  const std::int64_t alignment = large ? kPage : kAlignment;
  const std::int64_t rounded = std::max(bytes, alignment) + (alignment - 1);
  const std::int64_t whole = rounded / alignment * alignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(size(alignment), size(whole)));
  abi::ask_for_large_pages(memory, size(whole));
  if (memory) return memory;
  throw sdk::Failure(KILN_CODE_RESOURCE_EXHAUSTED, text("no memory for ", bytes, " bytes of ", what,
                                                        largest_tensors(memory_of(plan))));
}

}  // namespace

CallMemory::CallMemory(const BoundPlan& plan)
    : arena(allocate(plan.arena.bytes, "temporary tensors", plan)),
      packed(allocate(plan.packed_bytes, "packed operands and cached tensors", plan)),
      list(plan, arena.get(), packed.get()),
      packed_versions(plan.packings.size(), 0),
      cached_versions(plan.cached_arguments.size(), 0) {}

}  // namespace kiln::codegen
