// Data-dependent sizes: sizes that only a host function computes, from values. A function with such
// sizes is partitioned: each partition runs once the sizes that it uses are known
// (runtime/function).
#pragma once

#include "core/k/base/tensor_impl.h"

namespace kiln {

/// Calls a host function with data-dependent results (runtime/host/host_functions.h). Symbols in
/// the dims of `results` that are not dims of `inputs` become data-dependent, with the call as
/// their source.
std::vector<ir::Value> data_dependent_call(const char* function, std::string payload,
                                           const std::vector<ir::Type>& results,
                                           std::vector<ir::Value> inputs);

/// Calls a host function that computes `count` sizes, each as axis 0 of a result with dims
/// [size, 0]. The symbols are named after the K function and `name`.
ir::Dims data_dependent_dims(const char* function, const std::string& name,
                             std::vector<ir::Value> inputs, std::size_t count);

/// The entries of a shape argument as int64 scalars. Throws ValueError for None, for a tensor that
/// is not an integer, and for a vector of unknown length.
std::vector<ir::Value> integers_in(const Shape& shape, const char* argument);
/// Stacks scalars to an int64 vector.
ir::Value vector_of(const std::vector<ir::Value>& scalars);

}  // namespace kiln
