// Own declarations of the driver's interface. Each function is resolved at the driver version that
// fixed its type.
#include "tools/kiln/bench/device_copy.h"

#include "tools/kiln/bench/team.h"

#include "core/types/text.h"
#include "runtime/plugin/backend_options.h"
#include "runtime/plugin/instance_table.h"

#include <kiln/backend.h>
#include <kiln/error.h>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace kiln::bench {
namespace {

using Address = unsigned long long;
using Handle = struct Opaque*;
constexpr int kOutOfMemory = 2;
constexpr unsigned kBlockingSync = 4;

/// Rows (NVIDIA's name, driver version, parameter types).
#define KILN_BENCH_DRIVER_FUNCTIONS(X)                                  \
  X(cuDeviceGet, 2000, int*, int)                                       \
  X(cuDevicePrimaryCtxRetain, 7000, Handle*, int)                       \
  X(cuDevicePrimaryCtxRelease, 11000, int)                              \
  X(cuCtxSetCurrent, 4000, Handle)                                      \
  X(cuStreamCreate, 2000, Handle*, unsigned)                            \
  X(cuStreamSynchronize, 2000, Handle)                                  \
  X(cuStreamDestroy, 4000, Handle)                                      \
  X(cuEventCreate, 2000, Handle*, unsigned)                             \
  X(cuEventRecord, 2000, Handle, Handle)                                \
  X(cuEventElapsedTime, 2000, float*, Handle, Handle)                   \
  X(cuEventDestroy, 4000, Handle)                                       \
  X(cuMemAllocAsync, 11020, Address*, std::size_t, Handle)              \
  X(cuMemFreeAsync, 11020, Address, Handle)                             \
  X(cuMemsetD8Async, 3020, Address, unsigned char, std::size_t, Handle) \
  X(cuMemcpyDtoDAsync, 3020, Address, Address, std::size_t, Handle)

/// Stores the path of a loaded file that is named libcuda.so.1.
int find_driver(dl_phdr_info* file, std::size_t, void* found) {
  const std::string path = file->dlpi_name;
  if (!path.ends_with("/libcuda.so.1")) return 0;
  *static_cast<std::string*>(found) = path;
  return 1;
}

/// The driver that the backend has loaded, by its name within the process or by that of its file.
void* loaded_driver() {
  if (void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) return library;
  std::string path;
  ::dl_iterate_phdr(find_driver, &path);
  void* library = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) throw BackendError("kiln bench", "", "no CUDA driver is loaded");
  return library;
}

/// The loaded driver's functions.
struct Driver {
#define KILN_BENCH_MEMBER(name, version, ...) int (*name)(__VA_ARGS__) = nullptr;
  KILN_BENCH_DRIVER_FUNCTIONS(KILN_BENCH_MEMBER)
#undef KILN_BENCH_MEMBER

  Driver() {
    void* library = loaded_driver();
    using GetAddress = int (*)(const char*, void**, int, std::uint64_t, int*);
    const auto get = reinterpret_cast<GetAddress>(::dlsym(library, "cuGetProcAddress_v2"));
    const auto address = [&](const char* name, int version) {
      void* found = nullptr;
      int how = 0;
      return get != nullptr && get(name, &found, version, 0, &how) == 0 ? found : nullptr;
    };
#define KILN_BENCH_RESOLVE(name, version, ...) \
  name = reinterpret_cast<decltype(name)>(require(#name, address(#name, version)));
    KILN_BENCH_DRIVER_FUNCTIONS(KILN_BENCH_RESOLVE)
#undef KILN_BENCH_RESOLVE
  }

  static void* require(const char* name, void* function) {
    if (function) return function;
    throw BackendError("kiln bench", "", text("the CUDA driver has no ", name));
  }
};

const Driver& driver() {
  static const Driver loaded;
  return loaded;
}

void check(int status, const char* function) {
  if (status == 0) return;
  const std::string message = text(function, " gives CUDA error ", status);
  if (status == kOutOfMemory) throw OutOfMemory("kiln bench", "", message);
  throw BackendError("kiln bench", "", message);
}

/// The option `device` of the backend, which checks it when it opens the device.
int device_ordinal() {
  const runtime::Plugin& plugin = runtime::open_plugin(backend_choice().name, "kiln bench");
  for (const runtime::GivenOption& option : runtime::options_in_force(plugin)) {
    if (option.name == "device") return std::atoi(option.value.c_str());
  }
  const char* number = ::secure_getenv(runtime::option_variable(plugin.name, "device").c_str());
  return number == nullptr ? 0 : std::atoi(number);
}

int device() {
  int found = 0;
  check(driver().cuDeviceGet(&found, device_ordinal()), "cuDeviceGet");
  return found;
}

/// Runs its actions when destroyed, the last one first.
class Cleanups {
 public:
  ~Cleanups() {
    for (auto action = all_.rbegin(); action != all_.rend(); ++action) (*action)();
  }
  void add(std::function<void()> action) { all_.push_back(std::move(action)); }

 private:
  std::vector<std::function<void()>> all_;
};

}  // namespace

struct DeviceCopy::Blocks {
  Handle context = nullptr, stream = nullptr, begin = nullptr, end = nullptr;
  Address from = 0, to = 0;
  std::size_t size = 0;
  Cleanups cleanups;  // the last member: its destructor uses the others

