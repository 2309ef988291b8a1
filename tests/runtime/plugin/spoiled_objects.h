// Errors and buffers of fakes/spoiled.cpp.
#pragma once

#include "backends/abi/kiln_backend_structs.h"
#include "tests/runtime/plugin/spoil.h"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

struct kiln_error {
  std::uint32_t code;
  std::string message;
};
struct kiln_instance {
  const kiln_host_api* host;
  void* context;
};
struct kiln_executable {
  kiln_instance* instance;
  std::string label;
  bool begins_with(std::string_view name) const { return label.starts_with(name); }
  bool has_bools() const { return label.find("bools") != label.npos; }
};
inline std::uint64_t live_buffers = 0;
struct kiln_buffer {
  kiln_buffer(std::string_view from, std::uint32_t dtype, std::vector<std::int64_t> sizes,
              std::size_t size)
      : origin(from), dtype(dtype), dims(std::move(sizes)), bytes(size) {
    ++live_buffers;
  }
  ~kiln_buffer() { --live_buffers; }
  kiln_buffer(const kiln_buffer&) = delete;
  kiln_buffer& operator=(const kiln_buffer&) = delete;

  std::string_view origin;  // "allocate", "import", "output" or "update"
  std::uint32_t dtype;
  std::vector<std::int64_t> dims;
  std::vector<std::byte> bytes;
  float* floats() { return reinterpret_cast<float*>(bytes.data()); }
};
struct kiln_event {
  int nothing;
};
struct kiln_frame {
  const kiln_executable* program;
  const kiln_frame_io* io;
};

namespace {

using spoil::how;
using spoil::is;
using spoil::maybe_throw;

kiln_buffer* make_buffer(std::string_view origin, std::uint32_t dtype,
                         std::vector<std::int64_t> dims) {
  const std::uint64_t bytes = kiln::abi::tensor_bytes(dtype, dims).value_or(0);
  return new kiln_buffer(origin, dtype, std::move(dims), bytes);
}

std::vector<std::int64_t> list(kiln_dims dims) { return {dims.data, dims.data + dims.rank}; }

// ---- Errors ----

void error_read(const kiln_error* error, kiln_error_info* info) {
  maybe_throw("error_read");
  if (is("error.untouched")) return;
  static auto detail = kiln::abi::fresh<kiln_option>();
  detail.key = spoil::text("error.key", "oil");
  detail.value = spoil::text("error.value", "low");
  static const std::uint64_t node = 7;
  info->code = is("error.code_ok") ? 0 : is("error.code_unknown") ? 4711 : error->code;
  info->message = spoil::text("error.message", error->message);
  info->location = spoil::text("error.location", "model.cpp:12");
  info->native_library = spoil::text("error.native_library", "GEARS");
  info->nodes = how("error.nodes") == "null" ? nullptr : &node;
  info->node_count = how("error.nodes") == "absurd" ? spoil::kAbsurd : 1;
  info->details = spoil::array("error.details", detail);
  if (is("error.ring")) info->cause = error;
}
void error_destroy(kiln_error* error) {
  delete error;
  maybe_throw("error_destroy");
}

kiln_error* failed(std::uint32_t code, std::string message) {
  return new kiln_error{code, std::move(message)};
}

// ---- Buffers ----

kiln_error* buffer_allocate(kiln_instance*, const kiln_buffer_spec* spec, kiln_buffer** buffer) {
  maybe_throw("buffer_allocate");
  if (is("null:buffer_allocate")) return nullptr;
  *buffer = make_buffer("allocate", spec->dtype, list(spec->dims));
  return nullptr;
}
kiln_error* buffer_import_host(kiln_instance*, const kiln_import_args* args, kiln_buffer** buffer) {
  maybe_throw("buffer_import_host");
  if (is("null:buffer_import_host")) return nullptr;
  *buffer = make_buffer("import", args->dtype, list(args->dims));
  if (!(*buffer)->bytes.empty()) {
    std::memcpy((*buffer)->bytes.data(), args->data, (*buffer)->bytes.size());
  }
  return nullptr;
}
kiln_error* buffer_copy_to_host(const kiln_buffer* buffer, void* destination, std::uint64_t,
                                std::uint64_t* size) {
  maybe_throw("buffer_copy_to_host");
  *size = buffer->bytes.size() + (is("copy.more") ? 4 : 0) - (is("copy.fewer") ? 4 : 0);
  if (is("copy.untouched")) *size = 0;
  if (destination != nullptr && !buffer->bytes.empty()) {
    std::memcpy(destination, buffer->bytes.data(), buffer->bytes.size());
  }
  return nullptr;
}

kiln_error* buffer_info(const kiln_buffer* buffer, kiln_buffer_info* info) {
  maybe_throw("buffer_info");
  static const std::int64_t negative[] = {-2}, huge[] = {1, INT64_MAX / 2, INT64_MAX / 2};
  static const std::int64_t other[] = {1, 2}, longer[] = {3};
  info->dims = {buffer->dims.data(), buffer->dims.size()};
  info->dtype = buffer->dtype;
  info->size = buffer->bytes.size();
  const std::string_view way = how(buffer->origin);
  if (way == "dims_null") info->dims = {nullptr, 1};
  if (way == "dims_negative") info->dims = {negative, 1};
  if (way == "dims_overflow") info->dims = {huge, 3};
  if (way == "rank_absurd") info->dims.rank = spoil::kAbsurd;
  if (way == "rank") info->dims = {other, 2};
  if (way == "dims") info->dims = {longer, 1};
  if (way == "dims") info->size = 12;
  if (way == "dtype") info->dtype = KILN_DTYPE_INT32;
  if (way == "dtype_unknown") info->dtype = 1000;
  if (way == "wider") info->dtype = KILN_DTYPE_FLOAT64;
  if (way == "wider") info->size *= 2;
  if (way == "size") info->size += 4;
  if (way == "size_zero") info->size = 0;
  static bool is_second = true;
  if (way == "once") is_second = !is_second;
  if (way == "once" && !is_second) info->dtype = KILN_DTYPE_INT32;
  return nullptr;
}
void buffer_destroy(kiln_buffer* buffer) {
  delete buffer;
  maybe_throw("buffer_destroy");
}

}  // namespace
