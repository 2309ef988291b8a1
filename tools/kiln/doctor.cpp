// Opens every plugin file of the search folders, asks its probe and starts an instance.
#include "tools/kiln/doctor.h"

#include "core/types/text.h"
#include "runtime/config/keras_json.h"
#include "runtime/files/quoted_name.h"
#include "runtime/plugin/instance_table.h"
#include "runtime/plugin/plugin.h"
#include "runtime/plugin/plugin_call.h"

#include <kiln/backend.h>
#include <kiln/error.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <system_error>
#include <utility>

namespace kiln::tool {
namespace {

struct Diagnosis {
  std::string build;  // version, build id and compiler; empty where the plugin cannot be opened
  std::string verdict;
  std::vector<std::string> details;  // options in force, then the details of the plugin
};

void list_options(const runtime::Plugin& plugin, std::vector<std::string>& lines) {
  for (const runtime::GivenOption& option : runtime::options_in_force(plugin)) {
    lines.push_back(text("option: ", runtime::quoted_name(option.name), " = ",
                         runtime::quoted_name(option.value), " (", option.origin, ")"));
  }
  const std::vector<runtime::GivenOption> unknown = runtime::unknown_variables(plugin);
  for (const runtime::GivenOption& variable : runtime::option_variables(plugin)) {
    const bool is_unknown = std::any_of(
        unknown.begin(), unknown.end(),
        [&](const runtime::GivenOption& one) { return one.name == variable.name; });
    lines.push_back(text(is_unknown ? "unknown option, ignored: " : "option: ", variable.name,
                         " = ", runtime::quoted_name(variable.value), " (", variable.origin, ")",
                         is_unknown ? "; " + runtime::options_text(plugin) : ""));
  }
}

/// The message without the plugin, which the lines of the doctor name.
std::string message_of(const Error& error, const runtime::Plugin& plugin) {
  std::string message = error.message();
  const std::string end = runtime::named_plugin(plugin);
  if (message.ends_with(end)) message.resize(message.size() - end.size());
  return message;
}

/// Starts an instance, since a probe starts no device. A second probe while it lives reports its
/// device, too.
std::string judge(const runtime::Plugin& plugin, runtime::ProbeReport& report) {
  report = runtime::probe_configured(plugin);
  try {
    const runtime::InstancePtr instance = runtime::create_configured(plugin);
    report = runtime::probe_configured(plugin);
    if (report.score != 0) return "usable";
    return text("limited: ", report.reason.empty() ? "no reason" : report.reason);
  } catch (const Error& error) {
    const bool has_reason = report.score == 0 && !report.reason.empty();
    return text("not usable: ", has_reason ? report.reason : message_of(error, plugin));
  }
}

Diagnosis diagnose(const runtime::PluginFile& file) {
  Diagnosis found;
  try {
    const runtime::Plugin& plugin = runtime::open_plugin(file.name, "");
    found.build = text(plugin.version, " (build ", plugin.build_id, ", compiler ",
                       plugin.toolchain, ")");
    list_options(plugin, found.details);
    runtime::ProbeReport report;
    found.verdict = judge(plugin, report);
    found.details.insert(found.details.end(), report.details.begin(), report.details.end());
  } catch (const Error& error) {
    found.verdict = text("not usable: ", error.message());
  }
  return found;
}

/// Prints the sections of keras.json that are for none of the files, and for no plugin by its path.
/// A keras.json that cannot be read is the reason of each backend already.
void print_unused_sections(const std::vector<runtime::PluginFile>& files, std::ostream& out) try {
  const runtime::KerasJson json = runtime::read_keras_json();
  for (const auto& [section, options] : json.backends) {
    const bool is_used = std::any_of(
        files.begin(), files.end(),
        [&](const runtime::PluginFile& file) { return file.name == section; });
    std::error_code error;
    const bool is_path = section.starts_with('/') && std::filesystem::exists(section, error);
    if (is_used || is_path) continue;
    out << json.path << ": options of " << runtime::quoted_name(section)
        << " are ignored: unknown backend\n";
  }
} catch (const Error&) {
  return;
}

void print(const runtime::PluginFile& file, const Diagnosis& found, std::ostream& out) {
  out << file.name << ": " << found.verdict << "\n"
      << "  path: " << file.path << "\n";
  if (!found.build.empty()) out << "  version: " << found.build << "\n";
  for (const std::string& detail : found.details) out << "  " << detail << "\n";
}

/// Prints the selected backend and why it is selected, or why it cannot be used. `verdicts`: of the
/// backends that were printed; a backend selected by its path is printed first.
bool print_selection(std::map<std::string, std::string> verdicts, std::ostream& out) try {
  const BackendChoice choice = backend_choice();
  if (choice.name.starts_with('/') && verdicts.count(choice.name) == 0) {
    const runtime::PluginFile file{.name = choice.name, .path = choice.name, .rejection = ""};
    const Diagnosis found = diagnose(file);
    print(file, found, out);
    verdicts[choice.name] = found.verdict;
  }
  const std::string verdict = verdicts[choice.name];
  if (verdict.starts_with("not usable")) {
    out << "selected backend cannot be used: " << choice.name << " (" << choice.reason << ")\n";
    return false;
  }
  out << "selected: " << choice.name << " (" << choice.reason << ")\n";
  return true;
} catch (const Error& error) {
  out << "selected backend cannot be used: " << error.message() << "\n";
  return false;
}

}  // namespace

bool print_backends(std::ostream& out) {
  const std::vector<runtime::PluginFile> files = runtime::list_plugin_files();
  if (files.empty()) out << "no backend in " << join_text(runtime::plugin_directories()) << "\n";
  std::map<std::string, std::string> verdicts;
  for (const runtime::PluginFile& file : files) {
    const Diagnosis found = diagnose(file);
    print(file, found, out);
    verdicts[file.name] = found.verdict;
  }
  print_unused_sections(files, out);
  return print_selection(std::move(verdicts), out);
}

}  // namespace kiln::tool
