// Tests file operations that fail at any point of a scenario.
#include "tests/support/catch.h"
#include "tests/process/fault_injection/scenario.h"

#include <iostream>

using namespace fault_injection;

TEST_CASE("file operations: failures at any point of a scenario") {
  struct Row {
    const char* name;
    FileFault fault;
    bool may_throw;
  };
  const std::vector<Row> rows{{"EIO", FileFault::Eio, true},
                              {"ENOSPC", FileFault::Enospc, true},
                              {"EINTR", FileFault::Eintr, true},
                              {"a part of the bytes", FileFault::Short, false}};
  for (const Row& row : rows) {
    std::int64_t tried = 0, threw = 0;
    for (const Scenario& scenario : file_scenarios()) {
      const Outcome outcome =
          outcome_of(scenario, "reference", {.requests = Requests::Files, .fault = row.fault});
      INFO(scenario.name << ", operations fail with " << row.name);
      CHECK(outcome.tried > 0);
      if (!row.may_throw) CHECK(outcome.threw == 0);
      for (const std::string& fault : outcome.faults) FAIL_CHECK(fault);
      tried += outcome.tried;
      threw += outcome.threw;
    }
    std::cout << file_scenarios().size() << " scenarios, file operations fail with " << row.name
              << ": " << tried << " tries, " << threw << " errors\n";
  }
}
