// Opens libkilnhdf5.so beside this library, as backends are found.
#include "runtime/weights/hdf5_library.h"

#include "core/k/base/call.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/plugin/load_lock.h"
#include "runtime/plugin/plugin.h"

#include <kiln/error.h>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace kiln::runtime {

constinit ForkMutex hdf5_mutex;

namespace {

[[maybe_unused]] const bool is_hdf5_held = hold_at_fork<hdf5_mutex>();

constexpr const char* kFile = "libkilnhdf5.so";

constinit std::atomic<const kiln_hdf5_api*> opened{nullptr};

[[noreturn]] void reject(const std::string& path, const std::string& why) {
  throw IoError("", "path", text(path, " needs ", kFile, ", which reads and writes HDF5: ", why));
}

/// Whether the program has loaded a libhdf5 of its own, which may be the same.
bool has_other_hdf5() {
  const auto is_hdf5 = [](dl_phdr_info* object, std::size_t, void*) {
    return static_cast<int>(std::strstr(object->dlpi_name, "libhdf5") != nullptr);
  };
  return ::dl_iterate_phdr(is_hdf5, nullptr) != 0;
}

const kiln_hdf5_api* open_file(const std::string& file, const std::string& path) {
  if (const std::string reason = file_rejection(file, true); !reason.empty()) {
    reject(path, text(file, " ", reason));
  }
  const bool is_alone = !has_other_hdf5();
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const reason = ::dlerror();
    reject(path, text("it cannot be opened (", reason == nullptr ? "no reason given" : reason,
                      "); install the Debian package libhdf5-dev"));
  }
  void* const entry = ::dlsym(library, "kiln_hdf5_entry");
  if (entry == nullptr) reject(path, text(file, " is not Kiln's"));
  return reinterpret_cast<decltype(&kiln_hdf5_entry)>(entry)(is_alone);
}

}  // namespace

const kiln_hdf5_api& hdf5_library(const std::string& path) {
  if (const kiln_hdf5_api* known = opened.load(std::memory_order_acquire)) return *known;
  const LoadLock lock([&] { reject(path, LoadLock::kForkedText); });
  if (const kiln_hdf5_api* known = opened.load(std::memory_order_acquire)) return *known;
  for (const std::string& folder : plugin_directories()) {
    const std::string file = text(folder, "/", kFile);
    if (::access(file.c_str(), F_OK) != 0) continue;
    const kiln_hdf5_api* const found = open_file(file, path);
    opened.store(found, std::memory_order_release);
    return *found;
  }
  reject(path,
         "this build of Kiln lacks it; install the Debian package libhdf5-dev and build with "
         "-DKILN_HDF5=ON");
}

void throw_hdf5(const kiln_hdf5_error& error, std::exception_ptr thrown, const std::string& path) {
  if (thrown) std::rethrow_exception(std::move(thrown));
  if (error.is_memory) throw OutOfMemory(Call::function(), "path", text("no memory for ", path));
  throw IoError("", "path", text(path, " ", escaped_text(error.message)));
}

}  // namespace kiln::runtime
