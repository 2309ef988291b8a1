// Has every plugin file of the search folders probed by a process of its own.
#include "tools/kiln/doctor.h"

#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/config/keras_json.h"
#include "runtime/files/quoted_name.h"
#include "runtime/plugin/plugin.h"
#include "tools/kiln/doctor_process.h"

#include <kiln/error.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

namespace kiln::tool {
namespace {

/// Prints what a process printed. An empty text is not written: each write to std::cerr flushes
/// std::cout, and a failure of that flush must be reported at the end of the program.
void print_errors(const std::string& output) {
  if (!output.empty()) std::cerr << output;
}

/// "its process crashes with SIGSEGV (signal 11); the last library that it opened is /x/liby.so".
std::string failure_text(const ProbeOutcome& outcome) {
  const std::string& library = outcome.last_library;
  return text("its process ", outcome.failure,
              library.empty() ? "" : "; the last library that it opened is " + library);
}

/// Adds the last lines that a process printed before it ended.
void add_output(const std::string& output, std::vector<std::string>& lines) {
  constexpr std::size_t kMaxLines = 5, kMaxBytes = 200;
  std::vector<std::string> printed;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) printed.push_back(line.substr(0, kMaxBytes));
  for (std::size_t i = printed.size() - std::min(printed.size(), kMaxLines); i < printed.size();
       ++i) {
    lines.push_back("printed: " + escaped_text(printed[i]));
  }
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
  add_output(outcome.output, answer);
  return answer;
}

/// Prints the sections of keras.json that are for none of the files, and for no plugin by its path.
/// A keras.json that cannot be read is the reason of each backend already.
void print_unused_sections(const std::vector<runtime::PluginFile>& files, std::ostream& out) try {
  const runtime::KerasJson json = runtime::read_keras_json();
  for (const auto& [section, options] : json.backends) {
    const bool is_used =
        std::any_of(files.begin(), files.end(),
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

/// Prints what the process answers about the backend; returns the verdict.
std::string print_backend(const runtime::PluginFile& file, std::chrono::milliseconds limit,
                          std::ostream& out) {
  const ProbeAnswer answer = diagnose(file, limit);
  out << file.name << ": " << answer[0] << "\n";
  for (std::size_t i = 1; i < answer.size(); ++i) out << "  " << answer[i] << "\n";
  return answer[0];
}

bool print_no_selection(const std::string& reason, std::ostream& out) {
  out << "selected backend cannot be used: " << reason << "\n";
  return false;
}

/// Prints the selected backend and why it is selected, or why it cannot be used. `verdicts`: of the
/// backends that were printed; a backend selected by its path is printed first.
bool print_selection(std::map<std::string, std::string> verdicts, std::chrono::milliseconds limit,
                     std::ostream& out) {
  const ProbeOutcome outcome = run_selection_probe(limit);
  const ProbeAnswer& answer = outcome.answer;
  if (answer.empty()) return print_no_selection(failure_text(outcome), out);
  print_errors(outcome.output);
  if (answer.at(0) != "selected") return print_no_selection(answer.at(1), out);
  const std::string &name = answer.at(1), &reason = answer.at(2);
  if (name.starts_with('/') && verdicts.count(name) == 0) {
    verdicts[name] = print_backend({.name = name, .path = name, .rejection = ""}, limit, out);
  }
  if (verdicts[name].starts_with("not usable")) {
    return print_no_selection(text(name, " (", reason, ")"), out);
  }
  out << "selected: " << name << " (" << reason << ")\n";
  return true;
}

}  // namespace

bool print_backends(std::ostream& out, std::chrono::milliseconds limit) {
  const std::vector<runtime::PluginFile> files = runtime::list_plugin_files();
  if (files.empty()) out << "no backend in " << join_text(runtime::plugin_directories()) << "\n";
  std::map<std::string, std::string> verdicts;
  for (const runtime::PluginFile& file : files) {
    verdicts[file.name] = print_backend(file, limit, out);
  }
  print_unused_sections(files, out);
  return print_selection(std::move(verdicts), limit, out);
}

}  // namespace kiln::tool
