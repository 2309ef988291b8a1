// Stages 1 to 4: opens the driver's library and resolves its functions.
#include "backends/cuda/api/open_driver.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/reported.h"

namespace kiln::cuda::api {
namespace {

using DriverGetVersion = Status (*)(int*);

constexpr int kMaxVersion = 1000000;  // CUDA 1000

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

std::vector<std::string> all_matches(const std::vector<std::string>& patterns) {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    for (const std::string& path : matches_of(pattern)) paths.push_back(path);
  }
  return paths;
}

void find_device_node(const DriverSettings& settings, Messages& messages) {
  if (settings.device_nodes.empty()) return;
  const std::vector<std::string> nodes = all_matches(settings.device_nodes);
  if (nodes.empty()) {
    throw sdk::Failure(KILN_CODE_UNAVAILABLE, "no NVIDIA device: none of these files exists: " +
                                                  joined(settings.device_nodes, ", "));
  }
  messages.push_back("device node: " + joined(nodes, ", "));
}

LibraryFile open_library_of(const DriverSettings& settings, Messages& messages) {
  LibraryFile file = open_library(settings.library_names, settings.search_path);
  if (file.handle == nullptr) {
    const std::vector<std::string> stubs = all_matches(settings.stubs);
    const std::string stub =
        stubs.empty()
            ? ""
            : "; " + stubs.front() + " is a linker stub of the toolkit, which holds no driver";
    throw_not_opened(file, "the NVIDIA driver", "is not installed", stub);
  }
  messages.push_back("driver library: " + file.path);
  return file;
}

template <class Function>
Function exported(const LibraryFile& file, const char* name) {
  return reinterpret_cast<Function>(file.symbol(name));
}

sdk::Failure missing_functions(const Driver& driver, const std::vector<std::string>& names) {
  const std::string version =
      driver.version == 0 ? "" : " of version " + version_text(driver.version);
  return sdk::Failure(KILN_CODE_UNIMPLEMENTED, "the NVIDIA driver " + driver.path + version +
                                                   " lacks " + joined(names, ", "));
}

/// The version of the CUDA interface, which is exported under this name by every driver.
void read_version(const LibraryFile& file, const DriverSettings& settings, Driver& driver,
                  Messages& messages) {
  const auto get_version = exported<DriverGetVersion>(file, "cuDriverGetVersion");
  if (get_version == nullptr) throw missing_functions(driver, {"cuDriverGetVersion"});
  const Status status = get_version(&driver.version);
  if (status == Status::StubLibrary) {
    throw sdk::Failure(KILN_CODE_NOT_FOUND,
                       "the NVIDIA driver is not installed: " + file.path +
                           " is a linker stub of the toolkit, which holds no driver")
        .native("CUDA", static_cast<std::int64_t>(status));
  }
  if (status != Status::Success) {
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                       "cannot read the version of the NVIDIA driver " + file.path + ": " +
                           text_of(driver, status))
        .native("CUDA", static_cast<std::int64_t>(status));
  }
  checked_number(driver.version, {"the NVIDIA driver", "cuDriverGetVersion", "its version"}, 0,
                 kMaxVersion);
  const std::string found = version_text(driver.version);
  const std::string wanted = version_text(settings.min_version);
  if (driver.version < settings.min_version) {
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                       "the NVIDIA driver " + file.path + " is for CUDA " + found +
                           ", but Kiln needs one for CUDA " + wanted + " or newer");
  }
  messages.push_back("driver version: " + found + " (at least " + wanted + ")");
}

/// Resolves functions one after the other and notes those that are absent.
class FunctionResolver {
 public:
  explicit FunctionResolver(GetProcAddress get_address) : get_address_(get_address) {}

  template <class Function>
  void resolve(Function& function, const char* name, int version, bool is_required) {
    void* address = nullptr;
    ProcAddressResult result{};
    const Status status = get_address_(name, &address, version, 0, &result);
    const bool found = status == Status::Success && result == ProcAddressResult::Found;
    if (found && address != nullptr) {
      function = reinterpret_cast<Function>(address);
      ++count;
      return;
    }
    (is_required ? missing : absent).push_back(name);
  }

  int count = 0;
  std::vector<std::string> missing, absent;  // required, optional

 private:
  GetProcAddress get_address_;
};

void resolve_functions(const LibraryFile& file, Driver& driver, Messages& messages) {
  const auto get_address = exported<GetProcAddress>(file, "cuGetProcAddress_v2");
  if (get_address == nullptr) throw missing_functions(driver, {"cuGetProcAddress_v2"});
  FunctionResolver resolver(get_address);
  constexpr bool Required = true, Optional = false;
#define KILN_CUDA_RESOLVE(member, symbol, version, presence, ...) \
  resolver.resolve(driver.member, #symbol, version, presence);
  KILN_CUDA_DRIVER_FUNCTIONS(KILN_CUDA_RESOLVE)
#undef KILN_CUDA_RESOLVE
  if (!resolver.missing.empty()) throw missing_functions(driver, resolver.missing);
  const std::string absent = joined(resolver.absent, ", ");
  messages.push_back("driver functions: " + std::to_string(resolver.count) +
                     (absent.empty() ? "" : ", without the optional " + absent));
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::shared_ptr<const Driver> open_driver(const DriverSettings& settings, Messages& messages) {
  find_device_node(settings, messages);
  const LibraryFile file = open_library_of(settings, messages);
  const auto driver = std::make_shared<Driver>();
  driver->path = file.path;
  read_version(file, settings, *driver, messages);
  resolve_functions(file, *driver, messages);
  return driver;
}

}  // namespace kiln::cuda::api
