// Asks a plugin's probe and starts an instance.
#include "tools/kiln/doctor_probe.h"

#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/function/compile/compile_program.h"
#include "runtime/plugin/instance_table.h"
#include "runtime/plugin/plugin.h"
#include "runtime/plugin/plugin_call.h"
#include "tools/kiln/error_reason.h"

#include <kiln/backend.h>
#include <kiln/error.h>

#include <algorithm>

namespace kiln::tool {
namespace {

void list_options(const runtime::Plugin& plugin, std::vector<std::string>& lines) {
  for (const runtime::GivenOption& option : runtime::options_in_force(plugin)) {
    lines.push_back(text("option: ", runtime::quoted_name(option.name), " = ",
                         runtime::quoted_name(option.value), " (", option.origin, ")"));
  }
  const std::vector<runtime::GivenOption> unknown = runtime::unknown_variables(plugin);
  for (const runtime::GivenOption& variable : runtime::option_variables(plugin)) {
    const bool is_unknown =
        std::any_of(unknown.begin(), unknown.end(),
                    [&](const runtime::GivenOption& one) { return one.name == variable.name; });
    lines.push_back(text(is_unknown ? "unknown option, ignored: " : "option: ", variable.name,
                         " = ", runtime::quoted_name(variable.value), " (", variable.origin, ")",
                         is_unknown ? "; " + runtime::options_text(plugin) : ""));
  }
}

/// The reason without the plugin, which the lines of the doctor name.
std::string message_of(const Error& error, const runtime::Plugin& plugin) {
  std::string message = reason_of(error);
  const std::string end = runtime::named_plugin(plugin);
  if (message.ends_with(end)) message.resize(message.size() - end.size());
  return message;
}

/// Starts an instance, since a probe starts no device. A second probe while it lives reports its
/// device, too. A wrong KILN_DISABLE is an error of each function.
std::string judge(const runtime::Plugin& plugin, runtime::ProbeReport& report) {
  report = runtime::probe_configured(plugin);
  try {
    const runtime::InstancePtr instance = runtime::create_configured(plugin);
    report = runtime::probe_configured(plugin);
    runtime::require_known_passes(*instance);
    if (report.score != 0) return "usable";
    return text("limited: ", report.reason.empty() ? "no reason" : report.reason);
  } catch (const Error& error) {
    const bool has_reason = report.score == 0 && !report.reason.empty();
    return text("not usable: ", has_reason ? report.reason : message_of(error, plugin));
  }
}

}  // namespace

ProbeAnswer probe_backend(const std::string& name_or_path, const std::string& path) {
  ProbeAnswer answer{"", "path: " + path};
  try {
    const runtime::Plugin& plugin = runtime::open_plugin(name_or_path, "");
    answer.push_back(text("version: ", plugin.version, " (build ", plugin.build_id, ", compiler ",
                          plugin.toolchain, ")"));
    list_options(plugin, answer);
    runtime::ProbeReport report;
    answer[0] = judge(plugin, report);
    answer.insert(answer.end(), report.details.begin(), report.details.end());
  } catch (const Error& error) {
    answer[0] = text("not usable: ", error.message());
  }
  return answer;
}

ProbeAnswer probe_selection() try {
  const BackendChoice choice = backend_choice();
  return {"selected", choice.name, choice.reason};
} catch (const Error& error) {
  return {"error", error.message()};
}

}  // namespace kiln::tool
