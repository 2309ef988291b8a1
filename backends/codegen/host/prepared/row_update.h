// A sparse ScatterSub with known sizes: result = x - rate * (sum of the updates of each row). The
// updates of a row are added in order of their positions and each row is written by one thread, so
// the result has the bits of the dense form, for any number of threads.
#pragma once

#include "backends/codegen/claims/library_claims.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace kiln::codegen {

/// The reason why the executor rejects the ScatterSub; empty: it runs it.
std::optional<std::string> rejection_of_row_update(const ir::Node& node);

/// The row and the position of an update.
struct RowEntry {
  std::int64_t row = 0, position = 0;
};

/// Pointers of one run. REQUIRES: `result` is `x` or overlaps no operand.
struct RowUpdateMemory {
  const std::byte* x = nullptr;
  const std::byte* rate = nullptr;
  const std::byte* indices = nullptr;
  const std::byte* updates = nullptr;
  std::byte* result = nullptr;
  RowEntry* entries = nullptr;  // scratch_bytes
};

/// A run calls sort(), then run() for each part in [0, parts(memory)),
/// in any order, on any thread. Immutable.
struct PreparedRowUpdate {
  DType dtype = DType::Float32;     // float32 or float64
  DType indices = DType::Int32;     // int32 or int64
  std::int64_t rows = 0, columns = 0;
  std::int64_t entries = 0;         // number of indices
  std::int64_t grain = 1;           // minimum of elements per part

  /// Whether rows have elements; otherwise no index is read.
  bool has_work() const { return columns > 0; }
  std::int64_t scratch_bytes() const;
  /// Sorts the entries by row, then by position (a stable radix sort), in O(entries). Returns the
  /// first index that is out of range, if there is one.
  std::optional<std::int64_t> sort(const RowUpdateMemory& memory) const;
  /// The number of parts. Rows without entries are skipped if the result is x and rate * 0 is +0.
  std::int64_t parts(const RowUpdateMemory& memory) const;
  /// REQUIRES: sort() found all indices in range.
  void run(std::int64_t part, const RowUpdateMemory& memory) const;
};

}  // namespace kiln::codegen
