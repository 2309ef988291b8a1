// Page-locked memory of the host.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

namespace kiln::fake_cuda {

class HostMemory {
 public:
  void* allocate(std::size_t bytes);
  /// False for an address that begins no allocation.
  bool free(void* address) { return blocks_.erase(static_cast<std::byte*>(address)) != 0; }
  /// Whether the range is in one allocation.
  bool has(const void* address, std::size_t bytes) const;
  std::size_t size() const { return blocks_.size(); }

 private:
  struct Block {
    std::size_t bytes;
    std::unique_ptr<std::byte[]> memory;
  };
  std::map<const std::byte*, Block> blocks_;
};

}  // namespace kiln::fake_cuda
