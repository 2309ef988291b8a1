// Rows of inference with weights of 16-bit floats and activations of float32, of products of 16-bit
// floats with weights of float32 (mixed precision), and of elementwise work on 16-bit floats.
#include "tools/kiln/bench/models.h"
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

Row gelu_train_bf16(std::int64_t size) {
  const Limit limit{.formula = "one pass: 2 arrays read, 2 written, 8 B an element",
                    .reads = 2,
                    .writes = 2,
                    .floats = elements({size}) / 2};
  return {"gelu_train_bf16", text("GELU by tanh of ", size, " bfloat16, and its gradient"), limit,
          [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn({size}).astype(DType::BFloat16));
            const Tensor dy = builder.input(drawn({size}).astype(DType::BFloat16));
            const Tensor y = 0.5 * x * (1.0 + tanh(0.79788 * (x + 0.044715 * x * x * x)));
            return builder.work({y, gradients(sum(y * dy), {x})[0]});
          }};
}

}  // namespace

Row mlp_train_mixed(std::int64_t batch, const Ints& sizes, Memory memory) {
  const Limit limit{.formula = "the matmuls at the peak of float32",
                    .operations = step_operations(sizes, batch)};
  return {
      "mlp_train_mixed",
      text("MLP ", join_text(sizes, "-"), " with relu, float32 weights, bfloat16 matmuls, batch ",
           batch, ", mean square, SGD step"),
      limit, [=] {
        WorkBuilder builder(memory);
        Tensor x = cast(builder.input(drawn({batch, sizes[0]})), "bfloat16");
        std::vector<Tensor> weights;
        for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
          weights.push_back(variable(drawn({sizes[i], sizes[i + 1]}, -0.05, 0.05)));
          const Tensor y = dot(x, cast(weights.back(), "bfloat16"));
          x = i + 2 < sizes.size() ? relu(y) : y;
        }
        const Tensor loss = mean(square(cast(x, "float32")));
        return builder.work({loss}, sgd_updates(weights, gradients(loss, weights)));
      }};
}

Row conv_train_bf16(const Ints& dims, Memory memory) {
  const std::int64_t channels = dims.back();
  const Limit limit{
      .formula = "the convolution and two gradients at the peak of float32",
      .operations = 3 * 18 * static_cast<double>(elements(dims)) * static_cast<double>(channels)};
  return {"conv_train_bf16",
          text("convolution 3x3 of bfloat16, ", join_text(dims, " x "), ", ", channels,
               " filters, padding same, and the gradients of its mean square"),
          limit, [=] {
            WorkBuilder builder(memory);
            const Tensor x = builder.input(drawn(dims).astype(DType::BFloat16));
            const Tensor filter =
                builder.input(drawn({3, 3, channels, channels}).astype(DType::BFloat16));
            const Tensor y = conv2d(x, filter, {.padding = "same", .data_format = "channels_last"});
            std::vector<Tensor> results = gradients(mean(square(y)), {x, filter});
            results.push_back(y);
            return builder.work(results);
          }};
}

std::vector<Row> halves_rows(bool tiny) {
  const Ints sizes = tiny ? Ints{9, 20, 17, 4} : Ints{1024, 4096, 4096, 1024};
  return {mlp_halves("mlp_bf16_weights_1", 1, sizes, DType::BFloat16),
          mlp_halves("mlp_bf16_weights_64", tiny ? 3 : 64, sizes, DType::BFloat16),
          mlp_halves("mlp_f16_weights_1", 1, sizes, DType::Float16),
          mlp_train_mixed(tiny ? 3 : 128, tiny ? Ints{9, 20, 17, 4} : Ints{1024, 1024, 1024, 256},
                          Memory::Host),
          conv_train_bf16(tiny ? Ints{2, 5, 5, 8} : Ints{8, 28, 28, 128}, Memory::Host),
          gelu_train_bf16(tiny ? 100 : 1 << 21)};
}

}  // namespace kiln::bench
