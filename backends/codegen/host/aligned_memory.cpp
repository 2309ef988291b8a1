// Rounds sizes up to whole units of the alignment.
#include "backends/codegen/host/aligned_memory.h"

#include "backends/abi/kiln_backend_memory.h"
#include "backends/codegen/plan/plan_memory.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {

AlignedMemory allocate_aligned(std::int64_t bytes) {
  constexpr std::int64_t kPage = std::int64_t{2} << 20, kTooLarge = std::int64_t{1} << 48;
  const bool large = bytes >= 2 * kPage && bytes < kTooLarge;
  const std::int64_t alignment = large ? kPage : kAlignment;
  const std::int64_t rounded = std::max(bytes, alignment) + (alignment - 1);
  const std::int64_t whole = rounded / alignment * alignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(at(alignment), at(whole)));
  abi::ask_for_large_pages(memory, at(whole));
  return AlignedMemory(memory);
}

}  // namespace kiln::codegen
