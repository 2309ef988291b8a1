// The format of the machine code that the fake NVRTC writes and the fake driver loads: an
// architecture and the text of the kernels, with a checksum.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::fake_cuda {

struct CubinHeader {
  char magic[16] = "kiln fake cubin";
  std::uint64_t architecture = 0, bytes = 0, checksum = 0;
};

struct Cubin {
  int architecture = 0;
  std::string text;
};

/// FNV-1a.
inline std::uint64_t checksum(std::string_view text) {
  std::uint64_t sum = 14695981039346656037ull;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return sum;
}

inline std::string write_cubin(int architecture, std::string_view text) {
  CubinHeader header;
  header.architecture = static_cast<std::uint64_t>(architecture);
  header.bytes = text.size();
  header.checksum = checksum(text);
  std::string image(sizeof(header), '\0');
  std::memcpy(image.data(), &header, sizeof(header));
  return image.append(text);
}

/// Empty for an image of another format or with a wrong checksum. REQUIRES: the image is as long as
/// its header says.
inline std::optional<Cubin> read_cubin(const void* image) {
  CubinHeader header;
  const CubinHeader expected;
  if (std::memcmp(image, expected.magic, sizeof(expected.magic)) != 0) return std::nullopt;
  std::memcpy(&header, image, sizeof(header));
  const std::string_view text(static_cast<const char*>(image) + sizeof(header), header.bytes);
  if (checksum(text) != header.checksum) return std::nullopt;
  return Cubin{static_cast<int>(header.architecture), std::string(text)};
}

}  // namespace kiln::fake_cuda
