// Each value is followed by its origin in parentheses.
#include "tools/kiln/process_report.h"

#include "core/types/nearest.h"
#include "core/types/text.h"
#include "runtime/config/keras_json.h"
#include "runtime/files/quoted_name.h"
#include "runtime/host/thread_pool.h"
#include "runtime/plugin/backend_options.h"
#include "runtime/plugin/plugin.h"
#include "runtime/plugin/version.h"
#include "tools/kiln/written_files.h"

#include <kiln/error.h>

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace kiln::tool {
namespace {

unsigned available_processors() {
  cpu_set_t available;
  CPU_ZERO(&available);
  const bool is_known = ::sched_getaffinity(0, sizeof available, &available) == 0;
  return is_known ? static_cast<unsigned>(CPU_COUNT(&available)) : 0;
}

void describe_threads(ProcessReport& report) try {
  report.threads = runtime::thread_count();
  const char* given = std::getenv("KILN_THREADS");
  report.threads_origin =
      given != nullptr && *given != '\0' ? "KILN_THREADS" : "available processors";
} catch (const Error& error) {
  report.threads_origin = error.message();
}

void add_rejection(const std::string& rejection, KerasJsonReport& report) {
  const auto& known = report.rejections;
  const bool is_new = std::find(known.begin(), known.end(), rejection) == known.end();
  if (!rejection.empty() && is_new) report.rejections.push_back(rejection);
}

KerasJsonReport describe_keras_json() {
  const runtime::KerasJson json = runtime::read_keras_json();
  KerasJsonReport report{.path = json.path,
                         .damage = json.damage,
                         .found = json.found,
                         .rejections = {},
                         .unknown_keys = json.unknown_keys};
  if (!json.damage.empty()) return report;
  add_rejection(json.floatx.rejection, report);
  add_rejection(json.epsilon.rejection, report);
  add_rejection(json.image_data_format.rejection, report);
  add_rejection(json.backend.rejection, report);
  add_rejection(json.kiln_backend.rejection, report);
  add_rejection(json.backends.rejection, report);
  if (!json.backends.value) return report;
  for (const auto& [section, options] : *json.backends.value) {
    add_rejection(options.rejection, report);
    if (!options.value) continue;
    for (const auto& [option, setting] : *options.value) add_rejection(setting.rejection, report);
  }
  return report;
}

std::string note_of(const SetVariable& variable, const std::vector<std::string>& backends) {
  if (variable.is_listed) return rejection_of(variable);
  for (const std::string& backend : backends) {
    if (variable.name.starts_with(runtime::option_variable(backend, ""))) {
      return "for the backend " + backend;
    }
  }
  std::vector<std::string> names = names_of_tables(environment_page(), "variable");
  std::erase_if(names, [](const std::string& name) { return name.ends_with('*'); });
  return "read by neither Kiln nor a backend beside it" + did_you_mean(variable.name, names);
}

std::string gibibytes(std::uint64_t bytes) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / (1 << 30) << " GiB";
  return out.str();
}

void print_processors(const ProcessReport& report, std::ostream& out) {
  const runtime::MachineProcessors& processors = report.processors;
  out << "processors: " << (processors.model.empty() ? "unknown model" : processors.model) << ", "
      << report.available_processors << " available";
  if (processors.quota) {
    out << ", the time of " << processors.quota->value << " (" << processors.quota->file << ")";
  }
  out << "\n";
}

void print_memory(const runtime::MachineMemory& memory, std::ostream& out) {
  out << "memory: " << gibibytes(memory.total) << ", " << gibibytes(memory.available)
      << " available";
  if (memory.limit) {
    out << ", limit " << gibibytes(memory.limit->value) << " (" << memory.limit->file << ")";
  }
  out << "\n";
}

void print_keras_json(const KerasJsonReport& report, std::ostream& out) {
  out << "keras.json: ";
  if (report.path.empty()) {
    out << "none (neither KERAS_HOME nor HOME is set)\n";
  } else if (!report.found) {
    out << "none (" << report.path << " does not exist)\n";
  } else {
    out << (report.damage.empty() ? report.path : report.damage) << "\n";
  }
  for (const std::string& rejection : report.rejections) out << "  " << rejection << "\n";
  for (const std::string& key : report.unknown_keys) {
    out << "  unknown key, ignored: " << runtime::quoted_name(key) << "\n";
  }
}

}  // namespace

ProcessReport describe_process(const std::vector<std::string>& backends) {
  ProcessReport report;
  report.version = runtime::kVersion;
  report.library = runtime::host_path();
  describe_threads(report);
  report.available_processors = available_processors();
  report.processors = runtime::read_processors();
  report.memory = runtime::read_memory();
  report.keras_json = describe_keras_json();
  for (SetVariable& variable : set_variables()) {
    const std::string note = note_of(variable, backends);
    report.variables.push_back({std::move(variable), note});
  }
  return report;
}

void print_process(const ProcessReport& report, std::ostream& out) {
  out << "kiln " << report.version << " (" << report.library << ")\n";
  out << "threads: ";
  if (report.threads != 0) out << report.threads << " (" << report.threads_origin << ")\n";
  else out << report.threads_origin << "\n";
  print_processors(report, out);
  print_memory(report.memory, out);
  print_keras_json(report.keras_json, out);
  out << "variables:" << (report.variables.empty() ? " none" : "") << "\n";
  for (const auto& [variable, note] : report.variables) {
    out << "  " << variable.name << " = " << runtime::quoted_name(variable.value)
        << (note.empty() ? "" : " (" + note + ")") << "\n";
  }
}

}  // namespace kiln::tool
