// Tests the times of compilations: sums of all laps, and a bounded number of laps for traces.
#include "tests/support/catch.h"
#include "tests/support/has.h"

#include "backends/codegen/inspect/compile_times.h"

#include <string>

using kiln::codegen::CompileTimes;
using kiln::testing::has;

TEST_CASE("compile times: laps of many threads cost bounded memory") {
  CompileTimes whole;
  for (int thread = 0; thread < 20; ++thread) {
    CompileTimes part;
    for (int i = 0; i < 1000; ++i) part.lap("code generation");
    part.lap("linking " + std::to_string(thread));
    whole.add_parts(part);
  }
  whole.lap("waiting");
  int laps = 0;
  whole.for_each_lap([&](const CompileTimes::Lap&) { ++laps; });
  CHECK(laps == 4096 + 1);
  const std::string table = whole.print();
  CHECK(has(table, "  code generation\n"));
  for (int thread = 0; thread < 20; ++thread) {
    CHECK(has(table, "  linking " + std::to_string(thread) + "\n"));
  }
}
