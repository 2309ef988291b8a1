// Radix-sorts the indices, then writes rows in ascending order, each by one part.
#include "backends/codegen/host/prepared/row_update.h"

#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace kiln::codegen {
namespace {

constexpr bool is_supported(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64;
}

constexpr int kDigitBits = 11;
constexpr std::int64_t kDigits = std::int64_t{1} << kDigitBits;
constexpr std::int64_t kBlock = 32;       // columns that are computed together
constexpr std::int64_t kPrefetchDistance = 8;    // entries
constexpr std::int64_t kLine = 64;               // bytes of a cache line
constexpr std::int64_t kMaxPrefetched = 1024;    // bytes of a row

/// Fills the entries; returns the first index that is out of range.
template <class Index>
std::optional<std::int64_t> read_indices(const Index* indices, std::int64_t rows,
                                         std::int64_t count, RowEntry* entries) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = indices[i];
    if (row < 0 || row >= rows) return row;
    entries[i] = {row, i};
  }
  return std::nullopt;
}

/// Stable counting sort of `from` into `to` by the digit of the row at `shift`.
void sort_by_digit(const RowEntry* from, RowEntry* to, std::int64_t count, int shift) {
  const auto digit = [&](const RowEntry& entry) { return at(entry.row >> shift & (kDigits - 1)); };
  std::array<std::int64_t, kDigits> next{};
  for (std::int64_t i = 0; i < count; ++i) ++next[digit(from[i])];
  std::int64_t begin = 0;
  for (std::int64_t& one : next) begin += std::exchange(one, begin);
  for (std::int64_t i = 0; i < count; ++i) to[next[digit(from[i])]++] = from[i];
}

/// The number of passes of sort_by_digit.
int passes_of(std::int64_t rows) {
  const int bits = std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(rows - 1, 1)));
  return (bits + kDigitBits - 1) / kDigitBits;
}

/// Whether rate * 0 is +0, so that x - rate * 0 is x (for a NaN, some NaN).
template <class T>
bool keeps_rows(const std::byte* rate) {
  T value;
  std::memcpy(&value, rate, sizeof(T));
  return std::isfinite(value) && !std::signbit(value);
}

bool keeps_rows(DType dtype, const std::byte* rate) {
  return dtype == DType::Float64 ? keeps_rows<double>(rate) : keeps_rows<float>(rate);
}

/// Always inlined: GCC removes calls of functions that only prefetch.
[[gnu::always_inline]] inline void prefetch(const std::byte* row, std::int64_t bytes) {
  for (std::int64_t i = 0; i < std::min(bytes, kMaxPrefetched); i += kLine) {
    __builtin_prefetch(row + i);
  }
}

/// Writes the rows of one part.
template <class T>
class RowWriter {
 public:
  RowWriter(const PreparedRowUpdate& sizes, const RowUpdateMemory& memory)
      : sizes_(sizes),
        x_(reinterpret_cast<const T*>(memory.x)),
        updates_(reinterpret_cast<const T*>(memory.updates)),
        result_(reinterpret_cast<T*>(memory.result)),
        begin_(memory.entries),
        end_(memory.entries + sizes.entries),
        keeps_rows_(keeps_rows<T>(memory.rate)) {
    std::memcpy(&rate_, memory.rate, sizeof(T));
  }

  /// Writes the rows whose first entry is in [first, last).
  void write_entries(std::int64_t first, std::int64_t last) const {
    const RowEntry* const stop = group_begin(begin_ + last);
    const RowEntry* entry = group_begin(begin_ + first);
    while (entry < stop) entry = write_row(entry->row, entry);
  }

  /// Writes rows [first, last).
  void write_rows(std::int64_t first, std::int64_t last) const {
    const RowEntry* entry = std::lower_bound(
        begin_, end_, first, [](const RowEntry& one, std::int64_t row) { return one.row < row; });
    for (std::int64_t row = first; row < last; ++row) {
      if (keeps_rows_ && (entry == end_ || entry->row != row)) {
        copy_row(row);
      } else {
        entry = write_row(row, entry);
      }
    }
  }

 private:
  /// The first entry at or after `entry` that begins a row.
  const RowEntry* group_begin(const RowEntry* entry) const {
    while (entry > begin_ && entry < end_ && entry->row == (entry - 1)->row) ++entry;
    return entry;
  }

  void copy_row(std::int64_t row) const {
    if (result_ == x_) return;
    std::memcpy(result_ + row * sizes_.columns, x_ + row * sizes_.columns,
                at(sizes_.columns) * sizeof(T));
  }

