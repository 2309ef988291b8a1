// The variables of one call: read in one snapshot, overwritten in place or published at its end.
#pragma once

#include "runtime/function/prepared_call.h"
#include "runtime/variable/variable_state.h"

#include <optional>

namespace kiln::runtime {

/// Holds the variables of one call: the versions that it reads, and the destinations of the new
/// values, which are recycled versions or, overwritten in place, the versions that it reads.
class StateLease {
 public:
  StateLease(const CompiledProgram& program, PreparedCall& prepared)
      : program_(program), prepared_(prepared) {}
  ~StateLease();
  StateLease(const StateLease&) = delete;
  StateLease& operator=(const StateLease&) = delete;

  /// Locks the updated variables for writing, then reads a snapshot of all variables, or reads the
  /// given one. ValueError within a call that updates one of them.
  void acquire();
  /// Whether update i overwrites the state that it reads.
  bool writes_in_place(std::size_t i) const {
    return overwrites_ && prepared_.overwrites[i].is_granted;
  }
  /// Returns the version that update i is written to.
  Version& destination(std::size_t i) {
    return writes_in_place(i) ? state_of(i) : *prepared_.next[i];
  }
  /// Reverts in-place updates of a run whose results are rejected.
  void reject();
  /// Publishes all updates at once.
  void commit();

 private:
  void acquire_current();
  /// REQUIRES: publish_mutex() exclusively.
  void end_overwrites();
  Version& state_of(std::size_t update) {
    return *prepared_.held[static_cast<std::size_t>(prepared_.overwrites[update].variable)];
  }

  const CompiledProgram& program_;
  PreparedCall& prepared_;
  std::optional<WriterLocks> locks_;  // released after the destructor's body
  bool overwrites_ = false;  // whether overwrites were requested and have not ended
  bool is_committed_ = false;
};

}  // namespace kiln::runtime
