// The runner of a list of passes: it leaves out, times, verifies and reports each.
#pragma once

#include <algorithm>
#include <chrono>
#include <span>
#include <string>

namespace kiln::rewrite {

/// One run of a pass of a list.
struct PassRun {
  std::size_t position;  // in the list, from 0
  bool changed;
  double seconds;
};

/// For each pass of `list`, in order, whose name is not among `disabled`: `apply(pass)` runs it and
/// says whether it changed anything; `verify(pass)` throws InternalError when that left what is no
/// longer sound, and is called only after a change; `report(pass, PassRun)` is called at the end.
template <class List, class Apply, class Verify, class Report>
void run_passes(const List& list, std::span<const std::string> disabled, const Apply& apply,
                const Verify& verify, const Report& report) {
  using Clock = std::chrono::steady_clock;
  std::size_t position = 0;
  for (const auto& pass : list) {
    const std::size_t own = position++;
    if (std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end()) continue;
    const Clock::time_point start = Clock::now();
    const bool changed = apply(pass);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (changed) verify(pass);
    report(pass, PassRun{own, changed, seconds});
  }
}

}  // namespace kiln::rewrite
