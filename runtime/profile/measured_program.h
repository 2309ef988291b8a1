// Measures the calls of a compiled program, and adds what was measured to a Profile.
#pragma once

#include "core/types/fork.h"
#include "runtime/function/compile/compiled_program.h"
#include "runtime/profile/backend_profile.h"

#include <memory>
#include <optional>

namespace kiln::runtime {

/// Measures from its construction until stop() or its destruction. Thread-safe.
class MeasuredProgram {
 public:
  /// `program` outlives the object. Throws BackendError, as query_profile().
  explicit MeasuredProgram(const CompiledProgram& program);
  ~MeasuredProgram();
  MeasuredProgram(const MeasuredProgram&) = delete;
  MeasuredProgram& operator=(const MeasuredProgram&) = delete;

  void stop();
  /// Adds rows, tensors, events, notes and seconds, and sets the number of calls, or sets
  /// `without_times`. Throws BackendError.
  void add_to(Profile& profile) const;

 private:
  std::optional<BackendProfile> measured() const;

  const CompiledProgram& program_;
  std::optional<BackendProfile> before_;  // empty: the backend gives no times
  mutable ForkMutex mutex_;
  bool is_measuring_ = true;
  std::uint32_t forks_ = fork_count();
  std::optional<BackendProfile> last_;  // since stop()
};

/// Sorts rows and tensors and computes the sums, once all programs are added.
void finish_profile(Profile& profile);

}  // namespace kiln::runtime
