// The rows of matmuls in other dtypes than float32, and of an MLP in float64.
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

/// Operations in float32 that take as long as one of this dtype: float64 has half the lanes.
/// Halves are converted, and integers are counted as float32.
double float32_operations(DType dtype) { return dtype == DType::Float64 ? 2 : 1; }

Row dot_row(const std::string& name, DType dtype, std::int64_t size) {
  const auto n = static_cast<double>(size);
  const double operations = 2 * n * n * n * float32_operations(dtype);
  return {name,
          text(dtype, " matmul of ", size, " x ", size, " matrices"),
          {"the matmul at the peak of float32, of float64 at half of it", operations},
          [=] {
            // Integers are small ones.
            const double range = is_float(dtype) ? 1 : 100;
            const auto matrix = [=] { return drawn({size, size}, -range, range).astype(dtype); };
            WorkBuilder builder(Memory::Host);
            const Tensor a = builder.input(matrix());
            return builder.work({dot(a, builder.input(matrix()))});
          }};
}

/// The reason of rows that are behind a peer on some machine.
constexpr std::string_view kInnerLoop =
    "matmuls with operands in the L2 cache are at 96 % of the peak on a Zen 4 and a Zen 3 (1024^3: "
    "at 80 % there), at 77 % on a Xeon with AMX";

Row dot_bf16_row(std::int64_t size) {
  Row row = dot_row("dot_bf16_1024", DType::BFloat16, size);
  row.note =
      "perf, 1 thread: AVX512-BF16: 89 % is the inner loop, at 96 % of the peak; AMX: 80 %, at 2.1 "
      "TFLOP/s with operands in the L2 cache and at 1.2 here, where the L3 cache has most";
  return row;
}

Row with_reason(Row row) {
  row.note = kInnerLoop;
  return row;
}

}  // namespace

std::vector<Row> matmul_dtype_rows(bool tiny) {
  const std::int64_t size = tiny ? 16 : 1024;
  const Ints sizes = tiny ? Ints{8, 6, 6, 3} : Ints{784, 512, 512, 10};
  return {with_reason(dot_row("dot_f64_1024", DType::Float64, size)), dot_bf16_row(size),
          with_reason(dot_row("dot_f16_1024", DType::Float16, size)),
          dot_row("dot_i32_512", DType::Int32, tiny ? 16 : 512),
          with_reason(mlp_train_f64(tiny ? 4 : 64, sizes))};
}

}  // namespace kiln::bench
