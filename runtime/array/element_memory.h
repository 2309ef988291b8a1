// The memory of one Array: a header, then the elements at a multiple of 64. Large memory comes from
// the pool of block_pool.h, small memory from malloc.
#pragma once

#include <cstddef>

namespace kiln::runtime {

/// Bytes that are free in front of the elements.
constexpr std::size_t kHeaderBytes = 32;

/// Memory for a header and `bytes` of elements, of unspecified content; null where there is none.
void* acquire_memory(std::size_t bytes) noexcept;
/// `bytes`: as many as it was acquired for.
void release_memory(void* memory, std::size_t bytes) noexcept;
/// Where the elements begin.
void* elements_in(void* memory) noexcept;

}  // namespace kiln::runtime
