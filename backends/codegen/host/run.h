// Running a bound plan: steps in order over one arena, no allocation and no lookup on the way.
#pragma once

#include "backends/codegen/host/run_context.h"
#include "backends/codegen/host/tape.h"

#include <cstdlib>
#include <memory>

namespace kiln::codegen {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Memory for one call at a time, and the tape over it. Made once, reused by later calls.
struct Frame {
  /// Throws sdk::Failure when there is no memory.
  explicit Frame(const BoundPlan& plan);

  std::unique_ptr<std::byte, FreeMemory> arena, packed;
  Tape top;
  std::vector<std::uint64_t> packed_versions;  // of the slots that are packed, see Tape
  std::vector<std::uint64_t> kept_versions;    // of BoundPlan::kept_arguments in the last run
  std::uint64_t kept_runs = 0;                 // how often the kept steps ran
};

/// REQUIRES: arguments and results of `frame.top` are placed. Throws sdk::Failure.
void run_plan(Frame& frame, const RunContext& context);

}  // namespace kiln::codegen
