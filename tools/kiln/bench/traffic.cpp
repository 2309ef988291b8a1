// Memory-bound rows of a GPU: casts, sums, losses, transposes, lookups.
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

double bytes_of(const Ints& dims) { return 4 * static_cast<double>(elements(dims)); }

Row cast_row(std::int64_t size) {
  return {"cast", text("float32 to float16, ", size, " elements"),
          copy_limit("6 B an element", 1.5 * bytes_of({size})), [=] {
            WorkBuilder builder(Memory::Device);
            return builder.work({cast(builder.input(drawn({size})), "float16")});
          }};
}

Row broadcast_row(const Ints& dims) {
  return {"broadcast", text("matrix of ", join_text(dims, " x "), " + row * column"),
          copy_limit("1 array read, 1 written, 8 B an element", 2 * bytes_of(dims)), [=] {
            WorkBuilder builder(Memory::Device);
            const Tensor x = builder.input(drawn(dims)), row = builder.input(drawn({dims[1]}));
            return builder.work({x + row * builder.input(drawn({dims[0], 1}))});
          }};
}

Row sum_row(const std::string& name, const Ints& dims, const AxisOptions& options) {
  return {name, text("sum of ", join_text(dims, " x ")),
          copy_limit("1 array read, 4 B an element", bytes_of(dims)), [=] {
            WorkBuilder builder(Memory::Device);
            return builder.work({sum(builder.input(drawn(dims)), options)});
          }};
}

Row cross_entropy(std::int64_t rows, std::int64_t classes) {
  const Ints dims{rows, classes};
  return {"cross_entropy",
          text("softmax cross-entropy of ", rows, " x ", classes, ": mean and gradient"),
          copy_limit("1 array read, 1 written, 8 B an element", 2 * bytes_of(dims)), [=] {
            WorkBuilder builder(Memory::Device);
            const Tensor logits = builder.input(drawn(dims));
            const Tensor y = builder.input(drawn_classes({rows}, classes));
            const Tensor loss =
                mean(sparse_categorical_crossentropy(y, logits, {.from_logits = true}));
            return builder.work({loss, gradients(loss, {logits})[0]});
          }};
}

Row transpose_row(std::int64_t size) {
  return {"transpose", text("transpose of ", size, " x ", size),
          copy_limit("1 array read, 1 written, 8 B an element", 2 * bytes_of({size, size})), [=] {
            WorkBuilder builder(Memory::Device);
            return builder.work({transpose(builder.input(drawn({size, size})))});
          }};
}

struct LookupSizes {
  std::int64_t rows, columns, indices;
};

Row gather_row(const LookupSizes& s) {
  return {"gather", text(s.indices, " rows of a table of ", s.rows, " x ", s.columns),
          copy_limit("each row read and written", 2 * bytes_of({s.indices, s.columns})), [=] {
            WorkBuilder builder(Memory::Device);
            const Tensor table = builder.input(drawn({s.rows, s.columns}));
            return builder.work({gather(table, builder.input(drawn_classes({s.indices}, s.rows)))});
          }};
}

Row gather_gradient(const LookupSizes& s) {
  const double bytes = bytes_of({s.indices, s.columns}) + bytes_of({s.rows, s.columns});
  return {"gather_gradient",
          text("gradient of ", s.indices, " rows for their table of ", s.rows, " x ", s.columns),
          copy_limit("the gradient of each row read, the table's written", bytes), [=] {
            WorkBuilder builder(Memory::Device);
            const Tensor table = builder.input(drawn({s.rows, s.columns}));
            const Tensor indices = builder.input(drawn_classes({s.indices}, s.rows));
            const Tensor dy = builder.input(drawn({s.indices, s.columns}));
            return builder.work({gradients(sum(gather(table, indices) * dy), {table})[0]});
          }};
}

}  // namespace

std::vector<Row> traffic_rows(bool tiny) {
  const Ints matrix = tiny ? Ints{16, 48} : Ints{65536, 1024};
  const LookupSizes lookup = tiny ? LookupSizes{20, 16, 24} : LookupSizes{50000, 512, 16384};
  return {cast_row(tiny ? 1000 : std::int64_t{64} << 20),
          broadcast_row(matrix),
          sum_row("sum_rows", matrix, {.axis = -1}),
          sum_row("sum_columns", matrix, {.axis = 0}),
          cross_entropy(tiny ? 8 : 65536, tiny ? 10 : 1000),
          transpose_row(tiny ? 40 : 8192),
          gather_row(lookup),
          gather_gradient(lookup),
          sum_row("sum", {tiny ? 3000 : std::int64_t{256} << 20}, {})};
}

}  // namespace kiln::bench
