// Sparse updates: the gradient of an embedding is zero in the rows without an index.
//
// Before: variable %0; %3 = scatter_add %1 %2; %4 = broadcast 0.01; %5 = mul %3 %4;
//         %6 = sub %0 %5, the new value of %0
// After:  variable %0; %6 = scatter_sub %0 0.01 %1 %2, the new value of %0
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// The new value of a variable: indices into the results and the arguments.
struct VariableUpdate {
  std::size_t result = 0, argument = 0;
};

/// Replaces the new value `variable -+ scalar * scatter_add(..)` along axis 0 by a ScatterSub,
/// which neither reads nor writes the rows without an index; a sum of several scatter_adds, the
/// gradient of a table that is looked up several times, by one with all their indices. Applies
/// where nothing else reads the parts of the formula and the target takes the ScatterSub. One
/// scatter_add keeps bits, NaN payloads and subnormals aside: the dense form flushes the subnormals
/// of all rows. Several are reassociated: all updates of a row are one sum, those of the first
/// scatter_add before those of the second, instead of a sum of sums.
std::vector<ir::Value> update_rows(const std::vector<ir::Value>& results,
                                   const std::vector<ir::Value>& arguments,
                                   const std::vector<VariableUpdate>& updates,
                                   const LibraryClaims* library);

}  // namespace kiln::codegen
