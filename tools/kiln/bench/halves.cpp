// Rows of inference with weights of 16-bit floats and activations of float32.
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

/// Dense layers with relu between them, whose weights each call widens to float32.
Row mlp_halves(const std::string& name, std::int64_t batch, const Ints& sizes, DType weights) {
  double parameters = 0;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    parameters += static_cast<double>(sizes[i] * sizes[i + 1]);
  }
  Limit limit{.formula = "the matmuls at the peak of float32, the weights read once, 2 B each",
              .operations = 2 * static_cast<double>(batch) * parameters,
              .reads = 1,
              .floats = static_cast<std::size_t>(parameters / 2)};
  return {name,
          text("MLP ", join_text(sizes, "-"), " with relu, ", weights,
               " weights, float32 sums and activations, inference, batch ", batch),
          limit, [=] {
            WorkBuilder builder(Memory::Host);
            Tensor x = builder.input(drawn({batch, sizes[0]}));
            for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
              const Tensor matrix =
                  variable(drawn({sizes[i], sizes[i + 1]}, -0.05, 0.05), {.dtype = weights});
              const Tensor bias = variable(drawn({sizes[i + 1]}), {.dtype = weights});
              const Tensor y = dot(x, cast(matrix, "float32")) + cast(bias, "float32");
              x = i + 2 < sizes.size() ? relu(y) : y;
            }
            return builder.work({x});
          }};
}

}  // namespace

std::vector<Row> halves_rows(bool tiny) {
  const Ints sizes = tiny ? Ints{9, 20, 17, 4} : Ints{1024, 4096, 4096, 1024};
  return {mlp_halves("mlp_bf16_weights_1", 1, sizes, DType::BFloat16),
          mlp_halves("mlp_bf16_weights_64", tiny ? 3 : 64, sizes, DType::BFloat16),
          mlp_halves("mlp_f16_weights_1", 1, sizes, DType::Float16)};
}

}  // namespace kiln::bench
