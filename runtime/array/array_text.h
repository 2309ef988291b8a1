// Formats tensors for operator<< of Array and for print_tensor.
#pragma once

#include "runtime/array/host_view.h"

#include <string>

namespace kiln::runtime {

/// Formats a tensor as NumPy's str() does: "[[1. 2.]\n [3. 4.]]".
std::string array_text(const HostView& view);

}  // namespace kiln::runtime
