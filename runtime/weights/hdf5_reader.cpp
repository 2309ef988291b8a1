// Exceptions must not pass through the C library: those of Hdf5Bytes::read() are stored in thrown_
// and thrown again when the library's call has failed.
#include "runtime/weights/hdf5_reader.h"

#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/weights/hdf5_library.h"

#include <kiln/error.h>

#include <utility>

namespace kiln::runtime {

Hdf5Reader::Hdf5Reader(std::string path, std::unique_ptr<Hdf5Bytes> bytes)
    : path_(std::move(path)),
      bytes_(std::move(bytes)),
      library_(hdf5_library(path_)),
      stream_{.context = this, .bytes = bytes_->size(), .read = read_bytes, .write = nullptr} {
  kiln_hdf5_error error{};
  {
    const std::lock_guard lock(hdf5_mutex);
    file_ = library_.open(&stream_, &error);
  }
  if (file_ == nullptr) throw_hdf5(error, std::exchange(thrown_, nullptr), path_);
  try {
    add_objects();
  } catch (...) {
    const std::lock_guard lock(hdf5_mutex);
    library_.close(file_);
    throw;
  }
}

Hdf5Reader::~Hdf5Reader() {
  const std::lock_guard lock(hdf5_mutex);
  library_.close(file_);
}

bool Hdf5Reader::read_bytes(void* context, std::uint64_t offset, void* to, std::size_t bytes) {
  auto& reader = *static_cast<Hdf5Reader*>(context);
  try {
    reader.bytes_->read(offset, {static_cast<std::byte*>(to), bytes});
    return true;
  } catch (...) {
    reader.thrown_ = std::current_exception();
    return false;
  }
}

void Hdf5Reader::add_objects() {
  const std::size_t count = library_.object_count(file_);
  objects_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    kiln_hdf5_object object{};
    library_.object(file_, i, &object);
    if (!is_utf8(object.path)) {
      reject(
          text("is damaged: the name ", quoted_name(escaped_text(object.path)), " is not UTF-8"));
    }
    objects_.push_back({.path = object.path,
                        .is_dataset = object.dtype != nullptr,
                        .dtype = object.dtype == nullptr ? "" : object.dtype,
                        .other_dtype = object.other_dtype == nullptr ? "" : object.other_dtype,
                        .dims = {object.dims, object.dims + object.rank}});
  }
}

std::vector<std::string> Hdf5Reader::texts(std::size_t object, const char* attribute) const {
  const kiln_hdf5_text* views = nullptr;
  std::size_t count = 0;
  kiln_hdf5_error error{};
  const std::lock_guard lock(hdf5_mutex);
  if (!library_.texts(file_, object, attribute, &views, &count, &error)) {
    throw_hdf5(error, std::exchange(thrown_, nullptr), path_);
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.emplace_back(views[i].data, views[i].size);
  return texts;
}

void Hdf5Reader::read(std::size_t object, std::span<std::byte> to) const {
  kiln_hdf5_error error{};
  const std::lock_guard lock(hdf5_mutex);
  if (library_.read(file_, object, to.data(), &error)) return;
  throw_hdf5(error, std::exchange(thrown_, nullptr), path_);
}

void Hdf5Reader::reject(const std::string& message) const {
  throw IoError("", "path", text(path_, " ", message));
}

}  // namespace kiln::runtime
