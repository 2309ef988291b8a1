// Stream-ordered memory and its pools.
#include "tests/backends/cuda_fakes/driver/entries.h"
#include "tests/backends/cuda_fakes/driver/state.h"
#include "tests/backends/cuda_fakes/lies.h"

namespace kiln::fake_cuda {
namespace {

/// Where memory is short, the driver reuses memory whose release is queued: behind operations of
/// the same or of other streams.
DeviceAddress allocate(Pool& pool, std::size_t bytes) {
  State& all = state();
  const DeviceAddress address = pool.allocate(bytes, all.pool_limit(pool));
  if (address != 0 || all.streams.run_all() != Status::Success) return address;
  return pool.allocate(bytes, all.pool_limit(pool));
}

Status allocate_in_stream(DeviceAddress* address, std::size_t bytes, Pool* pool,
                          StreamHandle handle) {
  State& all = state();
  if (address == nullptr || bytes == 0 || pool == nullptr) return Status::InvalidValue;
  const std::shared_ptr<Stream> stream = all.streams.find(handle);
  if (stream == nullptr) return Status::InvalidHandle;
  // Memory of graphs is nothing that the plugin uses.
  Status status = reject_captured(*stream);
  if (status != Status::Success) return status;
  const DeviceAddress block = allocate(*pool, bytes);
  if (block == 0) return all.lost != Status::Success ? all.lost : Status::OutOfMemory;
  all.note_bytes();
  *address = block;
  return all.streams.enqueue(*stream, {OperationKind::Allocate, [block] {
                                         state().pools.owner(block)->begin(block);
                                         return Status::Success;
                                       }});
}

bool is_supported(const PoolProperties* properties) {
  return properties != nullptr && properties->type == AllocationType::Pinned &&
         properties->handle_types == AllocationHandleType::None &&
         properties->location.type == LocationType::Device && properties->location.device == 0 &&
         properties->windows_attributes == nullptr && properties->max_bytes == 0;
}

bool is_of_int(PoolAttribute attribute) { return attribute < PoolAttribute::ReleaseThreshold; }

/// Null for attributes of type int and for unknown ones.
std::uint64_t* number_of(PoolBytes& bytes, PoolAttribute attribute) {
  switch (attribute) {
    case PoolAttribute::ReleaseThreshold: return &bytes.release_threshold;
    case PoolAttribute::ReservedBytes: return &bytes.reserved;
    case PoolAttribute::MaxReservedBytes: return &bytes.max_reserved;
    case PoolAttribute::UsedBytes: return &bytes.used;
    case PoolAttribute::MaxUsedBytes: return &bytes.max_used;
    default: return nullptr;
  }
}

}  // namespace

namespace entry {

Status mem_get_info(std::size_t* free, std::size_t* total) {
  if (free == nullptr || total == nullptr) return Status::InvalidValue;
  *free = state().unreserved_bytes();
  *total = state().memory_limit;
  return Status::Success;
}

Status device_get_default_mem_pool(PoolHandle* pool, DeviceHandle device) {
  if (pool == nullptr) return Status::InvalidValue;
  if (device != 0) return Status::InvalidDevice;
  *pool = state().pools.default_pool();
  return Status::Success;
}

Status mem_pool_create(PoolHandle* handle, const PoolProperties* properties) {
  if (handle == nullptr || !is_supported(properties)) return Status::InvalidValue;
  *handle = state().pools.add();
  return Status::Success;
}

Status mem_pool_destroy(PoolHandle handle) {
  return state().pools.destroy(handle) ? Status::Success : Status::InvalidValue;
}

Status mem_pool_get_attribute(PoolHandle handle, PoolAttribute attribute, void* value) {
  Pool* pool = state().pools.find(handle);
  if (pool == nullptr || value == nullptr) return Status::InvalidValue;
  if (is_of_int(attribute)) {
    *static_cast<int*>(value) = 1;
    return Status::Success;
  }
  const std::uint64_t* number = number_of(pool->bytes, attribute);
  if (number == nullptr) return Status::InvalidValue;
  *static_cast<std::uint64_t*>(value) = reported("cuMemPoolGetAttribute", *number);
  return Status::Success;
}

Status mem_pool_set_attribute(PoolHandle handle, PoolAttribute attribute, void* value) {
  Pool* pool = state().pools.find(handle);
  if (pool == nullptr || value == nullptr) return Status::InvalidValue;
  // The pool reuses memory in any case.
  if (is_of_int(attribute)) return Status::Success;
  const auto number = *static_cast<std::uint64_t*>(value);
  PoolBytes& bytes = pool->bytes;
  switch (attribute) {
    case PoolAttribute::ReleaseThreshold: bytes.release_threshold = number; break;
    case PoolAttribute::MaxReservedBytes: bytes.max_reserved = bytes.reserved; break;
    case PoolAttribute::MaxUsedBytes: bytes.max_used = bytes.used; break;
    default: return Status::InvalidValue;
  }
  const bool resets = attribute != PoolAttribute::ReleaseThreshold;
  return resets && number != 0 ? Status::InvalidValue : Status::Success;
}

Status mem_pool_trim_to(PoolHandle handle, std::size_t bytes) {
  Pool* pool = state().pools.find(handle);
  if (pool == nullptr) return Status::InvalidValue;
  const Status status = reject_in_capture();
  if (status == Status::Success) pool->trim(bytes);
  return status;
}

Status mem_alloc_async(DeviceAddress* address, std::size_t bytes, StreamHandle stream) {
  const Pools& pools = state().pools;
  return allocate_in_stream(address, bytes, pools.find(pools.default_pool()), stream);
}

Status mem_alloc_from_pool_async(DeviceAddress* address, std::size_t bytes, PoolHandle pool,
                                 StreamHandle stream) {
  const Status status = allocate_in_stream(address, bytes, state().pools.find(pool), stream);
  if (status == Status::Success) *address = reported("cuMemAllocFromPoolAsync", *address);
  return status;
}

Status mem_free_async(DeviceAddress address, StreamHandle handle) {
  State& all = state();
  const std::shared_ptr<Stream> stream = all.streams.find(handle);
  if (stream == nullptr) return Status::InvalidHandle;
  const Status status = reject_captured(*stream);
  if (status != Status::Success) return status;
  Pool* pool = all.pools.owner(address);
  if (pool == nullptr || !pool->free(address)) return Status::InvalidValue;
  if (all.lost != Status::Success) {
    pool->release(address);
    return all.lost;
  }
  return all.streams.enqueue(*stream, {OperationKind::Free, [address] {
                                         state().pools.owner(address)->release(address);
                                         return Status::Success;
                                       }});
}

}  // namespace entry
}  // namespace kiln::fake_cuda
