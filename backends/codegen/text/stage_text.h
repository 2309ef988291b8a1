// Emits the stages of a kernel at one outer point, for one thread.
#pragma once

#include "backends/codegen/kernel/kernel.h"
#include "backends/codegen/text/point_text.h"

#include <string>

namespace kiln::codegen {

/// Writes stages to `lines`. The enclosing function declares the names of PointText except the
/// indices of inner axes and the results of stages.
class StageText {
 public:
  StageText(const Kernel& kernel, TextLines& lines)
      : kernel_(kernel), lines_(lines), point_(kernel, lines) {}

  /// Writes a stage with the loops over the inner axes; its result is `r<stage>`.
  void write(StageId stage);
  /// Opens a loop over the indices [begin, end) of an axis; the caller closes it.
  void open_loop(int axis, const std::string& begin, const std::string& end);
  /// A size as an expression of type s64.
  std::string size(const ir::Dim& dim) const;

 private:
  void declare_result(StageId id, const Stage& stage);
  void combine(StageId id, const Stage& stage);

  const Kernel& kernel_;
  TextLines& lines_;
  PointText point_;
};

}  // namespace kiln::codegen
