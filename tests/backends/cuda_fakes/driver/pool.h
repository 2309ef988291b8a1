// Stream-ordered memory. A block is live, and poisoned, from the operation that begins it until the
// operation that releases it; before and after, nothing may touch it.
#pragma once

#include "backends/cuda/api/driver_api.h"

#include <map>
#include <set>

namespace kiln::fake_cuda {

using namespace cuda::api;

/// A device address is the host's pointer plus this, which the host cannot dereference.
inline constexpr DeviceAddress kAddressOffset = DeviceAddress{1} << 62;
inline constexpr int kPoison = 0xFF;

inline DeviceAddress to_device(const void* pointer) {
  return reinterpret_cast<DeviceAddress>(pointer) + kAddressOffset;
}
inline std::byte* to_host(DeviceAddress address) {
  return reinterpret_cast<std::byte*>(address - kAddressOffset);
}

/// Bytes as the pool's attributes show them: reserved from the device, and used of that.
struct PoolBytes {
  std::uint64_t used = 0, max_used = 0, reserved = 0, max_reserved = 0;
  std::uint64_t release_threshold = 0;
};

/// Freed memory stays reserved in chunks of the size that it was allocated with, which are never
/// joined: allocations larger than every chunk need more memory, or a trim.
class Pool {
 public:
  static constexpr std::size_t kAlignment = 512;

  /// A block that is not live yet; 0 where the pool would reserve more than `limit`.
  DeviceAddress allocate(std::size_t bytes, std::uint64_t limit);
  /// Poisons the block, which is live from now on.
  void begin(DeviceAddress address);
  /// Notes that the host freed the block, which is released later. False where the address is no
  /// block, or one that was freed before.
  bool free(DeviceAddress address);
  /// Poisons the block and takes its memory back.
  void release(DeviceAddress address);
  /// Releases blocks that were freed and whose operations will never run.
  void release_freed();

  /// Gives unused memory back to the device, down to `bytes`.
  void trim(std::uint64_t bytes);
  /// Whether the address begins a block that was not released.
  bool has(DeviceAddress address) const { return blocks_.contains(address); }
  /// Whether each block was released.
  bool is_empty() const { return blocks_.empty(); }
  /// The host's pointer; null unless the range is in one live block.
  std::byte* find(DeviceAddress address, std::uint64_t bytes) const;

  /// Blocks that were not freed.
  std::size_t blocks() const { return kept_blocks_; }
  std::size_t kept_bytes() const { return kept_bytes_; }

  PoolBytes bytes;

 private:
  struct Block {
    std::size_t bytes;
    std::byte* memory;  // memory of a lost device is no leak to LeakSanitizer
    bool is_live = false, is_freed = false;
  };
  using Blocks = std::map<DeviceAddress, Block>;
  Blocks::iterator release(Blocks::iterator block);
  bool reserve(std::size_t size, std::uint64_t limit);

  Blocks blocks_;
  std::multiset<std::size_t> chunks_;  // reserved, but not used
  std::size_t kept_blocks_ = 0, kept_bytes_ = 0;
};

}  // namespace kiln::fake_cuda
