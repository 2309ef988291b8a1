// The output of print_tensor.
#pragma once

#include <kiln/export.h>

#include <functional>
#include <string_view>

namespace kiln {

/// Receives the text of one evaluation of print_tensor: message, value and line end. Several
/// threads may call it concurrently, each with a complete text. An exception ends the call of the
/// function as an IoError of print_tensor (an error of Kiln unchanged), and no variable changes. A
/// sink may read variables, call functions and destroy the function that prints. It must not write
/// a variable that the running call updates: ValueError. Another thread that does so blocks until
/// the call ends, so a sink must not wait for that thread. Nor must it take part in an operation of
/// a group of ranks (kiln/distributed.h) within a call that does, or that updates variables:
/// ValueError.
using PrintSink = std::function<void(std::string_view text)>;

/// Sets the sink of print_tensor for the whole process. Default, also for an empty sink: std::cout.
/// Thread-safe; evaluations that have begun may still use the replaced sink, which lives until they
/// end.
///     std::string seen;
///     K::set_print_sink([&](std::string_view text) { seen = text.substr(0, text.size() - 1); });
///     K::eval(K::print_tensor(K::constant({1., 2.}), {.message = "x is"}));
///     K::set_print_sink({});
///     seen;  // x is [1. 2.]
KILN_API void set_print_sink(PrintSink sink);

}  // namespace kiln
