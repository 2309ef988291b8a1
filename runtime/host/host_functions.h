// The functions that a HostCall node can name: each gets views of its operands in host memory and
// writes its results. To add one: a function in a file of its own and a row in host_functions.cpp.
#pragma once

#include "runtime/array/host_view.h"

#include <kiln/array.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct HostCallArguments {
  std::span<const std::byte> payload;  // the attributes of the node
  std::span<const HostView> inputs;
  std::span<const HostView> outputs;
};

using HostFunction = void (*)(const HostCallArguments&);

/// The function of that name, or null.
HostFunction find_host_function(std::string_view name);

/// A host function that decides the sizes of its results; it runs between two programs (see
/// staged_program.h). Throws errors of <kiln/error.h> for what the user fed.
using SizingFunction = std::vector<Array> (*)(std::string_view payload,
                                              std::span<const Array> inputs);

/// The function of that name, or null.
SizingFunction find_sizing_function(std::string_view name);

/// "print_tensor": payload is the message; prints "message value" and a line end to the
/// sink of kiln/print.h, and copies its input to its output.
void host_print_tensor(const HostCallArguments& arguments);

}  // namespace kiln::runtime
