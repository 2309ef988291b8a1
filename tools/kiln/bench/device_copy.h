// Calibration of a GPU: how fast its memory can be copied, by the CUDA driver that the backend has
// opened.
#pragma once

#include <memory>

namespace kiln::bench {

/// Two blocks of device memory. REQUIRES: a program ran on the backend `cuda` in this process.
class DeviceCopy {
 public:
  /// A copy reads half of `bytes` and writes the other half. Throws BackendError, and OutOfMemory
  /// where the device lacks the memory.
  explicit DeviceCopy(double bytes);
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  double bytes() const;
  /// Seconds of one copy as the host sees it, from its request until its end is known: a call of
  /// a program has the same two ends.
  double call_seconds() const;
  /// Seconds of one copy among several in a row, by the device's clock.
  double seconds() const;

 private:
  struct Blocks;
  std::unique_ptr<Blocks> blocks_;
};

/// Lets threads that wait for the device sleep, so that the processors' time of a call is its work
/// alone. Without effect where the system's loader finds no driver. REQUIRES: the backend has not
/// opened the device.
void wait_asleep();

}  // namespace kiln::bench
