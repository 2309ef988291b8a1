// Numbers of the ZIP format (PKWARE, APPNOTE.TXT 6.3.10). All fields are little-endian; sizes and
// offsets that do not fit in 32 bits, and counts that do not fit in 16, are all ones there and in
// the fields of ZIP64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::runtime::zip {

// The first four bytes of records.
inline constexpr std::uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50;
inline constexpr std::uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50, kEnd = 0x06054b50;

// Bytes of records without the names, extra fields and comments that end them.
inline constexpr std::size_t kLocalHeaderBytes = 30, kDirectoryEntryBytes = 46;
inline constexpr std::size_t kEnd64Bytes = 56, kEnd64LocatorBytes = 20, kEndBytes = 22;

inline constexpr std::uint64_t kMax32 = 0xffffffff, kMax16 = 0xffff;
inline constexpr std::uint16_t kExtra64 = 1;  // the extra field of ZIP64
inline constexpr std::uint16_t kEncrypted = 1, kUtf8 = 0x800;  // flags
inline constexpr std::uint16_t kStored = 0, kDeflated = 8;  // methods

}  // namespace kiln::runtime::zip
