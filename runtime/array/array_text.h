// Formats tensors for operator<< of Array and for print_tensor.
#pragma once

#include "runtime/array/host_view.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kiln::runtime {

/// Formats a tensor as NumPy's str() does: "[[1. 2.]\n [3. 4.]]".
std::string array_text(const HostView& view);

/// The index of an element: "[1,2]"; "" for a scalar. `element`: its number in row-major order.
std::string index_text(std::span<const std::int64_t> dims, std::size_t element);

}  // namespace kiln::runtime
