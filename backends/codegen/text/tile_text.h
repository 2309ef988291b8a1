// Squares of points of two axes as text: accesses with neighbours along the rows pass through
// shared memory.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/text/point_text.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Writes the tiles of a schedule of the form Tile to `lines`. The surrounding function declares
/// the names of PointText, but for indices of axes.
class TileText {
 public:
  TileText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines);

  /// Declarations for the scope around the function: shared memory, named tile_memory().
  std::string shared() const;
  /// A loop over the tiles of the block. All threads reach its barriers equally often.
  void write();

 private:
  /// The axis along which the lanes of a warp have neighbouring points.
  enum class Lanes : std::uint8_t { TileAxis, LastAxis };

  void open_tiles();
  /// The thread's points of a tile; the caller closes the block.
  void open_turns(Lanes lanes);
  void load_tiled();
  void load_others();
  void compute();
  void store_tiled();
  /// The value in shared memory at the point of open_turns().
  std::string held(int access, Lanes lanes) const;
  bool is_tiled(int access) const;
  /// The loads of either kind, as expressions.
  std::vector<int> loads(bool are_tiled) const;
  const Stage& stage() const { return kernel_.stages[0]; }

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  TextLines& lines_;
  PointText point_;
  const std::vector<int> accesses_;
  const int rows_, turns_;  // of a block's threads; to go through a tile with them
};

/// The name of the shared memory of an access.
std::string tile_memory(const Kernel& kernel, int access);

}  // namespace kiln::codegen
