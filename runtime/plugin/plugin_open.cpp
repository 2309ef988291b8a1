// Opens a shared library and checks its version, before any other field of its header is read, and
// the table last.
#include "runtime/plugin/plugin.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/escaped_text.h"
#include "core/types/exception_text.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/plugin/plugin_call.h"
#include "runtime/plugin/version.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>

namespace kiln::runtime {
namespace {

constexpr std::uint64_t kMaxVersion = 4096;  // bytes of a version, build id or toolchain

/// Throws the BackendError for a rejected plugin.
struct Reject {
  const std::string& path;
  const std::string& function;

  [[noreturn]] void operator()(const std::string& why) const {
    throw BackendError(function, "", text("backend plugin '", path, "' ", why));
  }
};

std::string_view sanitizer_name(std::uint32_t kind) {
  if (kind == KILN_SANITIZER_NONE) return "no sanitizer";
  if (kind == KILN_SANITIZER_ADDRESS) return "the address sanitizer";
  if (kind == KILN_SANITIZER_THREAD) return "the thread sanitizer";
  return "an unknown sanitizer";
}

kiln_backend_query_fn find_entry(const Reject& reject) {
  void* library = ::dlopen(reject.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    reject(text("cannot be opened: ", reason != nullptr ? reason : "no reason given"));
  }
  void* symbol = ::dlsym(library, KILN_ENTRY_SYMBOL);
  if (symbol == nullptr) {
    reject(text("is not a Kiln backend: it does not export ", KILN_ENTRY_SYMBOL));
  }
  return reinterpret_cast<kiln_backend_query_fn>(symbol);
}

const kiln_backend_header* query_header(const Reject& reject, kiln_backend_query_fn entry) {
  char reason[1024] = "";
  const std::string& host_file = host_path();
  auto host = abi::fresh<kiln_host_info>();
  host.magic = KILN_HOST_MAGIC;
  host.abi_major = KILN_ABI_MAJOR;
  host.abi_minor_lowest = KILN_ABI_MINOR;
  host.abi_minor_highest = KILN_ABI_MINOR;
  host.sanitizer = abi::this_sanitizer();
  host.library_version = abi::string_of(kVersion);
  host.library_path = abi::string_of(host_file);
  host.reason = reason;
  host.reason_capacity = sizeof(reason);
  const kiln_backend_header* header = nullptr;
  std::uint32_t status = KILN_CODE_OK;
  try {
    status = entry(&host, &header);
  } catch (const std::exception& thrown) {
    reject(text("violated the plugin ABI: ", KILN_ENTRY_SYMBOL, " threw an exception (",
                exception_text(thrown), ")"));
  } catch (...) {
    reject(text("violated the plugin ABI: ", KILN_ENTRY_SYMBOL, " threw an exception"));
  }
  reason[sizeof(reason) - 1] = '\0';
  if (status != KILN_CODE_OK && *reason != '\0')
    reject(text("rejected the host: ", escaped_text(reason)));
  if (status != KILN_CODE_OK)
    reject(text("rejected the host with code ", status, " and without a reason"));
  if (header == nullptr) reject("gave no header");
  return header;
}

std::string abi_version(const kiln_backend_header& header) {
  const std::string lowest = text(header.abi_major, ".", header.abi_minor_lowest);
  if (header.abi_minor_lowest == header.abi_minor_highest) return lowest;
  return text(lowest, " to ", header.abi_major, ".", header.abi_minor_highest);
}

/// Checks the part of the header whose layout never changes: magic, versions, sanitizer.
void require_compatible(const Reject& reject, const kiln_backend_header& header) {
  constexpr std::size_t kFrozen =
      offsetof(kiln_backend_header, sanitizer) + sizeof(header.sanitizer);
  if (header.struct_size < kFrozen || header.magic != KILN_BACKEND_MAGIC) {
    reject("gave a header that is not that of a Kiln backend");
  }
  if (header.abi_major != KILN_ABI_MAJOR || header.abi_minor_lowest != KILN_ABI_MINOR ||
      header.abi_minor_highest != KILN_ABI_MINOR) {
    reject(text("has ABI ", abi_version(header), " but Kiln (", host_path(), ") has ",
                KILN_ABI_MAJOR, ".", KILN_ABI_MINOR,
                "; build the plugin with the headers of this Kiln"));
  }
  if (header.sanitizer != abi::this_sanitizer()) {
    reject(text("is built with ", sanitizer_name(header.sanitizer), " but Kiln with ",
                sanitizer_name(abi::this_sanitizer())));
  }
}

bool is_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.empty() || name.size() > KILN_MAX_NAME || !lower(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

Plugin load_plugin(const std::string& path, const std::string& function) {
  const Reject reject{path, function};
  const kiln_backend_header* given = query_header(reject, find_entry(reject));
  require_compatible(reject, *given);
  try {
    const auto header = abi::read_report(given, "kiln_backend_header");
    Plugin plugin;
    plugin.path = path;
    plugin.name = reported_text(header.name, "name");
    plugin.version = shown_text(header.version, "version", kMaxVersion);
    plugin.build_id = shown_text(header.build_id, "build_id", kMaxVersion);
    plugin.toolchain = shown_text(header.toolchain, "toolchain", kMaxVersion);
    plugin.features = header.features;
    if (!is_name(plugin.name)) reject(text("reports the invalid name ", quoted_name(plugin.name)));
    std::string missing;
    plugin.api = complete_table(header.api, missing);
    if (!missing.empty()) reject(missing);
    plugin.absent_entries = absent_entries(header.api);
    if (header.required_api_size > header.api->struct_size) {
      reject(text("violated the plugin ABI: required_api_size is ", header.required_api_size,
                  " but kiln_backend_api has ", header.api->struct_size, " bytes"));
    }
    return plugin;
  } catch (const abi::BrokenStruct& broken) {
    reject(text("violated the plugin ABI: ", broken.what()));
  }
}

}  // namespace kiln::runtime
