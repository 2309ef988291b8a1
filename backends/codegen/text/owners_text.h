// Additions at a dynamic index as text for blocks that own values of the index.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/text/point_text.h"

#include <string>

namespace kiln::codegen {

/// Writes the body of a kernel with the schedule GridForm::Owners to `lines`. The surrounding
/// function declares the names of PointText, but for indices, and `points`, `step` and `call`. All
/// threads of a block reach each barrier equally often.
class OwnersText {
 public:
  OwnersText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// Declarations for the scope around the function: shared memory.
  std::string shared() const;
  void write();

 private:
  void open_unit();
  void declare_element();
  /// Declares `owned`: the index at each of the thread's points of the chunk, counted from the
  /// unit's first value; -1 outside of the unit's range and where the guard is false.
  void evaluate_indices();
  void note_fault();
  /// Writes `owned` and its ballots to shared memory.
  void share_indices();
  /// Adds at the chunk's points of this team, in order.
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
  const bool has_faults_;   // a load has a dynamic index
};

}  // namespace kiln::codegen
