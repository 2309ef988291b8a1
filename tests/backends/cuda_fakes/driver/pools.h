// The default pool of the device, and those that were created.
#pragma once

#include "tests/backends/cuda_fakes/driver/handles.h"
#include "tests/backends/cuda_fakes/driver/pool.h"

namespace kiln::fake_cuda {

class Pools {
 public:
  Pools();

  PoolHandle default_pool() const { return default_; }
  PoolHandle add() { return pools_.add(std::make_shared<Pool>()); }
  /// False for the default pool, for unknown ones, and for one with a block that was not released:
  /// NVIDIA's driver would destroy it later.
  bool destroy(PoolHandle handle);
  /// Null for unknown pools.
  Pool* find(PoolHandle handle) const { return pools_.find(handle).get(); }
  /// The pool of a block that was not released, or null.
  Pool* owner(DeviceAddress address) const;

  /// The host's pointer; null unless the range is in one live block.
  std::byte* find(DeviceAddress address, std::uint64_t bytes) const;
  /// Trims each pool to its threshold.
  void trim();
  /// Trims each pool to the memory in use.
  void release_unused();
  /// Pool::release_freed of each pool.
  void release_freed();

  /// Of all pools.
  std::uint64_t reserved() const;
  std::size_t blocks() const;
  std::size_t kept_bytes() const;
  /// Pools that were created and not destroyed.
  std::size_t created() const { return pools_.size() - 1; }

 private:
  Handles<PoolHandle, Pool> pools_;
  PoolHandle default_;
};

}  // namespace kiln::fake_cuda
