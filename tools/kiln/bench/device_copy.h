// Calibration of a GPU: the rate of plain copies in its memory, by the CUDA driver that the backend
// has opened.
#pragma once

#include <memory>

namespace kiln::bench {

/// Two blocks of device memory. REQUIRES: a program ran on the backend `cuda` in this process; one
/// thread uses the object at a time. Its functions set the current context of the calling thread,
/// and throw BackendError where the driver fails.
class DeviceCopy {
 public:
  /// A copy reads half of `bytes` and writes the other half. Throws BackendError, and OutOfMemory
  /// where the device lacks the memory.
  explicit DeviceCopy(double bytes);
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  double bytes() const;
  /// Seconds of one copy by the host's clock, launch and synchronization included, as in a call of
  /// a program.
  double call_seconds() const;
  /// Seconds of one copy among several in a row, by the device's clock.
  double seconds() const;

 private:
  struct Blocks;
  std::unique_ptr<Blocks> blocks_;
};

/// Sets CU_CTX_SCHED_BLOCKING_SYNC: a thread that waits for the device blocks instead of spinning,
/// so that a call's processor time is its work alone. No effect where the system's loader finds no
/// driver. REQUIRES: the backend has not opened the device.
void use_blocking_sync();

}  // namespace kiln::bench
