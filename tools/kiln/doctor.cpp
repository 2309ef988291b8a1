// Opens every plugin file of the search folders and asks its probe.
#include "tools/kiln/doctor.h"

#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/plugin/instance_table.h"
#include "runtime/plugin/plugin.h"

#include <kiln/error.h>

#include <ostream>

namespace kiln::tool {
namespace {

struct Diagnosis {
  std::string build;   // version and build id; empty where the plugin cannot be opened
  std::string reason;  // why the backend cannot be used; empty where it can
  std::vector<std::string> details;  // options in force, then the details of the plugin
};

void list_options(const runtime::Plugin& plugin, std::vector<std::string>& lines) {
  for (const runtime::GivenOption& option : runtime::options_in_force(plugin)) {
    lines.push_back(text("option: ", runtime::quoted_name(option.name), " = ",
                         runtime::quoted_name(option.value), " (", option.origin, ")"));
  }
  for (const runtime::GivenOption& variable : runtime::option_variables(plugin)) {
    lines.push_back(text("option: ", variable.name, " = ", runtime::quoted_name(variable.value),
                         " (", variable.origin, ")"));
  }
}

Diagnosis diagnose(const runtime::PluginFile& file) {
  Diagnosis found;
  try {
    const runtime::Plugin& plugin = runtime::open_plugin(file.name, "");
    found.build = text(plugin.version, " (", plugin.build_id, ", ", plugin.toolchain, ")");
    list_options(plugin, found.details);
    const runtime::ProbeReport report = runtime::probe_configured(plugin);
    found.details.insert(found.details.end(), report.details.begin(), report.details.end());
    if (report.score == 0) found.reason = report.reason.empty() ? "no reason" : report.reason;
  } catch (const Error& error) {
    found.reason = error.message();
  }
  return found;
}

}  // namespace

void print_backends(std::ostream& out) {
  const std::vector<runtime::PluginFile> files = runtime::list_plugin_files();
  if (files.empty()) out << "no backend in " << join_text(runtime::plugin_directories()) << "\n";
  for (const runtime::PluginFile& file : files) {
    const Diagnosis found = diagnose(file);
    out << file.name << ": "
        << (found.reason.empty() ? "usable" : text("not usable: ", found.reason)) << "\n"
        << "  path: " << file.path << "\n";
    if (!found.build.empty()) out << "  version: " << found.build << "\n";
    for (const std::string& detail : found.details) out << "  " << detail << "\n";
  }
}

}  // namespace kiln::tool
