// Ranges of device addresses into which physical memory is mapped.
#pragma once

#include "tests/backends/cuda_fakes/driver/pool.h"

#include <memory>

namespace kiln::fake_cuda {

/// A file in memory: it can be mapped at several addresses, at one time or one after the other.
class PhysicalMemory {
 public:
  /// Throws std::bad_alloc.
  explicit PhysicalMemory(std::size_t bytes);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  std::size_t bytes() const { return bytes_; }
  int file() const { return file_; }

 private:
  std::size_t bytes_;
  int file_;
};

class MappedMemory {
 public:
  static constexpr std::size_t kGranularity = std::size_t{2} << 20;

  /// 0 where there are no addresses. REQUIRES: a multiple of the granularity.
  DeviceAddress reserve(std::size_t bytes);
  /// False unless it is a whole reserved range with nothing mapped.
  bool free(DeviceAddress address, std::size_t bytes);
  /// Makes no byte accessible. False unless the range is reserved and nothing is mapped there.
  bool map(DeviceAddress address, std::size_t bytes, std::shared_ptr<PhysicalMemory> memory);
  /// False unless the range is that of whole mappings.
  bool unmap(DeviceAddress address, std::size_t bytes);
  /// The same.
  bool set_access(DeviceAddress address, std::size_t bytes, Access access);

  /// The host's pointer; null unless the range is in one reserved range, mapped and accessible.
  std::byte* find(DeviceAddress address, std::uint64_t bytes) const;
  std::size_t ranges() const { return ranges_.size(); }

 private:
  struct Mapping {
    std::size_t bytes;
    std::shared_ptr<PhysicalMemory> memory;
    Access access = Access::None;
  };
  using Mappings = std::map<DeviceAddress, Mapping>;

  bool is_reserved(DeviceAddress address, std::uint64_t bytes) const;
  bool is_mapped(DeviceAddress begin, DeviceAddress end) const;
  /// Whether the range is that of whole mappings, without gaps.
  bool covers(DeviceAddress begin, DeviceAddress end) const;

  std::map<DeviceAddress, std::size_t> ranges_;
  Mappings mappings_;
};

}  // namespace kiln::fake_cuda
