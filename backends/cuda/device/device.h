// A device in use: its primary context, its limits, and whether it still works.
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

/// Device memory that is cached for reuse.
class MemoryReserve {
 public:
  /// Releases the cached memory to the device. Thread-safe. REQUIRES: a ScopedContext of the
  /// thread, which captures no stream.
  virtual void release() noexcept = 0;

 protected:
  ~MemoryReserve() = default;
};

/// Shared by all objects of an instance. The primary context belongs to the process and other
/// frameworks use it, too: it is retained and released, but never reset. Thread-safe.
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

  /// Throws sdk::Failure: DATA_LOSS after an error that ended the device, with that error's text;
  /// FAILED_PRECONDITION in a child process, which fork() gives no CUDA context.
  void require_usable() const;
  /// False in a child process and after an error that ended the device: objects on the device are
  /// then not freed one by one.
  bool is_usable() const;
  /// Throws api::failure() unless the status is Success. A status for which api::ends_device()
  /// holds ends the device.
  void check(api::Status status, const char* action) const;
  /// Calls `call`, of the driver or of a library, which allocates, and returns its status; where
  /// the device may lack memory, releases the reserve and calls once more. REQUIRES: those of
  /// MemoryReserve::release.
  template <class Call>
  auto allocate(const Call& call) const {
    const auto status = call();
    if (!api::may_lack_memory(status)) return status;
    release_reserve();
    return call();
  }
  /// REQUIRES: those of MemoryReserve::release.
  void release_reserve() const;
  /// Registers the reserve, or none with null. Returns once no thread uses the former one.
  void set_reserve(MemoryReserve* reserve) const;
  /// Makes require_usable() throw from now on, with the text of the first such error.
  void end(const sdk::Failure& error) const noexcept;
  /// The same without a text.
  void end() const noexcept;

 private:
  friend class ScopedContext;

  bool is_child() const;

  std::shared_ptr<const api::Driver> driver_;
  api::DeviceIdentity identity_;
  api::ContextHandle context_ = nullptr;
  codegen::GridDescription grid_;
  pid_t process_ = 0;
  mutable std::atomic<bool> has_ended_{false};
  mutable std::mutex mutex_;  // guards end_
  mutable std::optional<sdk::Failure> end_;
  mutable std::mutex reserve_mutex_;  // guards reserve_ and its use
  mutable MemoryReserve* reserve_ = nullptr;
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
  api::ContextHandle before_ = nullptr;
};

}  // namespace kiln::cuda
