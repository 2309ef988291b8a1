// Opens a library: dlopen, the entry, then the fields that have the same place in every version.
#include "runtime/plugin/library.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/escaped_text.h"
#include "core/types/exception_text.h"
#include "core/types/text.h"
#include "runtime/plugin/plugin.h"
#include "runtime/plugin/version.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace kiln::runtime {
namespace {

std::string_view sanitizer_name(std::uint32_t kind) {
  if (kind == KILN_SANITIZER_NONE) return "no sanitizer";
  if (kind == KILN_SANITIZER_ADDRESS) return "the address sanitizer";
  if (kind == KILN_SANITIZER_THREAD) return "the thread sanitizer";
  return "an unknown sanitizer";
}

LibraryEntry find_entry(const RejectLibrary& reject) {
  void* library = ::dlopen(reject.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    reject(text("cannot be opened: ", reason != nullptr ? reason : "no reason given"));
  }
  void* symbol = ::dlsym(library, reject.kind.entry);
  if (symbol == nullptr) {
    reject(text("is not a ", reject.kind.noun, ": it does not export ", reject.kind.entry));
  }
  return reinterpret_cast<LibraryEntry>(symbol);
}

const void* query_header(const RejectLibrary& reject, LibraryEntry entry) {
  char reason[1024] = "";
  const std::string& host_file = host_path();
  auto host = abi::fresh<kiln_host_info>();
  host.magic = KILN_HOST_MAGIC;
  host.abi_major = reject.kind.major;
  host.abi_minor_lowest = reject.kind.minor;
  host.abi_minor_highest = reject.kind.minor;
  host.sanitizer = abi::this_sanitizer();
  host.library_version = abi::string_of(kVersion);
  host.library_path = abi::string_of(host_file);
  host.reason = reason;
  host.reason_capacity = sizeof(reason);
  const void* header = nullptr;
  std::uint32_t status = KILN_CODE_OK;
  try {
    status = entry(&host, &header);
  } catch (const std::exception& thrown) {
    reject(text("violated the plugin ABI: ", reject.kind.entry, " threw an exception (",
                exception_text(thrown), ")"));
  } catch (...) {
    reject(text("violated the plugin ABI: ", reject.kind.entry, " threw an exception"));
  }
  reason[sizeof(reason) - 1] = '\0';
  if (status != KILN_CODE_OK && *reason != '\0')
    reject(text("rejected the host: ", escaped_text(reason)));
  if (status != KILN_CODE_OK)
    reject(text("rejected the host with code ", status, " and without a reason"));
  if (header == nullptr) reject("gave no header");
  return header;
}

std::string abi_version(const LibraryPrefix& header) {
  const std::string lowest = text(header.abi_major, ".", header.abi_minor_lowest);
  if (header.abi_minor_lowest == header.abi_minor_highest) return lowest;
  return text(lowest, " to ", header.abi_major, ".", header.abi_minor_highest);
}

/// Checks the part of the header whose layout never changes: magic, versions, sanitizer.
void require_compatible(const RejectLibrary& reject, const void* given) {
  const LibraryKind& kind = reject.kind;
  LibraryPrefix header{};
  std::memcpy(&header.struct_size, given, sizeof(header.struct_size));
  if (header.struct_size >= sizeof(header)) std::memcpy(&header, given, sizeof(header));
  if (header.magic != kind.magic) {
    reject(text("gave a header that is not that of a ", kind.noun));
  }
  if (header.abi_major != kind.major || header.abi_minor_lowest != kind.minor ||
      header.abi_minor_highest != kind.minor) {
    reject(text("has ABI ", abi_version(header), " but Kiln (", host_path(), ") has ", kind.major,
                ".", kind.minor, "; build the plugin with the headers of this Kiln"));
  }
  if (header.sanitizer != abi::this_sanitizer()) {
    reject(text("is built with ", sanitizer_name(header.sanitizer), " but Kiln with ",
                sanitizer_name(abi::this_sanitizer())));
  }
}

}  // namespace

void RejectLibrary::operator()(const std::string& why) const {
  throw BackendError(function, "", text(kind.title, " '", path, "' ", why));
}

const void* open_library(const RejectLibrary& reject) {
  const void* header = query_header(reject, find_entry(reject));
  require_compatible(reject, header);
  return header;
}

bool is_library_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.empty() || name.size() > KILN_MAX_NAME || !lower(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace kiln::runtime
