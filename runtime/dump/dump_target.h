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

/// Directs the dumps of backends on this thread to a target in its scope, in place of that of an
/// outer scope.
class ScopedDumpTarget {
 public:
  /// A null pointer leaves the outer scope's target in force: a function without a dump of its own.
  explicit ScopedDumpTarget(DumpTarget* target) {
    if (target) start(target);
  }
  /// The literal nullptr hides the outer scope's target: no stage is wanted, so that a dump which
  /// the runtime itself requests, as for a trace, writes no files.
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
