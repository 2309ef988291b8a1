// Solves the symbols of a program from the sizes of a call's inputs.
//
// Example: an input of [2 * n, 8] given as [6, 8] makes n = 3.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"

#include <unordered_map>

namespace kiln::codegen {

/// Dims of each input.
using InputSizes = std::vector<sdk::Dims>;

class CallSizes {
 public:
  /// Solves the axes of the inputs in order, then checks the guards. REQUIRES: `given` has the
  /// number and the ranks of the inputs. Throws sdk::Failure INVALID_ARGUMENT for sizes that
  /// contradict each other, a static dim or a guard.
  CallSizes(const std::vector<ir::Value>& inputs, const std::vector<ir::Guard>& guards,
            const InputSizes& given);

  /// The value of `dim` in this call; throws as EvaluateDim does. Use std::cref of this object for
  /// an EvaluateDim that does not copy the symbols.
  std::int64_t operator()(const ir::Dim& dim) const;

 private:
  std::unordered_map<std::int64_t, std::int64_t> symbols_;  // by Symbol::id
};

}  // namespace kiln::codegen
