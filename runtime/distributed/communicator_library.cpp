// The search is short: one name, the folders of backends. The checks are theirs, too.
#include "runtime/distributed/communicator_library.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/host/reported_text.h"
#include "runtime/plugin/library.h"
#include "runtime/plugin/plugin.h"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace kiln::runtime::distributed {
namespace {

constexpr std::uint64_t kMaxVersion = 4096;  // bytes
constexpr LibraryKind kCommunicatorKind{.title = "communicator",
                                        .noun = "Kiln communicator",
                                        .entry = KILN_COMM_ENTRY_SYMBOL,
                                        .magic = KILN_COMM_MAGIC,
                                        .major = KILN_COMM_ABI_MAJOR,
                                        .minor = KILN_COMM_ABI_MINOR};
static_assert(sizeof(LibraryPrefix) == offsetof(kiln_communicator_header, name));

using OpenedLibraries = std::map<std::string, std::unique_ptr<CommunicatorLibrary>>;
constinit ForkMutex opened_mutex;  // not held while fork() runs: a child opens none
KILN_AT_LOAD NoDestructor<OpenedLibraries> opened;  // by path

std::string missing_entries(const kiln_communicator_api& api) {
  const struct {
    const char* name;
    bool is_present;
  } required[] = {
      {"probe", api.probe != nullptr}, {"open", api.open != nullptr},
      {"info", api.info != nullptr},   {"split", api.split != nullptr},
      {"start", api.start != nullptr}, {"test", api.test != nullptr},
      {"abort", api.abort != nullptr}, {"close", api.close != nullptr},
  };
  std::string missing;
  for (const auto& entry : required) {
    if (!entry.is_present) missing += text(missing.empty() ? "" : ", ", entry.name);
  }
  return missing;
}

CommunicatorLibrary load(const std::string& path, const std::string& function) {
  const RejectLibrary reject{kCommunicatorKind, path, function};
  if (const std::string reason = file_rejection(path, false); !reason.empty()) reject(reason);
  const auto* given = static_cast<const kiln_communicator_header*>(open_library(reject));
  try {
    const auto header = abi::read_report(given, "kiln_communicator_header");
    CommunicatorLibrary library{.name = std::string(reported_text(header.name, "name")),
                                .version = shown_text(header.version, "version", kMaxVersion),
                                .path = path,
                                .api = abi::read_report(header.api, "kiln_communicator_api")};
    if (!is_library_name(library.name)) {
      reject(text("reports the invalid name ", quoted_name(library.name)));
    }
    const std::string missing = missing_entries(library.api);
    if (!missing.empty()) reject(text("lacks required functions: ", missing));
    return library;
  } catch (const abi::BrokenStruct& broken) {
    reject(text("violated the communicator ABI: ", broken.what()));
  }
}

std::string find(const std::string& name, const std::string& function) {
  if (!is_library_name(name)) {
    throw BackendError(
        function, "communicator",
        text("communicator ", quoted_name(name), " is neither a name nor an absolute path"));
  }
  for (const std::string& folder : plugin_directories()) {
    const std::string path = text(folder, "/libkilncomm_", name, ".so");
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  throw BackendError(function, "communicator",
                     text("no communicator '", name, "'; looked for libkilncomm_", name, ".so in ",
                          join_text(plugin_directories())));
}

}  // namespace

std::string default_communicator() {
  const char* given = std::getenv("KILN_COMMUNICATOR");
  return given == nullptr || *given == '\0' ? "mpi" : given;
}

const CommunicatorLibrary& open_communicator_library(const std::string& name_or_path,
                                                     const std::string& function) {
  const bool is_path = name_or_path.starts_with('/');
  const std::string path = is_path ? name_or_path : find(name_or_path, function);
  const std::lock_guard lock(opened_mutex);
  std::unique_ptr<CommunicatorLibrary>& library = (*opened)[path];
  if (library == nullptr) library = std::make_unique<CommunicatorLibrary>(load(path, function));
  return *library;
}

}  // namespace kiln::runtime::distributed
