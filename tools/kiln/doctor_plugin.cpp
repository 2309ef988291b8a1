// The file is checked here, before any of its code runs.
#include "tools/kiln/doctor_plugin.h"

#include "core/types/escaped_text.h"
#include "runtime/plugin/elf_file.h"
#include "runtime/plugin/plugin.h"
#include "tools/kiln/doctor_process.h"

#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

namespace kiln::tool {
namespace {

namespace fs = std::filesystem;

/// The absolute path without symbolic links, as the runtime opens it.
std::string resolve(const std::string& path_or_name) {
  std::error_code error;
  if (!fs::exists(path_or_name, error)) {
    for (const runtime::PluginFile& file : runtime::list_plugin_files()) {
      if (file.name == path_or_name) return fs::weakly_canonical(file.path, error).string();
    }
  }
  const fs::path absolute = fs::absolute(path_or_name, error);
  const fs::path real = fs::weakly_canonical(absolute, error);
  return error ? absolute.string() : real.string();
}

bool is_beside_library(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  for (const std::string& searched : runtime::plugin_directories()) {
    if (folder == searched) return true;
  }
  return false;
}

/// Checks owner and mode, and the format even if these are wrong.
std::vector<std::string> check_file(const std::string& path) {
  const std::string rejection = runtime::file_rejection(path, is_beside_library(path));
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {"wrong: it " + rejection};
  const std::string of_format = runtime::elf_rejection(path);
  std::vector<std::string> lines;
  if (rejection.empty() || rejection == of_format) {
    lines.push_back("ok: only trusted users can write the file and its folder");
  } else {
    lines.push_back("wrong: it " + rejection);
  }
  lines.push_back(of_format.empty() ? "ok: it is a shared library for this machine"
                                    : "wrong: it " + of_format);
  return lines;
}

bool has_wrong(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (line.starts_with("wrong: ")) return true;
  }
  return false;
}

std::vector<std::string> check_code(const std::string& path, std::chrono::milliseconds limit) {
  const ProbeOutcome outcome = run_plugin_probe(path, limit);
  std::vector<std::string> lines = outcome.answer.empty() ? outcome.unfinished : outcome.answer;
  if (!outcome.failure.empty()) lines.push_back("wrong: " + failure_text(outcome));
  for (const std::string& line : printed_lines(outcome)) lines.push_back("note: printed: " + line);
  return lines;
}

}  // namespace

PluginReport examine_plugin(const std::string& path_or_name, std::chrono::milliseconds limit) {
  const std::string path = resolve(path_or_name);
  PluginReport report{.path = path, .checks = check_file(path), .verdict = {}};
  if (has_wrong(report.checks)) {
    report.verdict = "not usable: it is not opened";
    return report;
  }
  for (std::string& line : check_code(path, limit)) report.checks.push_back(std::move(line));
  report.is_usable = !has_wrong(report.checks);
  report.verdict = report.is_usable ? "usable" : "not usable as it is";
  return report;
}

void print(const PluginReport& report, std::ostream& out) {
  out << report.path << "\n";
  for (const std::string& check : report.checks) out << "  " << escaped_text(check) << "\n";
  out << report.verdict << "\n";
}

}  // namespace kiln::tool
