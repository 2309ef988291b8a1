// The CPU that kernels are scheduled for: its ISA, and the table of numbers that tune schedules.
#pragma once

#include "backends/cpu/schedule/target.h"

#include <cstdint>
#include <string_view>

namespace kiln::cpu {

/// A number of the table, with the measurement or the reason behind it.
struct TunedNumber {
  std::int64_t value = 0;
  std::string_view reason;

  constexpr operator std::int64_t() const { return value; }
};

/// The table. Rows change speed only, never the bits of a result, except for sum_part and, by the
/// number of accumulators of a sum, many_expressions. A row is added or changed only with a
/// measurement. ms: milliseconds.
struct CpuTuning {
  TunedNumber sum_part{
      256,
      "terms of a part of a blocked float32 sum, about, so that the rounding error "
      "grows slowly with the number of terms; sums below two parts are whole"};

  // Rows shorter than a register.
  TunedNumber max_block_vectors{
      8,
      "vectors of a row block: code is emitted once for each of them; Zen 5, one core, 2^22 floats "
      "in rows of 3: x + b 0.49 ms, with a masked vector per row 2.7"};
  TunedNumber max_block_expressions{128, "expressions of a kernel, times vectors of a block"};
  TunedNumber max_short_row{8,
                            "elements at the distance of which lanes read shuffled vectors; sums "
                            "of 2^21 rows of 2 0.32 ms, with gathers 10"};

  // Caches.
  TunedNumber line_bytes{64, "x86-64"};
  TunedNumber l1_bytes{32 << 10, "the smallest L1 data cache of processors with AVX2"};
  TunedNumber l2_bytes{1 << 20, "L2 cache of Zen 4 and Zen 5"};

  // Vectors of an iteration.
  TunedNumber many_points{1 << 18,
                          "points from which speed matters more than the time to compile: code "
                          "generation of MobileNetV2's first step takes 145 ms, with up to four "
                          "vectors for fewer points, too, 195"};
  TunedNumber many_expressions{48, "more expressions leave registers for fewer vectors"};
  TunedNumber min_steps{16,
                        "iterations of a loop whose last one is several vectors under a mask, at "
                        "least: that one wastes at most 1/16"};

  // Tiles of transposed operands.
  TunedNumber whole_line_tiles{4,
                               "adjacent tiles in a block if a row of a tile is a whole line: "
                               "consecutive stores stay in a page for longer"};
  TunedNumber max_partial_rows{16,
                               "rows of a block if lines are not written whole: more of them, at a "
                               "stride of a power of two, evict each other from the L1 cache"};
  TunedNumber tiles_ahead{2, "the second next tile along the vector axis is prefetched"};
  TunedNumber min_prefetched_tile_bytes{
      8 << 20,
      "operands that are prefetched; Zen 5, one core: axes of 32 x 56 x 56 x 64 0.73 ms, without "
      "1.4 to 1.9; 4096 x 4096 4.5 / 7.3; 5 x 56 x 56 x 64 would take 1.03 times as long, 1 x 28 x "
      "28 x 64 1.18 times; tiles widened to a line: 32 x 56 x 56 x 64 with AVX2 0.94 to 1.04 ms "
      "instead of 2.7 to 4.3, 4096 x 4096 4.3 / 7.7"};

  // Streaming stores.
  TunedNumber stream_bytes{
      15 << 20,
      "results; with the operands they then fill an L3 cache of 32 MiB; Zen 5, one core: "
      "layer norm of 8192 x 1024 and its gradients 4.1 ms, with plain stores 6.1. Not half of the "
      "size that the machine reports: a guest on Sapphire Rapids sees 260 MiB, which others share; "
      "layer norm 7.6 ms, with 130 MiB here 12.1; batch norm 8.1 / 11.4, outer product 3.0 / 9.5"};
  TunedNumber stream_tiled_bytes{
      8 << 20,
      "results written in tiles: their stores alternate between many pages, and the loads of the "
      "lines that plain stores overwrite cost more than the caches save; 2000 x 2000 0.40 ms, "
      "plain 1.46; axes of 16 x 56 x 56 x 64 0.31 / 1.03"};
  TunedNumber shared_stream_bytes{
      40 << 20,
      "loads and stores of several threads: streaming stores of one core complex share a link (28 "
      "GB/s on Zen 4, which one thread fills), and a smaller working set stays in an L3 cache of "
      "32 MiB; 2 threads, ms streamed / plain: outer product of 4096 x 4096 2.38 / 1.88; joining 4 "
      "x 2048 x 512 0.61 / 0.50; running sums of 2048 x 2048 0.62 / 0.52; but layer norm of 8192 x "
      "1024 with its gradients 3.6 / 4.9; ten operations on 2 x 4 Mi floats 0.66 / 0.86"};

  // Scratch rows.
  TunedNumber l1_share_of_scratch{4,
                                  "a scratch row takes at most 1/4 of L1, and little of a stack"};
  TunedNumber min_scratch_elements{
      800,
      "the final loads begin where lines of the result do, and span two stores each, which in "
      "shorter rows are not in the cache yet; Zen 4, softmax, time with / without: rows of "
      "1000 2.5 / 2.85 ms, 2 threads 1.3 / 1.6; rows of 769 1.02, of 401 1.26, of 100 2.3"};

  // Prefetches of the next row.
  TunedNumber expensive_operations{12, "vector operations of an elementary function, about"};
  TunedNumber min_bytes_ahead{256, "bytes to the next row: below, rows share lines"};
  TunedNumber max_bytes_ahead{
      16 << 10,
      "beyond, lines are evicted from the nearest caches before they are used; Zen 5, one "
      "core: softmax of 8192 x 1000 2.4 ms, without prefetches 4.0; layer norm of 8192 x "
      "1024 with its gradients 3.6, with both operands prefetched by one loop 5.4"};

  // Prefetches down columns.
  TunedNumber column_rows_ahead{
      8,
      "Emerald Rapids, 2 threads, batch norm with its gradients: 12544 x 1024 20 ms, without "
      "prefetches 30, with bfloat16 between 26 / 57; 4 and 16 rows: the same"};
  TunedNumber min_column_rows{64, "below, too many prefetches are of rows that do not exist"};
  TunedNumber min_column_bytes{
      2 << 20, "elements; batch norm of 512 x 1024 0.6 to 0.9 times as long, of 128 x 1024 1.1"};

  // Prefetches of gathered rows, of tables beyond the L2 cache.
  TunedNumber gathered_rows_ahead{8,
                                  "16,384 rows of 512 bytes out of 25 MB: 0.23 ms, without "
                                  "prefetches 0.28"};
  TunedNumber max_gathered_bytes{
      512, "bytes of a row: the hardware prefetcher follows a longer row by itself"};
};

inline constexpr CpuTuning kTuning;

struct CpuDescription {
  // May decide bits: the order of a sum depends on the number of lanes.
  int vector_bytes = 16;
  int vector_registers = 16;
  bool has_fma = false;
  bool has_masks = false;  // any instruction takes a mask, and loads under it are fast

  CpuTuning tuning = {};
};

/// The description of processors with that ISA.
CpuDescription description_of(const IsaTarget& target);

}  // namespace kiln::cpu
