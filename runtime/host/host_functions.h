// Functions that a HostCall node can name: each reads its operands in host memory and writes its
// results. To add one, write a function in its own file and add it to host_functions.cpp.
#pragma once

#include "runtime/array/host_view.h"

#include <kiln/array.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct HostCallArguments {
  std::span<const std::byte> payload;  // attributes of the node
  std::span<const HostView> inputs;
  std::span<const HostView> outputs;
};

using HostFunction = void (*)(const HostCallArguments&);

/// Returns the function of that name, or null.
HostFunction find_host_function(std::string_view name);

/// A host function whose result shapes are data-dependent. It runs between two programs of a
/// function (partitioned_program.h) and allocates its results. Throws errors of <kiln/error.h> for
/// the user's values.
using DataDependentFunction = std::vector<Array> (*)(std::string_view payload,
                                                     std::span<const Array> inputs);

/// Returns the function of that name, or null.
DataDependentFunction find_data_dependent_function(std::string_view name);

/// "print_tensor": prints "message value" and a line end to the sink of kiln/print.h, and copies
/// its input to its output. The payload is the message.
void host_print_tensor(const HostCallArguments& arguments);

}  // namespace kiln::runtime
