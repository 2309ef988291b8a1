// Implements members of Buffer, HostBuffer, Instance and Host. Part of kiln_backend_sdk.h.
#pragma once

#include "kiln_backend_sdk_objects.h"

namespace kiln::sdk {

inline Buffer::Buffer(std::uint32_t dtype, Dims dims)
    : dtype_(dtype), dims_(dims.begin(), dims.end()) {
  std::uint64_t bytes = abi::dtype_size(dtype);
  if (bytes == 0) {
    throw Failure(KILN_CODE_INVALID_ARGUMENT,
                  "element type " + std::to_string(dtype) + " is not known");
  }
  bool empty = false;
  for (const std::int64_t dim : dims_) {
    if (dim < 0) {
      throw Failure(KILN_CODE_INVALID_ARGUMENT, "dim " + std::to_string(dim) + " is negative");
    }
    empty = empty || dim == 0;
  }
  if (empty) {
    elements_ = 0;
    return;
  }
  for (const std::int64_t dim : dims_) {
    std::int64_t total = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(bytes), dim, &total)) {
      throw Failure(KILN_CODE_RESOURCE_EXHAUSTED, "a tensor of more than 2^63 bytes");
    }
    bytes = static_cast<std::uint64_t>(total);
    elements_ *= static_cast<std::uint64_t>(dim);
  }
}

inline HostBuffer::HostBuffer(std::uint32_t dtype, Dims dims) : Buffer(dtype, dims) {
  if (bytes() > PTRDIFF_MAX - abi::kColouredPage) throw std::bad_alloc();
  data_ = abi::allocate_tensor(bytes());
  if (data_ == nullptr) {
    throw Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                  "cannot allocate " + std::to_string(bytes()) + " bytes for a tensor");
  }
  abi::ask_for_large_pages(data_, bytes());
}

inline std::unique_ptr<Buffer> Instance::import_host(const void* data, std::uint32_t dtype,
                                                     Dims dims, std::uint32_t semantics) {
  if (semantics != KILN_IMPORT_COPY) {
    return std::make_unique<HostBuffer>(dtype, dims, data);
  }
  auto buffer = std::make_unique<HostBuffer>(dtype, dims);
  if (buffer->bytes() != 0) std::memcpy(buffer->data(), data, buffer->bytes());
  return buffer;
}

inline void Host::log(std::uint32_t level, std::string_view component, std::string_view message,
                      const Options& fields) const {
  if (api_.log == nullptr) return;
  const std::vector<kiln_option> list = detail::options_of(fields);
  const kiln_array array = abi::array_of(std::span<const kiln_option>(list));
  api_.log(context_, level, abi::string_of(component), abi::string_of(message), &array);
}

inline void Host::dump(std::string_view label, std::string_view stage, std::uint64_t ordinal,
                       std::string_view name, std::string_view media_type, Bytes bytes) const {
  if (api_.dump == nullptr) return;
  auto args = abi::fresh<kiln_dump_args>();
  args.label = abi::string_of(label);
  args.stage = abi::string_of(stage);
  args.name = abi::string_of(name);
  args.media_type = abi::string_of(media_type);
  args.bytes = abi::bytes_of(bytes);
  args.ordinal = ordinal;
  api_.dump(context_, &args);
}

template <class Body>
void Host::parallel_for(std::uint64_t n, Body&& body) const {
  if (api_.parallel_for == nullptr) {
    if (n != 0) body(std::uint64_t{0}, n);
    return;
  }
  struct Shared {
    std::remove_reference_t<Body>* body;
    std::mutex mutex;
    std::exception_ptr thrown;
  } shared{&body, {}, nullptr};
  const kiln_range_fn part = [](void* context, std::uint64_t begin,
                                std::uint64_t end) -> std::uint32_t {
    auto* state = static_cast<Shared*>(context);
    try {
      (*state->body)(begin, end);
      return KILN_CODE_OK;
    } catch (...) {
      const std::lock_guard lock(state->mutex);
      if (!state->thrown) state->thrown = std::current_exception();
      return KILN_CODE_ABORTED;
    }
  };
  const std::uint32_t code = api_.parallel_for(context_, n, part, &shared);
  if (shared.thrown) std::rethrow_exception(shared.thrown);
  if (code != KILN_CODE_OK) throw Failure(code, "the host could not run a parallel loop");
}

inline void Host::host_call(void* call_context, std::string_view name, Bytes payload,
                            std::span<const kiln_view> inputs,
                            std::span<const kiln_view> outputs) const {
  if (api_.host_call == nullptr) {
    throw Failure(KILN_CODE_UNIMPLEMENTED, "the host offers no host functions");
  }
  char reason[512] = "";
  auto args = abi::fresh<kiln_host_call_args>();
  args.name = abi::string_of(name);
  args.payload = abi::bytes_of(payload);
  args.inputs = abi::array_of(inputs);
  args.outputs = abi::array_of(outputs);
  args.error_text = reason;
  args.error_capacity = sizeof(reason);
  const std::uint32_t code = api_.host_call(call_context, &args);
  if (code != KILN_CODE_OK) throw Failure(code, reason);
}

}  // namespace kiln::sdk
