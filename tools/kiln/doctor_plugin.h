// kiln doctor PATH: all that is wrong or right with one plugin.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

namespace kiln::tool {

struct PluginReport {
  std::string path;  // absolute, without symbolic links
  /// One for each check: "ok: ...", "wrong: ..." or, for a choice of the plugin, "note: ...".
  std::vector<std::string> checks;
  std::string verdict;  // "usable", "not usable: it is not opened", "not usable as it is"
  bool is_usable = false;  // nothing is wrong
};

/// Checks the plugin at the path or, where there is no such file, the backend of that name beside
/// the library: the file, then check_plugin() in a process of its own, which is killed after
/// `limit`.
PluginReport examine_plugin(const std::string& path_or_name, std::chrono::milliseconds limit);

/// Prints the path, a line for each check and the verdict.
void print(const PluginReport& report, std::ostream& out);
/// Writes the report as a JSON object, as write_json of doctor.h.
void write_json(const PluginReport& report, std::ostream& out);

}  // namespace kiln::tool
