// Has every plugin file of the search folders probed by a process of its own.
#include "tools/kiln/doctor.h"

#include "core/types/nearest.h"
#include "core/types/text.h"
#include "runtime/config/keras_json.h"
#include "runtime/files/quoted_name.h"
#include "runtime/plugin/backend_choice.h"
#include "runtime/plugin/plugin.h"
#include "tools/kiln/doctor_process.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <system_error>
#include <utility>

namespace kiln::tool {
namespace {

using BackendObserver = std::function<void(const BackendReport&)>;

/// Prints what a process printed. An empty text is not written: each write to std::cerr flushes
/// std::cout, and a failure of that flush must be reported at the end of the program.
void print_errors(const std::string& output) {
  if (!output.empty()) std::cerr << output;
}

/// The answer about a backend; its verdict is "not usable" where the process ended without one.
ProbeAnswer diagnose(const runtime::PluginFile& file, std::chrono::milliseconds limit) {
  ProbeOutcome outcome = run_backend_probe(file.name, file.path, limit);
  if (!outcome.answer.empty()) {
    print_errors(outcome.output);
    if (!outcome.failure.empty()) {
      outcome.answer.push_back(text("after its answer, ", failure_text(outcome)));
    }
    return outcome.answer;
  }
  ProbeAnswer answer{text("not usable: ", failure_text(outcome)), "path: " + file.path};
  for (const std::string& line : printed_lines(outcome)) answer.push_back("printed: " + line);
  return answer;
}

std::vector<std::string> examine_group(std::chrono::milliseconds limit) {
  const ProbeOutcome outcome = run_group_probe(limit);
  print_errors(outcome.output);
  if (!outcome.answer.empty()) return outcome.answer;
  return {"no group of ranks: " + failure_text(outcome)};
}

BackendReport examine_backend(const runtime::PluginFile& file, std::chrono::milliseconds limit) {
  ProbeAnswer answer = diagnose(file, limit);
  BackendReport report{.name = file.name, .verdict = std::move(answer[0]), .lines = {}};
  report.lines.assign(answer.begin() + 1, answer.end());
  return report;
}

std::vector<std::string> names_of(const std::vector<runtime::PluginFile>& files) {
  std::vector<std::string> names;
  for (const runtime::PluginFile& file : files) names.push_back(file.name);
  return names;
}

bool has_backend(const std::vector<runtime::PluginFile>& files, const std::string& name) {
  return std::any_of(files.begin(), files.end(),
                     [&](const runtime::PluginFile& file) { return file.name == name; });
}

/// Adds a line where keras.json names a backend that is not there: also where another setting comes
/// first, since the next program may be without that one. `wanted`: as decide_backend() has it.
void add_unknown_backend(const std::vector<runtime::PluginFile>& files, const std::string& subject,
                         const runtime::Setting<std::string>& named, const std::string& wanted,
                         std::vector<std::string>& lines) {
  const bool is_name = named.value && wanted != "auto" && !wanted.starts_with('/');
  if (!is_name || has_backend(files, wanted)) return;
  lines.push_back(text(subject, " ", runtime::quoted_name(*named.value), " names no backend",
                       did_you_mean(wanted, names_of(files))));
}

/// Returns what keras.json has for no backend: values of `backend`, and sections of options whose
/// name is none of the files and no plugin's path. A keras.json that cannot be read is the reason
/// of each backend already.
std::vector<std::string> unused_settings(const std::vector<runtime::PluginFile>& files) {
  const runtime::KerasJson json = runtime::read_keras_json();
  std::vector<std::string> lines;
  const std::string own = json.kiln_backend.value.value_or("");
  const std::string shared = json.backend.value.value_or("");
  add_unknown_backend(files, json.path + ": kiln.backend", json.kiln_backend,
                      runtime::decide_backend({.own_file = own}).value, lines);
  add_unknown_backend(files, json.path + ": backend", json.backend,
                      runtime::decide_backend({.file = shared}).value, lines);
  if (!json.backends.value) return lines;
  for (const auto& [section, options] : *json.backends.value) {
    std::error_code error;
    const bool is_path = section.starts_with('/') && std::filesystem::exists(section, error);
    if (has_backend(files, section) || is_path) continue;
    lines.push_back(text(json.path, ": options of ", runtime::quoted_name(section),
                         " are ignored: unknown backend"));
  }
  return lines;
}

/// Returns the report on the backend of that name, if there is one.
const BackendReport* find_backend(const DoctorReport& report, const std::string& name) {
  const auto found =
      std::find_if(report.backends.begin(), report.backends.end(),
                   [&](const BackendReport& backend) { return backend.name == name; });
  return found == report.backends.end() ? nullptr : &*found;
}

/// Finds the selected backend and why it is selected, or why it cannot be used. A backend selected
/// by its path is examined first.
void examine_selection(std::chrono::milliseconds limit, const BackendObserver& observe,
                       DoctorReport& report) {
  const ProbeOutcome outcome = run_selection_probe(limit);
  const ProbeAnswer& answer = outcome.answer;
  if (answer.empty()) {
    report.failure = failure_text(outcome);
    return;
  }
  print_errors(outcome.output);
  if (answer.at(0) != "selected") {
    report.failure = answer.at(1);
    return;
  }
  report.selected = answer.at(1);
  report.reason = answer.at(2);
  if (report.selected.starts_with('/') && find_backend(report, report.selected) == nullptr) {
    report.backends.push_back(examine_backend(
        {.name = report.selected, .path = report.selected, .rejection = ""}, limit));
    observe(report.backends.back());
  }
  const BackendReport* backend = find_backend(report, report.selected);
  if (backend != nullptr && backend->verdict.starts_with("not usable")) {
    report.failure = text(report.selected, " (", report.reason, ")");
  }
}

void print_backend(const BackendReport& backend, std::ostream& out) {
  out << backend.name << ": " << backend.verdict << "\n";
  for (const std::string& line : backend.lines) out << "  " << line << "\n";
}

/// Examines the backends and the selection; calls `observe` with each backend at once, since a
/// backend that hangs takes `limit`.
void examine_backends(const std::vector<runtime::PluginFile>& files,
                      std::chrono::milliseconds limit, const BackendObserver& observe,
                      DoctorReport& report) {
  for (const runtime::PluginFile& file : files) {
    report.backends.push_back(examine_backend(file, limit));
    observe(report.backends.back());
  }
  report.notes = unused_settings(files);
  examine_selection(limit, observe, report);
}

}  // namespace

DoctorReport examine_all(std::chrono::milliseconds limit) {
  const std::vector<runtime::PluginFile> files = runtime::list_plugin_files();
  DoctorReport report{.process = describe_process(names_of(files)), .group = examine_group(limit)};
  examine_backends(files, limit, [](const BackendReport&) {}, report);
  return report;
}

bool print_all(std::ostream& out, std::chrono::milliseconds limit) {
  const std::vector<runtime::PluginFile> files = runtime::list_plugin_files();
  DoctorReport report{.process = describe_process(names_of(files))};
  print_process(report.process, out);
  report.group = examine_group(limit);
  for (const std::string& line : report.group) out << line << "\n";
  if (files.empty()) out << "no backend in " << join_text(runtime::plugin_directories()) << "\n";
  examine_backends(
      files, limit, [&](const BackendReport& backend) { print_backend(backend, out); }, report);
  for (const std::string& note : report.notes) out << note << "\n";
  if (report.failure.empty()) {
    out << "selected: " << report.selected << " (" << report.reason << ")\n";
  } else {
    out << "selected backend cannot be used: " << report.failure << "\n";
  }
  return report.failure.empty();
}

}  // namespace kiln::tool
