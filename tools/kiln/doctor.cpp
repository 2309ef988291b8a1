// Opens every plugin file of the search folders and asks its probe.
#include "tools/kiln/doctor.h"

#include "core/types/text.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/plugin/plugin.h"

#include <kiln/error.h>

#include <ostream>

namespace kiln::tool {
namespace {

struct Diagnosis {
  std::string build;   // version and build id; empty where the plugin cannot be opened
  std::string reason;  // why the backend cannot be used; empty where it can
  std::vector<std::string> details;
};

Diagnosis diagnose(const runtime::PluginFile& file) {
  Diagnosis found;
  try {
    const runtime::Plugin& plugin = runtime::open_plugin(file.name, "");
    found.build = text(plugin.version, " (", plugin.build_id, ", ", plugin.toolchain, ")");
    const runtime::ProbeReport report = runtime::probe(plugin);
    found.details = report.details;
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
