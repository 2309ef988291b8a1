// Groups of neighbouring points as text: vectors of their elements are loaded and stored at once.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/grid/vector_access.h"
#include "backends/codegen/text/point_text.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Functions that groups call: loads and stores of vectors.
const char* vector_functions();

/// Writes the groups of a schedule of the form Points to `lines`. The surrounding function declares
/// the names of PointText, but for indices of axes and `fault`, and
///   s64 thread, stride  the number of the thread in the grid, and that of all threads
///   s64 points          the number of points
class VectorText {
 public:
  VectorText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// The condition under which vectors are aligned and no group is part of two rows; empty: always.
  std::string condition() const;
  /// A loop over the whole groups of the thread.
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
  void write_fault();

  bool is_vector(int access) const { return found_.is_vector[static_cast<std::size_t>(access)]; }
  /// The loads of the stage that come before its other values, in order.
  std::vector<int> early_loads(const Stage& stage) const;
  std::string vector_type(DType dtype) const;
  /// REQUIRES: the surrounding text has checked the access's condition.
  std::string vector_load(int access) const;

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
  PointText point_;
  const VectorAccesses found_;
  const bool has_faults_;
};

}  // namespace kiln::codegen
