// Reads the head from the system and from the plugin of the backend in use.
#include "tools/kiln/bench/machine.h"

#include "runtime/plugin/instance_table.h"
#include "runtime/plugin/plugin.h"

#include <kiln/backend.h>

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

namespace kiln::bench {
namespace {

/// The first "model name" of /proc/cpuinfo, which not every architecture has.
std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    if (value != std::string::npos) return line.substr(value);
  }
  return "processor of unknown model";
}

double memory_gibibytes() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 30);
}

}  // namespace

int allowed_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

void print_machine() {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
  std::printf("%s; %s, %d cores, %.1f GiB\n", date, processor_model().c_str(), allowed_processors(),
              memory_gibibytes());
  const BackendChoice choice = backend_choice();
  std::printf("Kiln %s; backend %s (%s)", version().c_str(), choice.name.c_str(),
              choice.reason.c_str());
  const runtime::ProbeReport report =
      runtime::probe_configured(runtime::open_plugin(choice.name, "kiln bench"));
  for (const std::string& detail : report.details) std::printf("; %s", detail.c_str());
  std::printf("\n");
}

}  // namespace kiln::bench
