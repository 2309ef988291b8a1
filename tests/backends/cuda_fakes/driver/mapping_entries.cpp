// Reserved addresses and physical memory.
#include "tests/backends/cuda_fakes/driver/entries.h"
#include "tests/backends/cuda_fakes/driver/state.h"
#include "tests/backends/cuda_fakes/lies.h"

namespace kiln::fake_cuda {
namespace {

bool is_whole(std::size_t bytes) { return bytes != 0 && bytes % MappedMemory::kGranularity == 0; }

bool is_of_device(const AllocationProperties* properties) {
  return properties != nullptr && properties->type == AllocationType::Pinned &&
         properties->requested_handle_types == AllocationHandleType::None &&
         properties->location.type == LocationType::Device && properties->location.device == 0;
}

Status valid_if(bool is_valid) { return is_valid ? Status::Success : Status::InvalidValue; }

/// Counts as in use until the last mapping and handle are gone.
std::shared_ptr<PhysicalMemory> make_physical(std::size_t bytes) {
  State& all = state();
  std::shared_ptr<PhysicalMemory> allocation(new PhysicalMemory(bytes), [](PhysicalMemory* memory) {
    state().physical_bytes -= memory->bytes();
    --state().physical_count;
    delete memory;
  });
  all.physical_bytes += bytes;
  ++all.physical_count;
  all.note_bytes();
  return allocation;
}

}  // namespace

namespace entry {

Status mem_address_reserve(DeviceAddress* address, std::size_t bytes, std::size_t alignment,
                           DeviceAddress, unsigned long long flags) {
  const bool is_aligned = alignment <= MappedMemory::kGranularity;
  if (address == nullptr || !is_whole(bytes) || !is_aligned || flags != 0) {
    return Status::InvalidValue;
  }
  const Status status = reject_in_capture();
  if (status != Status::Success) return status;
  *address = reported("cuMemAddressReserve", state().mapped.reserve(bytes));
  return *address == 0 ? Status::OutOfMemory : Status::Success;
}

Status mem_address_free(DeviceAddress address, std::size_t bytes) {
  const Status status = reject_in_capture();
  if (status != Status::Success) return status;
  return valid_if(state().mapped.free(address, bytes));
}

Status mem_get_allocation_granularity(std::size_t* bytes, const AllocationProperties* properties,
                                      Granularity) {
  if (bytes == nullptr || !is_of_device(properties)) return Status::InvalidValue;
  *bytes = reported("cuMemGetAllocationGranularity", std::size_t{MappedMemory::kGranularity});
  return Status::Success;
}

Status mem_create(AllocationHandle* handle, std::size_t bytes,
                  const AllocationProperties* properties, unsigned long long flags) {
  State& all = state();
  if (handle == nullptr || !is_whole(bytes) || !is_of_device(properties) || flags != 0) {
    return Status::InvalidValue;
  }
  const Status status = reject_in_capture();
  if (status != Status::Success) return status;
  // Memory that a pool keeps is unavailable to others until the pool is trimmed.
  if (bytes > all.unreserved_bytes()) return Status::OutOfMemory;
  *handle = all.physical.add(make_physical(bytes));
  return Status::Success;
}

Status mem_release(AllocationHandle handle) {
  const Status status = reject_in_capture();
  if (status != Status::Success) return status;
  return valid_if(state().physical.take(handle) != nullptr);
}

Status mem_map(DeviceAddress address, std::size_t bytes, std::size_t offset,
               AllocationHandle handle, unsigned long long flags) {
  const std::shared_ptr<PhysicalMemory> memory = state().physical.find(handle);
  const bool is_inside = memory != nullptr && is_whole(bytes) && bytes <= memory->bytes();
  const bool is_aligned = address % MappedMemory::kGranularity == 0;
  if (!is_inside || !is_aligned || offset != 0 || flags != 0) return Status::InvalidValue;
  const Status status = reject_in_capture();
  if (status != Status::Success) return status;
  return valid_if(state().mapped.map(address, bytes, memory));
}

Status mem_unmap(DeviceAddress address, std::size_t bytes) {
  const Status status = reject_in_capture();
  if (status != Status::Success) return status;
  return valid_if(state().mapped.unmap(address, bytes));
}

Status mem_set_access(DeviceAddress address, std::size_t bytes,
                      const AccessDescription* descriptions, std::size_t count) {
  if (descriptions == nullptr || count != 1) return Status::InvalidValue;
  const MemoryLocation& location = descriptions[0].location;
  if (location.type != LocationType::Device || location.device != 0) return Status::InvalidDevice;
  const Status status = reject_in_capture();
  if (status != Status::Success) return status;
  return valid_if(state().mapped.set_access(address, bytes, descriptions[0].access));
}

}  // namespace entry
}  // namespace kiln::fake_cuda
