// The settings and limits of a process, as kiln doctor prints them.
#pragma once

#include "runtime/files/machine_limits.h"
#include "tools/environment/environment_page.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace kiln::tool {

struct KerasJsonReport {
  std::string path;    // empty without a home directory
  std::string damage;  // why it cannot be read; empty: it can
  bool found = false;
  std::vector<std::string> rejections;    // of single settings
  std::vector<std::string> unknown_keys;  // which are ignored
};

struct VariableReport {
  SetVariable variable;
  /// For a variable that the page does not list, and for one whose value cannot be used as a file
  /// or folder to write; else empty.
  std::string note;
};

struct ProcessReport {
  std::string version, library;
  unsigned threads = 0;
  std::string threads_origin;  // or the error, with 0 threads
  unsigned available_processors = 0;
  runtime::MachineProcessors processors;
  runtime::MachineMemory memory;
  KerasJsonReport keras_json;
  std::vector<VariableReport> variables;
};

/// Reads them. `backends`: the names of those beside the library, whose options are variables, too.
ProcessReport describe_process(const std::vector<std::string>& backends);

void print_process(const ProcessReport& report, std::ostream& out);

}  // namespace kiln::tool
