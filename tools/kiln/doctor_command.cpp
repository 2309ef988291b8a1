// The command doctor.
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/doctor.h"
#include "tools/kiln/doctor_plugin.h"
#include "tools/kiln/doctor_process.h"

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace kiln::tool {
namespace {

struct DoctorOptions {
  double seconds = 60;
  std::string plugin;
  bool as_json = false;
  std::vector<std::string> probe;
};

/// Returns whether what is asked for can be used.
bool examine(const DoctorOptions& options) {
  const auto limit = std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1e3));
  if (!options.plugin.empty()) {
    const PluginReport report = examine_plugin(options.plugin, limit);
    options.as_json ? write_json(report, std::cout) : print(report, std::cout);
    return report.is_usable;
  }
  if (!options.as_json) return print_all(std::cout, limit);
  const DoctorReport report = examine_all(limit);
  write_json(report, std::cout);
  return report.failure.empty();
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = add_command(
      app, "doctor", "Print the settings in force and each backend's state, or check one plugin",
      "KILN_CUDA_LIBRARIES=/opt/cuda/lib64 kiln doctor\n  kiln doctor ./libkiln_x.so");
  command->add_option("PATH", options->plugin, "plugin to check, or the name of a backend");
  command
      ->add_option("--seconds", options->seconds,
                   "seconds until a backend that does not answer hangs")
      ->check(in_range(0.01, 86400.0))
      ->type_name("S");
  command->add_flag("--json", options->as_json, "print a JSON object");
  // The option that the command passes to the processes that it starts.
  command->add_option("--probe", options->probe)->group("");
  command->callback([options, &status] {
    if (!options->probe.empty()) return answer_probe(options->probe);
    status = examine(*options) ? 0 : 1;
  });
}

}  // namespace kiln::tool
