// Implements the table's functions on buffers. Part of kiln_backend_sdk.h, used by
// kiln_backend_sdk_detail.h.
#pragma once

#include "kiln_backend_sdk_objects.h"

namespace kiln::sdk {
namespace detail {

inline void require_tensor(std::uint32_t dtype, const kiln_dims& dims) {
  if (abi::dtype_size(dtype) == 0) {
    throw Failure(KILN_CODE_INVALID_ARGUMENT,
                  "element type " + std::to_string(dtype) + " is not known");
  }
  if (dims.rank != 0 && dims.data == nullptr) {
    throw Failure(KILN_CODE_INVALID_ARGUMENT, "dims are null");
  }
}

inline kiln_error* buffer_allocate(kiln_instance* instance, const kiln_buffer_spec* given,
                                   kiln_buffer** out) noexcept {
  return guarded([&] {
    const auto spec = abi::read_request(given, "kiln_buffer_spec");
    require_out(out, "buffer");
    require_tensor(spec.dtype, spec.dims);
    auto buffer = backend_of(instance).allocate(spec.dtype, abi::view_of(spec.dims));
    *out = handle_of<kiln_buffer>(buffer.release());
  });
}

inline kiln_error* buffer_import_host(kiln_instance* instance, const kiln_import_args* given,
                                      kiln_buffer** out) noexcept {
  return guarded([&] {
    const auto args = abi::read_request(given, "kiln_import_args");
    require_out(out, "buffer");
    require_tensor(args.dtype, args.dims);
    if (args.semantics > KILN_IMPORT_MUTABLE) {
      throw Failure(KILN_CODE_UNIMPLEMENTED,
                    "import semantics " + std::to_string(args.semantics) + " are not known");
    }
    auto buffer = backend_of(instance).import_host(args.data, args.dtype, abi::view_of(args.dims),
                                                   args.semantics);
    *out = handle_of<kiln_buffer>(buffer.release());
  });
}

inline kiln_error* buffer_copy_to_host(const kiln_buffer* buffer, void* destination,
                                       std::uint64_t capacity, std::uint64_t* size) noexcept {
  return guarded([&] {
    const auto* object = object_of<const Buffer>(buffer, "buffer");
    require_out(size, "size");
    const std::uint64_t bytes = object->bytes();
    if (destination != nullptr) {
      if (capacity < bytes) {
        throw Failure(KILN_CODE_OUT_OF_RANGE, "buffer holds " + std::to_string(bytes) +
                                                  " bytes but the destination " +
                                                  std::to_string(capacity));
      }
      object->copy_to_host(destination);
    }
    *size = bytes;
  });
}

inline kiln_error* buffer_info(const kiln_buffer* buffer, kiln_buffer_info* out) noexcept {
  return guarded([&] {
    const auto* object = object_of<const Buffer>(buffer, "buffer");
    auto info = abi::fresh<kiln_buffer_info>();
    info.dims = abi::dims_of(object->dims());
    info.dtype = object->dtype();
    info.size = object->bytes();
    info.host_data = object->host_data();
    abi::write(out, info);
  });
}

inline void buffer_destroy(kiln_buffer* buffer) noexcept { destroy<Buffer>(buffer); }

}  // namespace detail
}  // namespace kiln::sdk
