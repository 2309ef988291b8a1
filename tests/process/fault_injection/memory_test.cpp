// Tests memory exhaustion at any request of any scenario: the result is OutOfMemory or the right
// values, variables do not change on an error, and the same work succeeds afterwards.
#include "tests/support/catch.h"
#include "tests/process/fault_injection/scenario.h"

#include <iostream>

using namespace fault_injection;

namespace {

const char* name_of(Repeat repeat) { return repeat == Repeat::Once ? "once" : "from then on"; }

void try_all(const std::vector<Scenario>& scenarios, const std::string& backend, int samples) {
  for (const Repeat repeat : {Repeat::Once, Repeat::FromThenOn}) {
    std::int64_t tried = 0, threw = 0, in_libraries = 0;
    for (const Scenario& scenario : scenarios) {
      const Outcome outcome = outcome_of(scenario, backend, {.repeat = repeat, .samples = samples});
      INFO(scenario.name << " on " << backend << ", memory fails " << name_of(repeat));
      CHECK(outcome.threw > 0);
      for (const std::string& fault : outcome.faults) FAIL_CHECK(fault);
      tried += outcome.tried;
      threw += outcome.threw;
      in_libraries += outcome.in_libraries;
    }
    std::cout << scenarios.size() << " scenarios on " << backend << ", memory fails "
              << name_of(repeat) << ": " << tried << " tries, " << threw << " errors, "
              << in_libraries << " processes ended by oneDNN or the loader\n";
  }
}

}  // namespace

TEST_CASE("allocation failures: building a graph") {
  try_all(building_scenarios(), "reference", 0);
}
TEST_CASE("allocation failures: work on reference") {
  try_all(running_scenarios(), "reference", 0);
}
TEST_CASE("allocation failures: the first steps of a process", "[slow]") {
  try_all(process_scenarios(), "reference", 0);
}
TEST_CASE("allocation failures: work on cpu", "[slow]") { try_all(running_scenarios(), "cpu", 6); }
