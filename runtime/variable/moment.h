// One moment for several programs of one call: what all of them read, and the right to write what
// the last one updates, held until the call ends.
#pragma once

#include "runtime/variable/variable_state.h"

#include <span>
#include <unordered_map>
#include <vector>

namespace kiln::runtime {

class Moment {
 public:
  /// Waits for others that write the same variables. `writers` are in id order; they and `function`
  /// outlive this.
  Moment(std::span<VariableStorage* const> variables, std::span<VariableStorage* const> writers,
         std::string_view function);
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;
  ~Moment() = default;

  /// REQUIRES: one of `variables`.
  const VersionRef& value_of(const VariableStorage& variable) const;

 private:
  WriterLocks locks_;  // released after the values
  std::unordered_map<const VariableStorage*, VersionRef> values_;
};

}  // namespace kiln::runtime
