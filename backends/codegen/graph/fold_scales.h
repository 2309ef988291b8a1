// Scale folding: batch normalization in inference multiplies the results of each filter of a
// convolution by a number and adds another one. Where both depend on unchanged variables and
// constants alone, the filter is multiplied instead: executors cache it (bind/cached_steps.h), and
// what remains is a bias, which the library call adds.
//
// Before: %2 = conv %0 %1; %5 = sub %2 (broadcast %3); %6 = mul %5 (broadcast %4)
// After:  %7 = mul %1 (broadcast %4); %8 = mul (neg %3) %4; %2 = conv %0 %7;
//         %6 = add %2 (broadcast %8)
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Folds chains of additions and multiplications by one number per filter into the forward
/// convolutions of float32 or float64 that nothing else reads, if their filters, too, depend on
/// unchanged arguments alone and `library` adds the bias. Bodies of loops and branches stay: they
/// cache nothing. Sums overflow, or become NaN, at other scales than before. `unchanged`: of each
/// argument, from unchanged_arguments().
std::vector<ir::Value> fold_scales(const std::vector<ir::Value>& results,
                                   const std::vector<ir::Value>& arguments,
                                   const std::vector<bool>& unchanged,
                                   const LibraryClaims* library);

}  // namespace kiln::codegen
