// Emits the form Tile: square tiles of two axes whose transposed
// accesses are staged in shared memory.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/text/point_text.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Writes the body of a kernel with GridForm::Tile to `lines`. The enclosing function declares the
/// names of PointText except indices.
class TileText {
 public:
  TileText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// Declarations of shared memory, named tile_memory(), for the scope around the function.
  std::string shared() const;
  /// Writes the loop over the tiles of the block. All threads reach its barriers equally often.
  void write();

 private:
  /// The axis along which the lanes of a warp have consecutive points.
  enum class Lanes : std::uint8_t { TileAxis, LastAxis };

  void open_tiles();
  /// Opens the loop over the thread's points of a tile; the caller closes it.
  void open_turns(Lanes lanes);
  void load_tiled();
  void load_others();
  void compute();
  void store_tiled();
  /// The element in shared memory for the point of open_turns().
  std::string shared_element(AccessId access, Lanes lanes) const;
  bool is_tiled(AccessId access) const;
  /// The expressions of loads that are tiled, or are not.
  std::vector<ExpressionId> loads(bool are_tiled) const;
  const Stage& stage() const { return kernel_.stages.front(); }

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
  PointText point_;
  const std::vector<AccessId> accesses_;
  const int rows_, turns_;  // rows of a tile that the threads cover at a time; iterations per tile
};

/// The name of the shared memory of an access.
std::string tile_memory(const Kernel& kernel, AccessId access);

}  // namespace kiln::codegen
