// Fresh memory is poisoned, as device memory is.
#include "tests/backends/cuda_fakes/driver/host_memory.h"

#include "tests/backends/cuda_fakes/driver/pool.h"

#include <cstring>

namespace kiln::fake_cuda {

void* HostMemory::allocate(std::size_t bytes) {
  Block block{bytes, std::make_unique_for_overwrite<std::byte[]>(bytes)};
  std::byte* memory = block.memory.get();
  std::memset(memory, kPoison, bytes);
  blocks_.emplace(memory, std::move(block));
  return memory;
}

bool HostMemory::has(const void* address, std::size_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(address);
  auto block = blocks_.upper_bound(begin);
  if (block == blocks_.begin()) return false;
  --block;
  const auto offset = static_cast<std::size_t>(begin - block->first);
  return offset <= block->second.bytes && bytes <= block->second.bytes - offset;
}

}  // namespace kiln::fake_cuda
