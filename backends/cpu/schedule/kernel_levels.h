// Finds the loop level of each expression of a kernel (the innermost loop that it depends on), for
// loop-invariant code motion, and the stages that may share a loop.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <optional>

namespace kiln::cpu {

using codegen::AccessId, codegen::ExpressionId, codegen::OperandId, codegen::StageId;
using StageGroup = IdRange<StageId>;

class KernelLevels {
 public:
  explicit KernelLevels(const codegen::Kernel& kernel);

  /// The loop level: 0 before all loops, axis + 1 in the loop of that axis.
  int level(ExpressionId expression) const { return level_[expression]; }
  bool varies_along(const codegen::Access& access) const;
  /// Whether the extents of axes prove that an int64 expression is in [0, 2^32).
  bool is_narrow(ExpressionId expression) const;
  /// The expressions that all stages need, or those of a group; arguments come first.
  const std::vector<ExpressionId>& needed_everywhere() const { return everywhere_; }
  std::vector<ExpressionId> needed_by(StageGroup group) const;
  /// Groups consecutive stages that have the same points and need no result of one another: each
  /// group shares one loop and its loads.
  std::vector<StageGroup> groups() const;

 private:
  int level_of(const codegen::Expression& expression) const;
  /// The largest value of a sum or product of indices and constants; none where it is unknown or
  /// not below 2^32.
  std::optional<std::uint64_t> largest(ExpressionId expression) const;
  int level_of(const codegen::Access& access) const;
  std::vector<ExpressionId> needed(const std::vector<ExpressionId>& roots) const;
  void add_roots(const codegen::Stage& stage, std::vector<ExpressionId>& roots) const;
  /// Whether stage `group.last` may join the loop of the group.
  bool fits(StageGroup group) const;
  /// Whether stage `group.last` accesses an operand that the group writes.
  bool accesses_written(StageGroup group, const std::vector<ExpressionId>& needed) const;

  const codegen::Kernel& kernel_;
  IdVector<ExpressionId, int> level_;
  std::vector<ExpressionId> everywhere_;
};

}  // namespace kiln::cpu
