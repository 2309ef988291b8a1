// Memory of calls and of weights, aligned for vector code and large pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace kiln::codegen {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<std::byte, FreeMemory>;

/// At least `bytes` bytes, aligned to kAlignment; from two large pages on, aligned to large pages,
/// which are requested from the system. Null: there is no memory.
AlignedMemory allocate_aligned(std::int64_t bytes);

}  // namespace kiln::codegen
