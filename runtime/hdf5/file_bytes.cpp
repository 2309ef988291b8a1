// Sizes are checked before anything is allocated for them.
#include "runtime/hdf5/file_bytes.h"

#include <algorithm>

namespace kiln::hdf5 {

void Bytes::skip(std::size_t count) {
  if (count > left()) throw Rejection("is damaged: a record ends before its last field");
  at_ += count;
}

std::uint64_t Bytes::number(std::size_t width) {
  const std::size_t begin = at_;
  skip(width);
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | bytes_[begin + i];
  return value;
}

std::string_view Bytes::text(std::size_t count) {
  const std::size_t begin = at_;
  skip(count);
  return {reinterpret_cast<const char*>(bytes_.data()) + begin, count};
}

Bytes Bytes::part(std::size_t count) {
  const std::string_view bytes = text(count);
  return Bytes({bytes.begin(), bytes.end()});
}

Bytes FileBytes::read(std::uint64_t address, std::uint64_t count) const {
  const std::uint64_t size = stream_.bytes - std::min(base_, stream_.bytes);
  if (address > size || count > size - address) {
    throw Rejection("is damaged: an address is outside of the file");
  }
  std::vector<unsigned char> bytes(count);
  if (!stream_.read(stream_.context, base_ + address, bytes.data(), count)) {
    throw Rejection("cannot be read");
  }
  return Bytes(std::move(bytes));
}

}  // namespace kiln::hdf5
