// In which loop each expression of a kernel belongs, and which of them differ between lanes.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <optional>

namespace kiln::cpu {

/// Stages [first, last).
struct StageGroup {
  std::size_t first = 0, last = 0;
};

class KernelLevels {
 public:
  explicit KernelLevels(const codegen::Kernel& kernel);

  /// 0: before all loops; axis + 1: in the loop of that axis.
  int level(int expression) const { return level_[static_cast<std::size_t>(expression)]; }
  bool varies_along(const codegen::Access& access) const;
  /// Whether the int64 expression is from 0 to below 2^32, by the extents of axes.
  bool is_narrow(int expression) const;
  /// What all stages need, or those of a group; arguments come first.
  const std::vector<int>& needed_everywhere() const { return everywhere_; }
  std::vector<int> needed_by(StageGroup group) const;
  /// Neighbouring stages that go over the same points and do not wait for each other: they share
  /// one loop, and what they read.
  std::vector<StageGroup> groups() const;

 private:
  int level_of(const codegen::Expression& expression) const;
  /// The largest value of sums and products of indices and constants; none where it is not known or
  /// not below 2^32.
  std::optional<std::uint64_t> largest(int expression) const;
  int level_of(const codegen::Access& access) const;
  std::vector<int> needed(const std::vector<int>& roots) const;
  void add_roots(const codegen::Stage& stage, std::vector<int>& roots) const;
  /// Whether stage `group.last` can be done in the loop of the group.
  bool fits(StageGroup group) const;
  bool touches_written(StageGroup group, const std::vector<int>& needed) const;

  const codegen::Kernel& kernel_;
  std::vector<int> level_, everywhere_;
};

}  // namespace kiln::cpu
