// Rows of one operation each, which memory bounds: moves of elements, scans, draws, lookups.
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

/// Bytes of an array of 4-byte elements.
double bytes_of(const Ints& dims) { return 4 * static_cast<double>(elements(dims)); }

Limit one_pass(const Ints& dims) {
  return copy_limit("1 array read, 1 written, 8 B an element", 2 * bytes_of(dims));
}

Row permute_row(const std::string& name, const Ints& dims, const Ints& pattern) {
  return {name, text("axes ", join_text(pattern, ", "), " of ", join_text(dims, " x ")),
          one_pass(dims), [=] {
            WorkBuilder builder(Memory::Host);
            return builder.work({permute_dimensions(builder.input(drawn(dims)), pattern)});
          }};
}

Row cumsum_row(const std::string& name, const Ints& dims) {
  return {name, text("running sums along the last axis of ", join_text(dims, " x ")),
          one_pass(dims), [=] {
            WorkBuilder builder(Memory::Host);
            return builder.work({cumsum(builder.input(drawn(dims)), {.axis = -1})});
          }};
}

Row random_normal_row(const std::string& name, std::int64_t size) {
  const Ints dims{size};
  Limit limit = copy_limit("1 array written, 4 B; + 60 operations (a draw, log, cos) an element",
                           bytes_of(dims));
  limit.operations = 60.0 * static_cast<double>(size);
  return {name,
          text(size, " normal draws"),
          limit,
          [=] {
            WorkBuilder builder(Memory::Host);
            return builder.work({random_normal(Shape({size}))});
          },
          Timing::Steady,
          "Zen 3, AVX2, parts timed alone: 55 % Philox, 16 % log and sqrt, 12 % cos"};
}

Row concatenate_row(const std::string& name, std::int64_t count, const Ints& dims) {
  const double bytes = 2 * bytes_of(dims) * static_cast<double>(count);
  return {name,
          text(count, " arrays of ", join_text(dims, " x "), " joined along the last axis"),
          copy_limit("each array read and written", bytes),
          [=] {
            WorkBuilder builder(Memory::Host);
            std::vector<Tensor> parts;
            for (std::int64_t i = 0; i < count; ++i) parts.push_back(builder.input(drawn(dims)));
            return builder.work({concatenate(parts, {.axis = -1})});
          },
          Timing::Steady,
          "memory: the result is streamed at 40 GB/s on one thread and on two; outer, which only "
          "streams, at 43 and 44"};
}

Row gather_row(const std::string& name, const Ints& table, std::int64_t indices) {
  return {name, text(indices, " rows of a table of ", join_text(table, " x ")),
          copy_limit("each row read and written", 2 * bytes_of({indices, table[1]})), [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor rows = builder.input(drawn(table));
            return builder.work({gather(rows, builder.input(drawn_classes({indices}, table[0])))});
          }};
}

Row divide_row(const std::string& name, std::int64_t size) {
  Limit limit{.formula = "one pass: 2 arrays read, 1 written, 12 B an element",
              .reads = 2,
              .writes = 1,
              .floats = elements({size})};
  return {name, text("quotients of ", size, " int32"), limit, [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn_classes({size}, 1 << 30));
            return builder.work({x / builder.input(drawn_classes({size}, 1000))});
          }};
}

}  // namespace

std::vector<Row> operation_rows(bool tiny) {
  const std::int64_t large = tiny ? 1000 : std::int64_t{4} << 20;
  const std::int64_t side = tiny ? 20 : 4096, steps = tiny ? 20 : 2048;
  return {permute_row("transpose_4096", {side, side}, {1, 0}),
          permute_row("nhwc_to_nchw", tiny ? Ints{2, 3, 3, 5} : Ints{32, 56, 56, 64}, {0, 3, 1, 2}),
          cumsum_row("cumsum_2048", {steps, steps}),
          random_normal_row("random_normal_4m", large),
          concatenate_row("concat_4", 4, tiny ? Ints{4, 5} : Ints{2048, 512}),
          gather_row("gather_rows", tiny ? Ints{20, 8} : Ints{50000, 128}, tiny ? 24 : 16384),
          divide_row("div_int32", large)};
}

}  // namespace kiln::bench
