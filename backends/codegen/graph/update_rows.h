// Before: variable %0; %3 = scatter_add %1 %2; %4 = broadcast 0.01; %5 = mul %3 %4;
//         %6 = sub %0 %5, the new value of %0
// After:  variable %0; %6 = scatter_sub %0 0.01 %1 %2, the new value of %0
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// A new value of a variable: both are numbers, in the results and in the arguments.
struct VariableUpdate {
  std::size_t result = 0, argument = 0;
};

/// Makes a ScatterSub of a variable minus (or plus) a scalar times a ScatterAdd along axis 0, where
/// that is its new value, nothing else reads the parts of the formula, and the library takes the
/// ScatterSub: rows without an index are then neither read nor written.
/// Bits stay, NaN payloads and subnormals aside: the dense form flushes all rows.
std::vector<ir::Value> update_rows(const std::vector<ir::Value>& results,
                                   const std::vector<ir::Value>& arguments,
                                   const std::vector<VariableUpdate>& updates,
                                   const LibraryClaims* library);

}  // namespace kiln::codegen
