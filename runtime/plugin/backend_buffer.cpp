// Buffers: compares what the plugin reports of a tensor with what the host expects.
#include "runtime/plugin/backend_instance.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/array/array_memory.h"
#include "runtime/host/trace.h"
#include "runtime/plugin/plugin_call.h"

#include <algorithm>

namespace kiln::runtime {
namespace {

std::string type_text(DType dtype, Dims dims) {
  return text(dtype, "[", join_text(dims, ","), "]");
}

/// Whether the dims match; a negative expected dim matches any.
bool fits(Dims dims, Dims expected) {
  const auto same = [](std::int64_t dim, std::int64_t want) { return want < 0 || dim == want; };
  return std::equal(dims.begin(), dims.end(), expected.begin(), expected.end(), same);
}

}  // namespace

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  instance_ = std::move(other.instance_);
  handle_ = std::exchange(other.handle_, nullptr);
  type_ = std::exchange(other.type_, std::nullopt);
  is_checked_ = std::exchange(other.is_checked_, false);
  return *this;
}

void Buffer::reset() noexcept {
  if (handle_ != nullptr) {
    instance_->destroy("buffer_destroy", instance_->api().buffer_destroy,
                       std::exchange(handle_, nullptr));
  }
  instance_.reset();
  type_.reset();
}

/// Queries type and size from the plugin and checks them against each other.
kiln_buffer_info Buffer::info(std::string_view function) const {
  if (handle_ == nullptr) throw InternalError("", "", "an empty buffer was queried");
  auto info = abi::fresh<kiln_buffer_info>();
  instance_->invoke(function, "buffer_info", instance_->api().buffer_info, handle_, &info);
  return read_reported(instance_->plugin(), function, "buffer_info", [&] {
    const Dims dims = abi::view_of(info.dims);
    if (abi::dtype_size(info.dtype) == 0) {
      throw abi::BrokenStruct(text("dtype ", info.dtype, " is not known"));
    }
    const std::optional<std::uint64_t> bytes = abi::tensor_bytes(info.dtype, dims);
    const std::string type = type_text(static_cast<DType>(info.dtype), dims);
    if (!bytes) throw abi::BrokenStruct(text(type, " is not the type of a tensor"));
    if (info.size != *bytes) {
      throw abi::BrokenStruct(text(type, " has ", *bytes, " bytes, not ", info.size));
    }
    return info;
  });
}

DType Buffer::dtype() const { return type_ ? type_->dtype : static_cast<DType>(info().dtype); }

std::vector<std::int64_t> Buffer::dims() const {
  if (type_) return type_->dims;
  const kiln_buffer_info known = info();
  const Dims view = abi::view_of(known.dims);
  return {view.begin(), view.end()};
}

std::size_t Buffer::bytes() const { return type_ ? type_->bytes : info().size; }
const void* Buffer::host_data() const { return info().host_data; }

void Buffer::copy_to_host(std::span<std::byte> destination) const {
  if (handle_ == nullptr) throw InternalError("", "", "an empty buffer was read");
  // A null destination would query the size instead, so an empty tensor needs an address, too.
  std::byte nothing{};
  void* target = destination.data() == nullptr ? &nothing : destination.data();
  std::uint64_t size = 0;
  TraceSpan span("copy", "copy from the backend");
  span.add("backend", [&] { return instance_->name(); });
  span.add("bytes", [&] { return text(destination.size()); });
  instance_->invoke("", "buffer_copy_to_host", instance_->api().buffer_copy_to_host, handle_,
                    target, destination.size(), &size);
  if (size != destination.size()) {
    throw_broken(instance_->plugin(), "", "buffer_copy_to_host",
                 text("gave ", size, " bytes of a tensor of ", destination.size()));
  }
  if (type_ && type_->dtype == DType::Bool) normalise_bools(destination.data(), destination.size());
}

void Buffer::expect_type(DType dtype, Dims dims, const Source& source) {
  const kiln_buffer_info found = info(source.function);
  const Dims reported = abi::view_of(found.dims);
  type_ = {dtype, {dims.begin(), dims.end()}, 0};
  if (found.dtype != static_cast<std::uint32_t>(dtype) || !fits(reported, dims)) {
    reject_type(found, source);
  }
  type_->dims.assign(reported.begin(), reported.end());
  type_->bytes = found.size;
}

void Buffer::require_type(const Source& source) const {
  const kiln_buffer_info found = info(source.function);
  const bool same = found.dtype == static_cast<std::uint32_t>(type_->dtype) &&
                    fits(abi::view_of(found.dims), type_->dims);
  if (!same) reject_type(found, source);
}

void Buffer::reject_type(const kiln_buffer_info& found, const Source& source) const {
  std::string expected = text(type_->dtype, "[");
  for (std::size_t i = 0; i < type_->dims.size(); ++i) {
    expected += i == 0 ? "" : ",";
    expected += type_->dims[i] < 0 ? "?" : text(type_->dims[i]);
  }
  throw_broken(instance_->plugin(), source.function, source.entry,
               text(source.kind, " ", source.index, " is ",
                    type_text(static_cast<DType>(found.dtype), abi::view_of(found.dims)),
                    " but must be ", expected, "]"));
}

}  // namespace kiln::runtime
