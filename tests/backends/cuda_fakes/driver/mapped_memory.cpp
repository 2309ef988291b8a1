// Reserved addresses are host memory without access; mappings are files in memory.
#include "tests/backends/cuda_fakes/driver/mapped_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace kiln::fake_cuda {
namespace {

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

int protection_of(Access access) {
  if (access == Access::ReadWrite) return PROT_READ | PROT_WRITE;
  return access == Access::Read ? PROT_READ : PROT_NONE;
}

void poison(int file, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  std::memset(memory, kPoison, bytes);
  ::munmap(memory, bytes);
}

}  // namespace

PhysicalMemory::PhysicalMemory(std::size_t bytes)
    : bytes_(bytes), file_(::memfd_create("fake_cuda", MFD_CLOEXEC)) {
  if (file_ < 0) throw std::bad_alloc();
  try {
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) throw std::bad_alloc();
    poison(file_, bytes);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

PhysicalMemory::~PhysicalMemory() { ::close(file_); }

DeviceAddress MappedMemory::reserve(std::size_t bytes) {
  // Reserves more than requested: the pages before and after an aligned range are unmapped.
  const std::size_t all = bytes + kGranularity;
  void* memory = ::mmap(nullptr, all, PROT_NONE, kReserved, -1, 0);
  if (memory == MAP_FAILED) return 0;
  const auto base = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (base + kGranularity - 1) / kGranularity * kGranularity;
  if (begin != base) ::munmap(memory, begin - base);
  if (begin + bytes != base + all) {
    ::munmap(reinterpret_cast<void*>(begin + bytes), base + all - begin - bytes);
  }
  const DeviceAddress address = begin + kAddressOffset;
  ranges_.emplace(address, bytes);
  return address;
}

bool MappedMemory::free(DeviceAddress address, std::size_t bytes) {
  const auto found = ranges_.find(address);
  if (found == ranges_.end() || found->second != bytes) return false;
  if (is_mapped(address, address + bytes)) return false;
  ::munmap(to_host(address), bytes);
  ranges_.erase(found);
  return true;
}

bool MappedMemory::map(DeviceAddress address, std::size_t bytes,
                       std::shared_ptr<PhysicalMemory> memory) {
  if (!is_reserved(address, bytes) || is_mapped(address, address + bytes)) return false;
  void* mapped =
      ::mmap(to_host(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file(), 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mappings_.emplace(address, Mapping{.bytes = bytes, .memory = std::move(memory)});
  return true;
}

bool MappedMemory::unmap(DeviceAddress address, std::size_t bytes) {
  if (!covers(address, address + bytes)) return false;
  void* left = ::mmap(to_host(address), bytes, PROT_NONE, kReserved | MAP_FIXED, -1, 0);
  if (left == MAP_FAILED) throw std::bad_alloc();
  mappings_.erase(mappings_.find(address), mappings_.lower_bound(address + bytes));
  return true;
}

bool MappedMemory::set_access(DeviceAddress address, std::size_t bytes, Access access) {
  if (!covers(address, address + bytes)) return false;
  if (::mprotect(to_host(address), bytes, protection_of(access)) != 0) throw std::bad_alloc();
  const auto end = mappings_.lower_bound(address + bytes);
  for (auto one = mappings_.find(address); one != end; ++one) one->second.access = access;
  return true;
}

std::byte* MappedMemory::find(DeviceAddress address, std::uint64_t bytes) const {
  if (!is_reserved(address, bytes)) return nullptr;
  auto one = mappings_.upper_bound(address);
  if (one == mappings_.begin()) return nullptr;
  --one;
  DeviceAddress reached = address;
  do {
    const bool goes_on =
        one != mappings_.end() && one->first <= reached && one->first + one->second.bytes > reached;
    if (!goes_on || one->second.access != Access::ReadWrite) return nullptr;
    reached = one->first + one->second.bytes;
    ++one;
  } while (reached < address + bytes);
  return to_host(address);
}

bool MappedMemory::is_reserved(DeviceAddress address, std::uint64_t bytes) const {
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return false;
  --range;
  const std::uint64_t offset = address - range->first;
  return offset <= range->second && bytes <= range->second - offset;
}

bool MappedMemory::is_mapped(DeviceAddress begin, DeviceAddress end) const {
  auto next = mappings_.lower_bound(end);
  if (next == mappings_.begin()) return false;
  --next;
  return next->first + next->second.bytes > begin;
}

bool MappedMemory::covers(DeviceAddress begin, DeviceAddress end) const {
  DeviceAddress reached = begin;
  for (auto one = mappings_.find(begin); one != mappings_.end() && reached < end; ++one) {
    if (one->first != reached) return false;
    reached = one->first + one->second.bytes;
  }
  return reached == end && begin != end;
}

}  // namespace kiln::fake_cuda
