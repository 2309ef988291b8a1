// kiln doctor: the process's settings, the backends that are found, and why one cannot be used.
#pragma once

#include "tools/kiln/process_report.h"

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

namespace kiln::tool {

struct BackendReport {
  std::string name;
  /// "usable"; "limited: <reason>" where an instance starts but runs no programs, so that `auto`
  /// does not choose it; "not usable: <reason>", with the reason of the probe or, where it gives
  /// none, the error of the instance.
  std::string verdict;
  std::vector<std::string> lines;  // path, version, options and the details of the plugin's probe
};

struct DoctorReport {
  ProcessReport process;
  std::vector<std::string> group = {};  // probe_group(), or why its process ended without an answer
  std::vector<BackendReport> backends = {};
  std::vector<std::string> notes = {};  // settings of keras.json for no backend
  std::string selected = {}, reason = {};  // the backend in use and why; empty if none is found
  std::string failure = {};  // why the selected backend cannot be used; empty: it can
};

/// Reads the settings of the process and starts an instance of each backend beside the library with
/// the options in force, and so its device.
///
/// Opens each plugin in a process of its own (doctor_process.h), since the constructors of a plugin
/// and of its libraries may end the process or never return. A backend whose process crashes, exits
/// or takes longer than `limit` is "not usable", with the last library that was opened.
DoctorReport examine_all(std::chrono::milliseconds limit);

/// Prints each part as soon as it is known. Returns whether the selected backend can be used.
bool print_all(std::ostream& out, std::chrono::milliseconds limit);

/// Writes the report as a JSON object; bytes that are not UTF-8 are escaped as \xNN.
void write_json(const DoctorReport& report, std::ostream& out);

}  // namespace kiln::tool
