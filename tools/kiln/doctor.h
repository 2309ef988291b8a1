// kiln doctor: the backends that are found, and why one cannot be used.
#pragma once

#include <iosfwd>

namespace kiln::tool {

/// Prints each backend beside the library: name, whether it can be used on this machine or why not,
/// path, and the details of its plugin's probe. Starts no device. The error of a plugin is its
/// reason.
void print_backends(std::ostream& out);

}  // namespace kiln::tool
