// One consistent snapshot of variables for a call that runs several programs.
#pragma once

#include "runtime/variable/variable_state.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kiln::runtime {

/// The values of a call's variables when it began, and the locks of those that it updates, held
/// until the object is destroyed. Shared by the partitions of one call.
class VariableSnapshot {
 public:
  /// Locks `writers`, blocking as WriterLocks does, then reads `variables`. REQUIRES: `writers` are
  /// in id order; they and `function` outlive the object. Throws as WriterLocks and snapshot().
  VariableSnapshot(std::span<VariableStorage* const> variables,
                   std::span<VariableStorage* const> writers, std::string_view function,
                   std::optional<std::uint64_t> call_number = {});
  VariableSnapshot(const VariableSnapshot&) = delete;
  VariableSnapshot& operator=(const VariableSnapshot&) = delete;
  ~VariableSnapshot() = default;

  /// Returns the variable's value. REQUIRES: the variable is one of `variables`.
  const VersionRef& value_of(const VariableStorage& variable) const;
  /// The number that all programs draw with; none: each takes the next one.
  const std::optional<std::uint64_t>& call_number() const { return call_number_; }

 private:
  WriterLocks locks_;  // released after values_
  std::unordered_map<const VariableStorage*, VersionRef> values_;
  std::optional<std::uint64_t> call_number_;
};

}  // namespace kiln::runtime
