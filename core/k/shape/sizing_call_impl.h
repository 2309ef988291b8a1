// Sizes that are data: how many elements there are is known only when a host function has seen
// values. A function that speaks of one runs in stages (runtime/function/staged_program.h).
#pragma once

#include "core/k/frame/tensor_impl.h"

namespace kiln {

/// The results of a call of a sizing function (runtime/host/host_functions.h). Fresh symbols in
/// their dims have the call as their source.
std::vector<ir::Value> sizing_call(const char* function, std::string payload,
                                   const std::vector<ir::Type>& results,
                                   std::vector<ir::Value> inputs);

/// `count` sizes that such a function gives: the only dim of its results but one of 0. They are
/// named after the K function and `name`.
ir::Dims sizes_at_run(const char* function, const std::string& name,
                      std::vector<ir::Value> inputs, std::size_t count);

/// int64 scalars, in order, of a vector argument or of a list. ValueError when one is no integer,
/// for None, and for a vector of unknown length.
std::vector<ir::Value> integers_in(const Shape& shape, const char* argument);
/// Scalars as one int64 vector.
ir::Value vector_of(const std::vector<ir::Value>& scalars);

}  // namespace kiln
