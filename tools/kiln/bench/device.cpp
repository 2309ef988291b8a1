// The table of a GPU: the sizes of the rows that a CPU's table has, too, matmuls, and calls.
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

Row matmul_row(const std::string& name, std::int64_t size, DType dtype) {
  const auto n = static_cast<double>(size);
  return {name,
          text(dtype, " matmul of ", size, " x ", size, " matrices"),
          {"the matmul at the peak of float32", 2 * n * n * n},
          [=] {
            WorkBuilder builder(Memory::Device);
            const Tensor a = builder.input(drawn({size, size}).astype(dtype));
            return builder.work({dot(a, builder.input(drawn({size, size}).astype(dtype)))});
          }};
}

Row matmul_batch(std::int64_t count, std::int64_t size) {
  const auto n = static_cast<double>(size);
  return {"matmul_batch",
          text(count, " float32 matmuls of ", size, " x ", size, " matrices"),
          {"the matmuls at the peak", 2 * n * n * n * static_cast<double>(count)},
          [=] {
            const Ints dims{count, size, size};
            WorkBuilder builder(Memory::Device);
            const Tensor a = builder.input(drawn(dims));
            return builder.work({batch_dot(a, builder.input(drawn(dims)))});
          }};
}

/// Measures the processor time of a call that launches many small kernels.
Row call_cpu(const RecurrentSizes& sizes) {
  Row row = lstm_train(sizes, Memory::Device);
  row.name = "call_cpu";
  row.work = "processor time of a call: " + row.work;
  row.limit = {};
  row.timing = Timing::CpuTime;
  return row;
}

/// Three passes over arrays that exceed every cache: means and variances need all of x, the sums of
/// the gradients need them and all of dy, and dx needs those sums.
Row large_bn_relu_train(const Ints& dims) {
  Row row = bn_relu_train(dims, Memory::Device);
  row.limit = copy_limit("x; x, dy to y; x, dy to dx: 28 B an element",
                         28 * static_cast<double>(elements(dims)));
  return row;
}

/// Leaves out the operations, which do not bound this row on a GPU.
Row large_softmax(std::int64_t rows, std::int64_t columns) {
  Row row = softmax_row("softmax", rows, columns, Memory::Device);
  row.limit = copy_limit("1 array read, 1 written, 8 B an element",
                         8 * static_cast<double>(rows * columns));
  return row;
}

std::vector<Row> pass_rows(bool tiny) {
  const std::int64_t large = tiny ? 1000 : std::int64_t{64} << 20;
  constexpr Memory kDevice = Memory::Device;
  return {chain10(large, kDevice),
          chain10_tanh(large, kDevice),
          large_softmax(tiny ? 8 : 65536, tiny ? 10 : 1000),
          layernorm_train(tiny ? 8 : 65536, tiny ? 16 : 1024, kDevice),
          large_bn_relu_train(tiny ? Ints{2, 3, 3, 4} : Ints{256, 56, 56, 64}),
          adam_row("adam", 1, tiny ? 1000 : std::int64_t{16} << 20, kDevice),
          adam_row("adam_many", tiny ? 5 : 100, tiny ? 10 : 1000, kDevice)};
}

std::vector<Row> model_rows(bool tiny) {
  const RecurrentSizes few{4, 2, 3, 4};
  const CnnSizes cnn = tiny ? CnnSizes{8, 2, 3, 4, 3} : CnnSizes{28, 32, 64, 128, 10};
  constexpr Memory kDevice = Memory::Device;
  return {mlp_tiny(8, {16, 32, 1}, kDevice),
          mlp_adam(tiny ? 4 : 64, tiny ? Ints{8, 6, 6, 3} : Ints{784, 512, 512, 10}, kDevice),
          lstm_masked_train(tiny ? few : RecurrentSizes{50, 32, 128, 128}, kDevice),
          lstm_train(tiny ? few : RecurrentSizes{100, 64, 256, 512}, kDevice),
          lnlstm_train(tiny ? few : RecurrentSizes{50, 32, 128, 128}, kDevice),
          ctc_train(tiny ? CtcSizes{2, 6, 4, 2} : CtcSizes{32, 200, 40, 40}, kDevice),
          cnn_adam(tiny ? 2 : 64, cnn, kDevice),
          resnet_block(tiny ? Ints{2, 5, 5, 3} : Ints{16, 56, 56, 64}, kDevice)};
}

std::vector<Row> matmul_rows(bool tiny) {
  const std::int64_t size = tiny ? 16 : 8192;
  return {matmul_row("matmul", size, DType::Float32),
          matmul_row("matmul_f16", size, DType::Float16),
          matmul_row("matmul_bf16", size, DType::BFloat16),
          matmul_batch(tiny ? 2 : 64, tiny ? 8 : 512),
          mlp_train_mixed(tiny ? 3 : 1024, tiny ? Ints{9, 20, 17, 4} : Ints{1024, 4096, 4096, 1024},
                          Memory::Device),
          conv_train_bf16(tiny ? Ints{2, 5, 5, 8} : Ints{64, 56, 56, 64}, Memory::Device)};
}

std::vector<Row> network_rows_of_device(bool tiny) {
  constexpr Memory kDevice = Memory::Device;
  const auto attention = [&](std::int64_t heads, std::int64_t length) {
    return tiny ? AttentionSizes{2, 20, 24, 8, true}
                : AttentionSizes{heads, length, length, 64, true};
  };
  const TransformerSizes block =
      tiny ? TransformerSizes{2, 20, 16, 2} : TransformerSizes{16, 1024, 768, 12};
  const std::int64_t images = tiny ? 2 : 64;
  return {attention_train("attention_train", attention(96, 1024), DType::Float32, kDevice),
          attention_train("attention_train_bf16", attention(96, 1024), DType::BFloat16, kDevice),
          attention_train("attention_long_bf16", attention(24, 4096), DType::BFloat16, kDevice),
          transformer_train("transformer_train", block, DType::Float32, kDevice),
          transformer_train("transformer_train_bf16", block, DType::BFloat16, kDevice),
          resnet50_train("resnet50_train", images, tiny, DType::Float32, kDevice),
          resnet50_train("resnet50_train_bf16", images, tiny, DType::BFloat16, kDevice)};
}

std::vector<Row> call_rows(bool tiny) {
  const CharRnnSizes text = tiny ? CharRnnSizes{5, 4, 2, 4} : CharRnnSizes{96, 256, 32, 64};
  return {call_row(), call_cpu(tiny ? RecurrentSizes{4, 2, 3, 4} : RecurrentSizes{100, 8, 32, 32}),
          char_rnn_train(text), compile_char_rnn(text)};
}

}  // namespace

/// Rows that fill much memory come last.
std::vector<Row> device_rows(bool tiny) {
  std::vector<Row> rows;
  for (auto make :
       {call_rows, model_rows, matmul_rows, network_rows_of_device, pass_rows, traffic_rows}) {
    for (Row& row : make(tiny)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace kiln::bench
