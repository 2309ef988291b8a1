// The memory of one Array: a header, then the elements at a multiple of 64. Large memory comes from
// block_pool.h, small memory from malloc.
#pragma once

#include <cstddef>

namespace kiln::runtime {

/// Bytes before the elements that the header may use.
constexpr std::size_t kHeaderBytes = 32;

/// Allocates memory for a header and `bytes` of elements, of unspecified content; null on failure.
/// `is_zeroed`, unless null: set to whether the elements are known to be 0.
void* acquire_memory(std::size_t bytes, bool* is_zeroed = nullptr) noexcept;
/// Releases memory. REQUIRES: it was acquired for `bytes`.
void release_memory(void* memory, std::size_t bytes) noexcept;
/// Returns the address of the elements.
void* elements_in(void* memory) noexcept;

}  // namespace kiln::runtime
