// Runs a list of passes: skips disabled ones, times, verifies and reports each.
#pragma once

#include <kiln/error.h>

#include "core/types/text.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>

namespace kiln::rewrite {

/// Statistics of one run of a pass.
struct PassRun {
  std::size_t position;  // in the list, from 0
  bool changed;
  double seconds;
};

/// Returns apply(pass). A std::logic_error, of an assumption that does not hold, becomes an
/// InternalError that names the pass; std::length_error means memory and stays.
template <class Pass, class Apply>
bool apply_pass(const Pass& pass, const Apply& apply) {
  try {
    return apply(pass);
  } catch (const std::length_error&) {
    throw;
  } catch (const std::logic_error& error) {
    throw InternalError(
        "function", "",
        text("pass ", pass.name, " failed: ", error.what(), "; please report this"));
  }
}

/// Runs the passes of `list` in order, except those whose name is in `disabled`. `apply(pass)` runs
/// one and returns whether it changed the graph; if so, `verify(pass)` checks the graph and throws
/// InternalError; `report(pass, PassRun)` is called last.
template <class List, class Apply, class Verify, class Report>
void run_passes(const List& list, std::span<const std::string> disabled, const Apply& apply,
                const Verify& verify, const Report& report) {
  using Clock = std::chrono::steady_clock;
  std::size_t position = 0;
  for (const auto& pass : list) {
    const std::size_t current = position++;
    if (std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end()) continue;
    const Clock::time_point start = Clock::now();
    const bool changed = apply_pass(pass, apply);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (changed) verify(pass);
    report(pass, PassRun{.position = current, .changed = changed, .seconds = seconds});
  }
}

}  // namespace kiln::rewrite
