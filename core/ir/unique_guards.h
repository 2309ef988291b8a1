// UniqueGuards: guards in order, each once, found by hash.
#pragma once

#include "core/ir/guard.h"

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln::ir {

class UniqueGuards {
 public:
  UniqueGuards() = default;
  /// Keeps all of `guards`, equal ones too.
  explicit UniqueGuards(std::vector<Guard> guards);

  /// Appends the guard unless an equal one is there.
  void add(const Guard& guard);
  std::vector<Guard> take() && { return std::move(guards_); }

 private:
  std::vector<Guard> guards_;
  std::unordered_multimap<std::size_t, std::size_t> positions_;  // in guards_, by hash
};

/// Appends those guards of `more` that are not in `guards` yet. Linear in both.
void add_guards(std::vector<Guard>& guards, const std::vector<Guard>& more);

}  // namespace kiln::ir