  explicit Blocks(std::size_t bytes) : size(bytes) {
    const int number = device();
    check(driver().cuDevicePrimaryCtxRetain(&context, number), "cuDevicePrimaryCtxRetain");
    cleanups.add([number] { driver().cuDevicePrimaryCtxRelease(number); });
    use();
    check(driver().cuStreamCreate(&stream, 1), "cuStreamCreate");
    // The memory pool keeps freed blocks until the stream has executed the frees.
    cleanups.add([this] {
      driver().cuStreamSynchronize(stream);
      driver().cuStreamDestroy(stream);
    });
    for (Handle* event : {&begin, &end}) {
      check(driver().cuEventCreate(event, 0), "cuEventCreate");
      cleanups.add([event] { driver().cuEventDestroy(*event); });
    }
    for (Address* block : {&from, &to}) {
      check(driver().cuMemAllocAsync(block, size, stream), "cuMemAllocAsync");
      cleanups.add([this, block] { driver().cuMemFreeAsync(*block, stream); });
      check(driver().cuMemsetD8Async(*block, 1, size, stream), "cuMemsetD8Async");
    }
    wait();
    cleanups.add([this] { driver().cuCtxSetCurrent(context); });
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  void use() const { check(driver().cuCtxSetCurrent(context), "cuCtxSetCurrent"); }
  void wait() const { check(driver().cuStreamSynchronize(stream), "cuStreamSynchronize"); }
  void copy() const {
    check(driver().cuMemcpyDtoDAsync(to, from, size, stream), "cuMemcpyDtoDAsync");
  }
  void record(Handle event) const { check(driver().cuEventRecord(event, stream), "cuEventRecord"); }
};

DeviceCopy::DeviceCopy(double bytes)
    : blocks_(
          std::make_unique<Blocks>(std::max<std::size_t>(static_cast<std::size_t>(bytes / 2), 1))) {
}

DeviceCopy::~DeviceCopy() = default;

double DeviceCopy::bytes() const { return 2 * static_cast<double>(blocks_->size); }

double DeviceCopy::call_seconds() const {
  blocks_->use();
  blocks_->copy();
  blocks_->wait();
  constexpr int kCopies = 10;
  const double begin = seconds_now();
  for (int i = 0; i < kCopies; ++i) {
    blocks_->copy();
    blocks_->wait();
  }
  return (seconds_now() - begin) / kCopies;
}

double DeviceCopy::seconds() const {
  blocks_->use();
  blocks_->copy();
  constexpr int kCopies = 10;
  blocks_->record(blocks_->begin);
  for (int i = 0; i < kCopies; ++i) blocks_->copy();
  blocks_->record(blocks_->end);
  blocks_->wait();
  float milliseconds = 0;
  check(driver().cuEventElapsedTime(&milliseconds, blocks_->begin, blocks_->end),
        "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3 / kCopies;
}

void use_blocking_sync() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return;
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(library, "cuInit"));
  const auto get = reinterpret_cast<int (*)(int*, int)>(::dlsym(library, "cuDeviceGet"));
  const auto set_flags =
      reinterpret_cast<int (*)(int, unsigned)>(::dlsym(library, "cuDevicePrimaryCtxSetFlags_v2"));
  int device = 0;
  const bool has_all = init != nullptr && get != nullptr && set_flags != nullptr;
  if (!has_all || init(0) != 0 || get(&device, device_ordinal()) != 0) return;
  set_flags(device, kBlockingSync);
}

}  // namespace kiln::bench
