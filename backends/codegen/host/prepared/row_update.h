// A ScatterSub with known sizes. The result has the bits of the dense form, which adds up the
// updates of each row in order of their positions and subtracts rate * sum from every row.
#pragma once

#include "backends/codegen/claims/library_claims.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace kiln::codegen {

/// Why the executor does not run the ScatterSub; empty: it does.
std::optional<std::string> rejection_of_row_update(const ir::Node& node);

/// An update and the row that it is for.
struct RowEntry {
  std::int64_t row = 0, position = 0;
};

/// Pointers of one run. `result` is either `x` or apart from all operands.
struct RowUpdateMemory {
  const std::byte* x = nullptr;
  const std::byte* rate = nullptr;
  const std::byte* indices = nullptr;
  const std::byte* updates = nullptr;
  std::byte* result = nullptr;
  RowEntry* entries = nullptr;  // scratch_bytes
};

/// A run is sort, then each part of parts(memory) once, in any order, on any thread. Immutable.
struct PreparedRowUpdate {
  DType dtype = DType::Float32;     // float32 or float64
  DType indices = DType::Int32;     // int32 or int64
  std::int64_t rows = 0, columns = 0;
  std::int64_t entries = 0;         // indices
  std::int64_t grain = 1;           // elements of a part, at least

  /// Whether a row has elements; without, no index is read.
  bool has_work() const { return columns > 0; }
  std::int64_t scratch_bytes() const;
  /// Sorts the entries by row, those of a row by position: O(entries). Returns the first index that
  /// is outside of the rows, if there is one.
  std::optional<std::int64_t> sort(const RowUpdateMemory& memory) const;
  /// Only rows with entries are written where the result is x and rate * 0 is +0.
  std::int64_t parts(const RowUpdateMemory& memory) const;
  /// REQUIRES: sort found no index outside.
  void run(std::int64_t part, const RowUpdateMemory& memory) const;
};

}  // namespace kiln::codegen
