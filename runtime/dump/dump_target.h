// The receiver of backends' dump items on the threads that a ScopedDumpTarget covers.
#pragma once

#include "runtime/host/host_services.h"

#include <cstddef>
#include <string_view>

namespace kiln::runtime {

/// Both functions may be called from any thread that has it in scope, also at once.
class DumpTarget {
 public:
  /// `stage`: as the backend names it.
  virtual bool wants_stage(std::string_view stage) const = 0;
  /// Called for stages that are wanted.
  virtual void receive(const BackendDump& dump) noexcept = 0;

 protected:
  ~DumpTarget() = default;
};

/// Directs the dumps of backends on this thread to `target` in its scope; no effect for null.
class ScopedDumpTarget {
 public:
  explicit ScopedDumpTarget(DumpTarget* target) {
    if (target) start(target);
  }
  /// Wants no stage in its scope.
  explicit ScopedDumpTarget(std::nullptr_t) { start(nullptr); }
  ~ScopedDumpTarget() {
    if (started_) stop();
  }
  ScopedDumpTarget(const ScopedDumpTarget&) = delete;
  ScopedDumpTarget& operator=(const ScopedDumpTarget&) = delete;

 private:
  void start(DumpTarget* target);
  void stop() noexcept;
  bool started_ = false;
  DumpTarget* outer_ = nullptr;
};

}  // namespace kiln::runtime
