// Blocks come from the host's heap, so that AddressSanitizer finds accesses beyond their ends.
#include "tests/backends/cuda_fakes/driver/pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace kiln::fake_cuda {
namespace {

std::size_t rounded(std::size_t bytes) {
  return (bytes + Pool::kAlignment - 1) / Pool::kAlignment * Pool::kAlignment;
}

}  // namespace

/// Takes the smallest unused chunk that is large enough, else reserves more.
bool Pool::reserve(std::size_t size, std::uint64_t limit) {
  const auto chunk = chunks_.lower_bound(size);
  if (chunk != chunks_.end()) {
    const std::size_t rest = *chunk - size;
    chunks_.erase(chunk);
    if (rest != 0) chunks_.insert(rest);
    return true;
  }
  if (bytes.reserved > limit || size > limit - bytes.reserved) return false;
  bytes.reserved += size;
  bytes.max_reserved = std::max(bytes.max_reserved, bytes.reserved);
  return true;
}

DeviceAddress Pool::allocate(std::size_t size, std::uint64_t limit) {
  if (size > limit || !reserve(rounded(size), limit)) return 0;
  void* memory = std::aligned_alloc(kAlignment, rounded(size));
  if (memory == nullptr) {
    chunks_.insert(rounded(size));
    return 0;
  }
  bytes.used += rounded(size);
  bytes.max_used = std::max(bytes.max_used, bytes.used);
  ++kept_blocks_;
  kept_bytes_ += size;
  blocks_.emplace(to_device(memory),
                  Block{.bytes = size, .memory = static_cast<std::byte*>(memory)});
  return to_device(memory);
}

void Pool::begin(DeviceAddress address) {
  Block& block = blocks_.at(address);
  block.is_live = true;
  std::memset(to_host(address), kPoison, rounded(block.bytes));
}

bool Pool::free(DeviceAddress address) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second.is_freed) return false;
  found->second.is_freed = true;
  --kept_blocks_;
  kept_bytes_ -= found->second.bytes;
  return true;
}

void Pool::release(DeviceAddress address) { release(blocks_.find(address)); }

Pool::Blocks::iterator Pool::release(Blocks::iterator block) {
  std::byte* memory = to_host(block->first);
  std::memset(memory, kPoison, rounded(block->second.bytes));
  std::free(memory);
  bytes.used -= rounded(block->second.bytes);
  chunks_.insert(rounded(block->second.bytes));
  return blocks_.erase(block);
}

void Pool::release_freed() {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    block = block->second.is_freed ? release(block) : std::next(block);
  }
}

void Pool::trim(std::uint64_t size) {
  while (bytes.reserved > size && !chunks_.empty()) {
    const auto largest = std::prev(chunks_.end());
    const std::size_t chunk = *largest;
    const std::uint64_t cut = std::min<std::uint64_t>(chunk, bytes.reserved - size);
    chunks_.erase(largest);
    if (cut != chunk) chunks_.insert(chunk - cut);
    bytes.reserved -= cut;
  }
}

std::byte* Pool::find(DeviceAddress address, std::uint64_t size) const {
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return nullptr;
  --block;
  const std::uint64_t offset = address - block->first;
  const bool is_inside = offset <= block->second.bytes && size <= block->second.bytes - offset;
  return block->second.is_live && is_inside ? to_host(address) : nullptr;
}

}  // namespace kiln::fake_cuda
