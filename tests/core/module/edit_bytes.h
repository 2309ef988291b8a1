// Edits of modules in the binary form.
#pragma once

#include "core/module/format.h"

#include <cstring>
#include <vector>

namespace kiln::test {

using Bytes = std::vector<std::byte>;

template <class Fixed>
Fixed get(const Bytes& bytes, std::size_t at) {
  Fixed value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

template <class Fixed>
void set(Bytes& bytes, std::size_t at, Fixed value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

/// The position of a section's entry in the directory.
inline std::size_t entry_of(std::size_t section) {
  return module::kHeaderBytes + section * module::kEntryBytes;
}

/// Recomputes all checksums.
inline void sign(Bytes& bytes) {
  const auto sections = get<std::uint32_t>(bytes, 12);
  for (std::size_t i = 0; i < sections; ++i) {
    const auto offset = get<std::uint64_t>(bytes, entry_of(i) + 4);
    const auto size = get<std::uint64_t>(bytes, entry_of(i) + 12);
    set(bytes, entry_of(i) + 20, module::checksum(std::span(bytes).subspan(offset, size)));
  }
}

}  // namespace kiln::test
