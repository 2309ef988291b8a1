// Emits the form Points: vector loads and stores of consecutive points.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/grid/vector_access.h"
#include "backends/codegen/text/point_text.h"
#include "backends/codegen/text/turn_loads.h"
#include "backends/codegen/text/vector_memory.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Writes the loop over groups of a kernel with GridForm::Points to `lines`. The enclosing function
/// declares the names of PointText except indices and `out_of_range`, and
///   s64 thread  the number of the thread in the grid
///   s64 stride  the number of threads of the grid
///   s64 points  the number of points
class VectorText {
 public:
  VectorText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// The condition under which vectors are aligned and no group crosses a row; empty: always.
  std::string condition() const;
  /// Writes the loop over the complete groups of the thread.
  void write();

 private:
  void write_stage(const Stage& stage);
  void write_unrolled(const Stage& stage);
  void open_turn();
  void load(const Stage& stage);
  void compute(const Stage& stage);
  void write_elements(const Stage& stage);
  void write_vector(std::size_t store, const Store& stored);
  void open_group();
  void declare_out_of_range();

  bool is_vector(AccessId access) const { return turns_.is_vector(access); }
  /// The vector and uniform loads of the stage, which precede its other expressions, in order.
  std::vector<ExpressionId> early_loads(const Stage& stage) const;

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
  PointText point_;
  const VectorAccesses found_;
  const VectorMemory memory_;
  TurnLoads turns_;
  const bool checks_indices_;
};

}  // namespace kiln::codegen
