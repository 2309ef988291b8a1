// Scenarios are uses of Kiln's public API, tried repeatedly while one of their system requests
// fails. Each try must end with the right values or with a kiln::Error; then no variable has
// changed, and the same work succeeds.
#pragma once

#include "tests/process/fault_injection/injector.h"

#include <kiln/k.h>

#include <functional>
#include <string>
#include <vector>

namespace fault_injection {

/// The results of a scenario. Arrays and text are compared bit for bit.
struct Values {
  std::vector<kiln::Array> arrays = {};
  std::string text = {};
};

/// A prepared scenario: requests of the preparation do not fail.
struct Prepared {
  std::function<Values()> run;
  std::vector<kiln::Tensor> variables = {};  // as before after a run that threw
  /// After any run, "" or what is wrong with its files. `failed`: the run threw.
  std::function<std::string(bool failed)> check_files = {};
};

struct Setup {
  std::string backend;
  std::string folder;  // private to one try; empty at its start
};

struct Scenario {
  const char* name;
  std::function<Prepared(const Setup&)> prepare;
  bool cold = false;  // needs a process that has not used Kiln yet
};

/// Scenarios for failing allocations: those that compile or call run on both backends.
const std::vector<Scenario>& building_scenarios();
const std::vector<Scenario>& running_scenarios();
const std::vector<Scenario>& process_scenarios();
/// Scenarios for failing file operations: each writes or reads files.
const std::vector<Scenario>& file_scenarios();

/// Which requests fail: every one in turn, or `samples` of them spread over all.
struct Plan {
  Requests requests = Requests::Memory;
  Repeat repeat = Repeat::Once;
  FileFault fault = FileFault::Eio;
  int samples = 0;  // 0: all
};

struct Outcome {
  std::int64_t tried = 0, threw = 0, unnoticed = 0;  // unnoticed: right values nevertheless
  std::int64_t in_libraries = 0;  // processes that LLVM or oneDNN ended
  std::int64_t in_program = 0;    // memory of this program's own code, which gets std::bad_alloc
  std::vector<std::string> faults;  // of Kiln, with the stack of the request that failed
};

/// Runs the scenario in child processes. REQUIRES: this process has not used Kiln.
Outcome outcome_of(const Scenario& scenario, const std::string& backend, const Plan& plan);

}  // namespace fault_injection
