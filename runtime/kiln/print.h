// Where print_tensor prints.
#pragma once

#include <kiln/export.h>

#include <functional>
#include <string_view>

namespace kiln {

/// Takes the text of one evaluation of print_tensor: message, value and line end. Calls may come
/// from several threads at once, each with a whole text. What it throws ends the function's call
/// as an IoError of print_tensor (an error of Kiln as it is), and no variable changes. It may read
/// variables, call functions and drop the one that prints. A variable that the running call updates
/// cannot be written: that is a ValueError, and from another thread it waits until the call ends,
/// so that a sink must not wait for it.
using PrintSink = std::function<void(std::string_view text)>;

/// Where print_tensor prints in the whole process; an empty sink gives std::cout back, which it is
/// at first. From any thread; evaluations that have begun may still use the sink that was replaced,
/// which lives until they end.
///     std::string seen;
///     K::set_print_sink([&](std::string_view text) { seen = text.substr(0, text.size() - 1); });
///     K::eval(K::print_tensor(K::constant({1., 2.}), {.message = "x is"}));
///     K::set_print_sink({});
///     seen;  // x is [1. 2.]
KILN_API void set_print_sink(PrintSink sink);

}  // namespace kiln
