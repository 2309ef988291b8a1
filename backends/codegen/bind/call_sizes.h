// Symbols of a program solved from the sizes of a call's inputs.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"

#include <unordered_map>

namespace kiln::codegen {

/// Dims of each input.
using InputSizes = std::vector<sdk::Dims>;

class CallSizes {
 public:
  /// Solves one input after the other, axis after axis, then checks the guards. REQUIRES: as many
  /// `given` as inputs, with their ranks. Throws sdk::Failure INVALID_ARGUMENT for sizes that the
  /// program does not take.
  CallSizes(const std::vector<ir::Value>& inputs, const std::vector<ir::Guard>& guards,
            const InputSizes& given);

  /// The value of `dim` in this call; throws as EvaluateDim does. For an EvaluateDim that does not
  /// copy the symbols, take std::cref of this object.
  std::int64_t operator()(const ir::Dim& dim) const;

 private:
  std::unordered_map<std::int64_t, std::int64_t> symbols_;  // by Symbol::id
};

}  // namespace kiln::codegen
