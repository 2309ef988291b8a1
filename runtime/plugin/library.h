// Opens shared libraries of Kiln and checks what they report about themselves, before any other
// field of their header is read. Backends and communicators differ in a LibraryKind only.
#pragma once

#include "backends/abi/kiln_backend.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace kiln::runtime {

struct LibraryKind {
  const char* title;  // "backend plugin", in front of its path
  const char* noun;  // "Kiln backend"
  const char* entry;  // the name of the exported function
  std::uint64_t magic;
  std::uint32_t major, minor;  // of the interface
};

/// Throws the BackendError for a rejected library.
struct RejectLibrary {
  const LibraryKind& kind;
  const std::string& path;
  const std::string& function;  // the K function that errors start with

  [[noreturn]] void operator()(const std::string& why) const;
};

/// The part of a header whose layout never changes.
struct LibraryPrefix {
  std::uint64_t struct_size;
  const kiln_ext* next;
  std::uint64_t magic;
  std::uint32_t abi_major, abi_minor_lowest, abi_minor_highest, sanitizer;
};

/// The exported function, as far as it is equal for all kinds.
using LibraryEntry = std::uint32_t (*)(const kiln_host_info* host, const void** header);

/// Opens the file, calls its entry and checks magic, versions and sanitizer. REQUIRES:
/// file_rejection accepts the path. Throws BackendError.
const void* open_library(const RejectLibrary& reject);

/// Whether it matches [a-z][a-z0-9_]* and has at most KILN_MAX_NAME bytes.
bool is_library_name(std::string_view name);

}  // namespace kiln::runtime
