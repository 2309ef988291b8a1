// A rank whose call fails.
#pragma once

#include "tests/distributed/collectives/session_ranks.h"

#include <functional>
#include <span>

namespace kiln::testing {

inline constexpr std::int64_t kFailing = 1;  // the rank

/// One training step that looks up a row of x before, between or after its collectives.
struct FailingStep {
  Tensor w = variable({0., 0.}, {.name = "w", .per_rank = true});
  Tensor x = placeholder({.shape = {3, 2}, .name = "x"});
  Tensor before = placeholder({.shape = {}, .dtype = "int32"});
  Tensor between = placeholder({.shape = {}, .dtype = "int32"});
  Tensor after = placeholder({.shape = {}, .dtype = "int32"});
  Function function;

  explicit FailingStep(const char* backend);
  std::vector<Array> inputs(int before_index, int between_index, int after_index) const;
};

/// Calls `step` rightly, and checks its results and w after `calls` such calls.
void expect_right_call(Faults& faults, const FailingStep& step, int calls,
                       const distributed::Group& world);

/// Expects that the call throws an error that begins so on the failing rank, and on the others one
/// with its text.
void expect_failure(Faults& faults, const std::string& own, const std::function<void()>& call,
                    const distributed::Group& world);

/// Calls with an index out of range before, between and after the collectives, on each of the
/// backends. Returns the ends of ranks that found another error or another value.
std::string run_failing_indices(const fake::Settings& settings,
                                std::span<const char* const> backends);

/// The same with NaN where numbers are checked, before the collectives and between them.
std::string run_failing_checks(const fake::Settings& settings,
                               std::span<const char* const> backends);

}  // namespace kiln::testing
