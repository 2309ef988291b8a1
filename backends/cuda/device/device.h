// A CUDA device in use: retains its primary context and records the error that ended it.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/grid/grid_schedule.h"
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/open_driver.h"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace kiln::cuda {

/// Device memory that Kiln has freed but not yet returned to the device.
class CachedMemory {
 public:
  /// Returns the cached memory to the device. Thread-safe. REQUIRES: a ScopedContext of the
  /// thread, which captures no stream.
  virtual void release() noexcept = 0;

 protected:
  ~CachedMemory() = default;
};

/// Shared by all objects of an instance. The primary context belongs to the process and other
/// frameworks use it, too: it is retained and released, but never reset. Thread-safe.
///
/// An *ended* device: some errors of the driver are sticky (api::ends_device()). An asynchronous
/// error of a kernel, such as an illegal address, is reported by any later call, and from then on
/// every call in the context fails; only a new process recovers. The first such status ends the
/// device: every later ScopedContext throws DATA_LOSS with the first error's text, and objects on
/// the device are destroyed without driver calls: the driver frees their handles with the context.
///
/// fork(): a child process inherits handles without a CUDA context, and the driver does not support
/// it. The process ID that opened the device tells children apart: there every ScopedContext throws
/// FAILED_PRECONDITION, and objects on the device are destroyed without driver calls.
class Device {
 public:
  /// Retains the primary context. Throws sdk::Failure.
  Device(std::shared_ptr<const api::Driver> driver, api::DeviceIdentity identity);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const api::Driver& driver() const { return *driver_; }
  const api::DeviceIdentity& identity() const { return identity_; }
  /// "device 0 (NVIDIA H100)".
  std::string title() const;
  const codegen::GridDescription& grid() const { return grid_; }

  /// Throws sdk::Failure: DATA_LOSS on an ended device, with the text of the error that ended it;
  /// FAILED_PRECONDITION in a child process.
  void require_usable() const;
  /// False in a child process and on an ended device: destructors then make no driver calls.
  bool is_usable() const;
  /// Throws api::failure() unless the status is Success. A status for which api::ends_device()
  /// holds ends the device.
  void check(api::Status status, const char* action) const;
  /// Returns the status of `call`, a function of the driver or of a library that may allocate
  /// device memory. After an out-of-memory status, releases the cached memory and calls once more.
  /// REQUIRES: those of CachedMemory::release.
  template <class Call>
  auto allocate(const Call& call) const {
    const auto status = call();
    if (!api::may_lack_memory(status)) return status;
    release_cached_memory();
    return call();
  }
  /// REQUIRES: those of CachedMemory::release.
  void release_cached_memory() const;
  /// Registers the cached memory; null unregisters it. Returns once no thread uses the former one.
  void set_cached_memory(CachedMemory* memory) const;
  /// Ends the device. Later errors have the text of the first error that ended it.
  void end(const sdk::Failure& error) const noexcept;
  /// The same without a text, for a host that has no memory for one.
  void end() const noexcept;

 private:
  friend class ScopedContext;

  bool is_forked_child() const;

  std::shared_ptr<const api::Driver> driver_;
  api::DeviceIdentity identity_;
  api::ContextHandle context_ = nullptr;
  codegen::GridDescription grid_;
  pid_t process_ = 0;
  mutable std::atomic<bool> has_ended_{false};
  mutable std::mutex mutex_;  // guards end_
  mutable std::optional<sdk::Failure> end_;
  mutable std::mutex cached_memory_mutex_;  // guards cached_memory_ and its use
  mutable CachedMemory* cached_memory_ = nullptr;
};

/// Makes the device's context current to the thread, and restores the previous one. REQUIRES: the
/// device outlives it; constructed and destroyed by one thread.
class ScopedContext {
 public:
  /// Throws what Device::require_usable and the driver throw.
  explicit ScopedContext(const Device& device);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

 private:
  const Device& device_;
  api::ContextHandle previous_ = nullptr;
};

}  // namespace kiln::cuda