  /// Writes the row whose entries, if any, begin at `entry`. Returns the end of its entries.
  const RowEntry* write_row(std::int64_t row, const RowEntry* entry) const {
    const RowEntry* end = entry;
    for (; end < end_ && end->row == row; ++end) prefetch_after(end);
    std::int64_t column = 0;
    for (; column + kBlock <= sizes_.columns; column += kBlock) {
      write_block(row, column, kBlock, entry, end);
    }
    if (column < sizes_.columns) write_block(row, column, sizes_.columns - column, entry, end);
    return end;
  }

  void prefetch_after(const RowEntry* entry) const {
    if (end_ - entry <= kPrefetchDistance) return;
    const auto bytes = sizes_.columns * static_cast<std::int64_t>(sizeof(T));
    const RowEntry& later = entry[kPrefetchDistance];
    prefetch(reinterpret_cast<const std::byte*>(x_) + later.row * bytes, bytes);
    prefetch(reinterpret_cast<const std::byte*>(updates_) + later.position * bytes, bytes);
  }

  /// Inlined with a constant count, so that loops over whole blocks are vectorised.
  [[gnu::always_inline]] inline void write_block(std::int64_t row, std::int64_t column,
                                                 std::int64_t count, const RowEntry* entry,
                                                 const RowEntry* end) const {
    T sums[kBlock] = {}, values[kBlock];
    for (; entry < end; ++entry) {
      std::memcpy(values, updates_ + entry->position * sizes_.columns + column,
                  at(count) * sizeof(T));
      for (std::int64_t i = 0; i < count; ++i) sums[i] += values[i];
    }
    const std::int64_t offset = row * sizes_.columns + column;
    std::memcpy(values, x_ + offset, at(count) * sizeof(T));
    for (std::int64_t i = 0; i < count; ++i) values[i] -= rate_ * sums[i];
    std::memcpy(result_ + offset, values, at(count) * sizeof(T));
  }

  const PreparedRowUpdate& sizes_;
  const T* x_;
  const T* updates_;
  T* result_;
  const RowEntry* begin_;
  const RowEntry* end_;
  T rate_ = 0;
  bool keeps_rows_;
};

bool writes_all_rows(const PreparedRowUpdate& sizes, const RowUpdateMemory& memory) {
  return memory.result != memory.x || !keeps_rows(sizes.dtype, memory.rate);
}

/// Rows or entries of a part.
std::int64_t part_size(const PreparedRowUpdate& sizes) {
  return std::max<std::int64_t>(sizes.grain / sizes.columns, 1);
}

template <class T>
void run_part(const PreparedRowUpdate& sizes, std::int64_t part, const RowUpdateMemory& memory) {
  const RowWriter<T> writer(sizes, memory);
  const std::int64_t size = part_size(sizes), first = part * size;
  if (writes_all_rows(sizes, memory)) {
    return writer.write_rows(first, std::min(first + size, sizes.rows));
  }
  writer.write_entries(first, std::min(first + size, sizes.entries));
}

}  // namespace

std::optional<std::string> rejection_of_row_update(const ir::Node& node) {
  const DType dtype = node.types[0].dtype, indices = node.operands[2].dtype();
  if (!is_supported(dtype)) return text("no row updates of ", dtype);
  if (indices != DType::Int32 && indices != DType::Int64) {
    return text("no row updates with indices of ", indices);
  }
  return std::nullopt;
}

std::int64_t PreparedRowUpdate::scratch_bytes() const {
  return 2 * entries * static_cast<std::int64_t>(sizeof(RowEntry));
}

std::optional<std::int64_t> PreparedRowUpdate::sort(const RowUpdateMemory& memory) const {
  // The passes alternate between the halves of the scratch and end in the first one.
  const int passes = passes_of(rows);
  RowEntry* from = memory.entries + (passes % 2 == 0 ? 0 : entries);
  RowEntry* to = memory.entries + (passes % 2 == 0 ? entries : 0);
  const auto out_of_range =
      indices == DType::Int64
          ? read_indices(reinterpret_cast<const std::int64_t*>(memory.indices), rows, entries, from)
          : read_indices(reinterpret_cast<const std::int32_t*>(memory.indices), rows, entries,
                         from);
  if (out_of_range) return out_of_range;
  for (int pass = 0; pass < passes; ++pass) {
    sort_by_digit(from, to, entries, pass * kDigitBits);
    std::swap(from, to);
  }
  return std::nullopt;
}

std::int64_t PreparedRowUpdate::parts(const RowUpdateMemory& memory) const {
  const std::int64_t count = writes_all_rows(*this, memory) ? rows : entries;
  const std::int64_t size = part_size(*this);
  return (count + size - 1) / size;
}

void PreparedRowUpdate::run(std::int64_t part, const RowUpdateMemory& memory) const {
  if (dtype == DType::Float64) return run_part<double>(*this, part, memory);
  run_part<float>(*this, part, memory);
}

}  // namespace kiln::codegen
