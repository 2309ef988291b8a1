// kiln doctor PATH: all that is wrong or right with one plugin.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>

namespace kiln::tool {

/// Prints a line for each check of the plugin at the path or, where there is no such file, of the
/// backend of that name beside the library: the file, then check_plugin() in a process of its own,
/// which is killed after `limit`. Returns whether nothing is wrong.
bool print_plugin(std::ostream& out, const std::string& path_or_name,
                  std::chrono::milliseconds limit);

}  // namespace kiln::tool
