// The checks of one plugin by kiln doctor PATH that run its code, in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kiln::tool {

/// Opens the plugin at that absolute path, creates an instance and runs a program on it. Calls
/// `report` with a line for each check as soon as it is done: "ok: ...", "wrong: ..." or, for a
/// choice of the plugin, "note: ...". Later checks are left out where one needs what is wrong.
void check_plugin(const std::string& path, const std::function<void(std::string_view)>& report);

}  // namespace kiln::tool
