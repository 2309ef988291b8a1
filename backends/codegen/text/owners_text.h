// Emits the form Owners: scatter-add without atomics (grid/owners.h).
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/text/point_text.h"

#include <string>

namespace kiln::codegen {

/// Writes the body of a kernel with GridForm::Owners to `lines`. The enclosing function declares
/// the names of PointText except indices, and `points`, `step` and `call`. All threads of a block
/// reach each barrier equally often.
class OwnersText {
 public:
  OwnersText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// Declarations of shared memory for the scope around the function.
  std::string shared() const;
  void write();

 private:
  void open_unit();
  void declare_element();
  /// Declares `owned`: the index at each of the thread's points of the chunk, relative to the
  /// unit's first value; -1: outside of the unit's range, or the guard is false.
  void evaluate_indices();
  void record_out_of_range();
  /// Writes `owned` and its ballots to shared memory.
  void share_indices();
  /// Adds the values of the chunk's points that this team owns, in order.
  void add_points();
  void open_points();
  void write_addition();
  void declare_next();
  void declare_value();
  void write_inner_digits(const std::string& point);
  std::string owned() const;
  std::string ballots() const;

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
  PointText point_;
  const Store store_;
  const Access access_;
  const DType dtype_;
  const int chunk_, word_;  // index points of a chunk, and of a ballot
  const bool checks_loads_;  // a load has a dynamic index
};

}  // namespace kiln::codegen
