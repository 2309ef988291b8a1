// Opens a backend and reads its header, the table last.
#include "runtime/plugin/plugin.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/host/reported_text.h"
#include "runtime/plugin/library.h"

#include <cstddef>

namespace kiln::runtime {
namespace {

constexpr std::uint64_t kMaxVersion = 4096;  // bytes of a version, build id or toolchain

constexpr LibraryKind kBackendKind{.title = "backend plugin",
                                   .noun = "Kiln backend",
                                   .entry = KILN_ENTRY_SYMBOL,
                                   .magic = KILN_BACKEND_MAGIC,
                                   .major = KILN_ABI_MAJOR,
                                   .minor = KILN_ABI_MINOR};
static_assert(sizeof(LibraryPrefix) == offsetof(kiln_backend_header, name));

}  // namespace

Plugin load_plugin(const std::string& path, const std::string& function) {
  const RejectLibrary reject{kBackendKind, path, function};
  const auto* given = static_cast<const kiln_backend_header*>(open_library(reject));
  try {
    const auto header = abi::read_report(given, "kiln_backend_header");
    Plugin plugin;
    plugin.path = path;
    plugin.name = reported_text(header.name, "name");
    plugin.version = shown_text(header.version, "version", kMaxVersion);
    plugin.build_id = shown_text(header.build_id, "build_id", kMaxVersion);
    plugin.toolchain = shown_text(header.toolchain, "toolchain", kMaxVersion);
    plugin.features = header.features;
    if (!is_library_name(plugin.name))
      reject(text("reports the invalid name ", quoted_name(plugin.name)));
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
