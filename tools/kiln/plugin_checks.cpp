// Each check takes the plugin as the runtime does, so that its errors are those of programs.
#include "tools/kiln/plugin_checks.h"

#include "core/ops/op.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/plugin/instance_table.h"
#include "runtime/plugin/plugin.h"

#include <kiln/array.h>
#include <kiln/create.h>
#include <kiln/function.h>
#include <kiln/tensor.h>

#include <algorithm>
#include <vector>

namespace kiln::tool {
namespace {

using Report = std::function<void(std::string_view)>;

/// Runs a check that throws where something is wrong.
template <class Check>
bool succeeds(const Report& report, const char* what, const Check& check) {
  try {
    check();
    return true;
  } catch (const Error& error) {
    report(text("wrong: ", what, ": ", error.message()));
    return false;
  }
}

void check_name(const runtime::Plugin& plugin, const Report& report) {
  const std::string file = plugin.path.substr(plugin.path.rfind('/') + 1);
  const std::string wanted = text("libkiln_", plugin.name, ".so");
  if (file == wanted) {
    report(text("ok: beside libkiln.so, the name ", plugin.name, " selects it"));
  } else {
    report(text("note: only its path selects it: the name ", plugin.name,
                ", which it reports, needs a file ", wanted));
  }
}

void check_features(const runtime::Plugin& plugin, const Report& report) {
  const bool is_concurrent = (plugin.features & KILN_FEATURE_CONCURRENT_COMPILE) != 0;
  const bool is_fork_safe = (plugin.features & KILN_FEATURE_FORK_SAFE) != 0;
  report(is_concurrent ? "ok: compiles on several threads at once"
                       : "note: compiles on one thread at a time");
  report(is_fork_safe ? "ok: keeps working in a child of fork()"
                      : "note: does not work in a child of fork() once it is in use");
  if (plugin.absent_entries.empty()) {
    report("ok: has all optional functions of kiln_backend_api");
  } else {
    report(text("note: lacks the optional functions ", join_text(plugin.absent_entries)));
  }
}

void check_options(const runtime::Plugin& plugin, const Report& report) {
  if (!runtime::option_names(plugin)) {
    report("note: does not list its options, so that misspelled variables are not noticed");
    return;
  }
  report("ok: " + runtime::options_text(plugin));
  for (const runtime::GivenOption& variable : runtime::unknown_variables(plugin)) {
    report(text("wrong: ", variable.name, " names no option and is ignored"));
  }
  for (const runtime::GivenOption& option : runtime::options_in_force(plugin)) {
    report(text("note: option ", runtime::quoted_name(option.name), " = ",
                runtime::quoted_name(option.value), " (", option.origin, ")"));
  }
}

void check_probe(const runtime::Plugin& plugin, const Report& report) {
  const runtime::ProbeReport probe = runtime::probe_configured(plugin);
  for (const std::string& detail : probe.details) report("note: " + detail);
  if (probe.score != 0) {
    report(text("ok: its probe gives the score ", probe.score));
  } else {
    report(text("wrong: its probe says that it cannot be used: ",
                probe.reason.empty() ? "no reason" : probe.reason));
  }
}

void check_ops(const runtime::InstancePtr& instance, const Report& report) {
  const std::vector<runtime::OpSupport> supported = instance->op_table();
  if (supported.empty()) {
    report("note: lists no ops, so that each program is offered to it");
    return;
  }
  std::vector<std::string_view> missing;
  for (const ir::OpDef& op : ir::all_ops()) {
    const bool is_supported =
        std::any_of(supported.begin(), supported.end(),
                    [&](const runtime::OpSupport& one) { return one.name == op.name; });
    if (!is_supported) missing.push_back(op.name);
  }
  if (missing.empty()) {
    report("ok: lists all ops");
  } else {
    report(text("note: does not list the ops ", join_text(missing)));
  }
}

/// Compiles and calls a small program. A backend may support other ops only.
void check_program(const runtime::Plugin& plugin, const Report& report) try {
  const Tensor x = placeholder({.shape = {2}, .dtype = "float32", .name = "x"});
  const Function program = function({x}, {x * 2}, {.name = "check", .backend = plugin.path});
  const Array given = program({Array{1.f, 2.f}})[0], wanted{2.f, 4.f};
  if (given == wanted) {
    report("ok: compiles and runs x * 2");
  } else {
    report(text("wrong: x * 2 of [1 2] is ", given, ", not ", wanted));
  }
} catch (const NotImplementedError& error) {
  report(text("note: does not support x * 2: ", error.message()));
}

}  // namespace

void check_plugin(const std::string& path, const Report& report) {
  const runtime::Plugin* plugin = nullptr;
  const bool is_open =
      succeeds(report, "it cannot be opened", [&] { plugin = &runtime::open_plugin(path, ""); });
  if (!is_open) return;
  report(text("ok: is the backend ", plugin->name, ", version ", plugin->version, " (build ",
              plugin->build_id, ", compiler ", plugin->toolchain, "), for this Kiln's ABI ",
              KILN_ABI_MAJOR, ".", KILN_ABI_MINOR));
  check_name(*plugin, report);
  check_features(*plugin, report);
  succeeds(report, "its options", [&] { check_options(*plugin, report); });
  succeeds(report, "its probe", [&] { check_probe(*plugin, report); });
  runtime::InstancePtr instance;
  const bool starts =
      succeeds(report, "no instance starts", [&] { instance = runtime::instance_of(*plugin); });
  if (!starts) return;
  report("ok: an instance starts");
  succeeds(report, "its list of ops", [&] { check_ops(instance, report); });
  succeeds(report, "it does not run x * 2", [&] { check_program(*plugin, report); });
}

}  // namespace kiln::tool
