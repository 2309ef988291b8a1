// The rows by kind, and those that both tables have, with their sizes.
#pragma once

#include "tools/kiln/bench/row.h"

namespace kiln::bench {

using Ints = std::vector<std::int64_t>;

/// The number of elements of these dims.
std::size_t elements(const Ints& dims);

/// The limit of a row that copies: reading and writing `bytes` in all.
Limit copy_limit(const std::string& formula, double bytes);

/// The rows of all_rows(), by kind.
std::vector<Row> elementwise_rows(bool tiny);
std::vector<Row> operation_rows(bool tiny);
std::vector<Row> narrow_rows(bool tiny);
std::vector<Row> language_rows(bool tiny);
std::vector<Row> recurrent_rows(bool tiny);
std::vector<Row> sizes_rows(bool tiny);
std::vector<Row> training_rows(bool tiny);
std::vector<Row> image_rows(bool tiny);
std::vector<Row> network_rows(bool tiny);
std::vector<Row> matmul_dtype_rows(bool tiny);
std::vector<Row> halves_rows(bool tiny);
std::vector<Row> optimizer_rows(bool tiny);
std::vector<Row> compile_rows(bool tiny);
std::vector<Row> first_step_rows(bool tiny);
/// Of device_rows: rows that no CPU's table has.
std::vector<Row> traffic_rows(bool tiny);

Row call_row();
Row chain10(std::int64_t size, Memory memory);
Row chain10_tanh(std::int64_t size, Memory memory);
Row outer_row(std::int64_t size);
Row softmax_row(const std::string& name, std::int64_t rows, std::int64_t columns, Memory memory);
Row layernorm_train(std::int64_t rows, std::int64_t columns, Memory memory);

struct RecurrentSizes {
  std::int64_t time, samples, inputs, units;
};
Row lstm_masked_train(const RecurrentSizes& sizes, Memory memory);
Row lstm_train(const RecurrentSizes& sizes, Memory memory);
/// With layer normalisation.
Row lnlstm_train(const RecurrentSizes& sizes, Memory memory);

struct CtcSizes {
  std::int64_t samples, time, classes, labels;
};
Row ctc_train(const CtcSizes& sizes, Memory memory);
/// Of an MLP's step: forward, gradients of the matrices, and those of all inputs but the first.
double step_operations(const Ints& sizes, std::int64_t batch);
Row mlp_adam(std::int64_t batch, const Ints& sizes, Memory memory);
Row mlp_train_f64(std::int64_t batch, const Ints& sizes);
Row mlp_tiny(std::int64_t batch, const Ints& sizes, Memory memory);
/// `table`: rows and columns of the embedding.
Row embedding_train(const Ints& table, std::int64_t indices, Memory memory);
/// A training step with bfloat16 matmuls and float32 weights.
Row mlp_train_mixed(std::int64_t batch, const Ints& sizes, Memory memory);
/// A 3x3 convolution with as many filters as channels, and its gradients.
Row conv_train_bf16(const Ints& dims, Memory memory);
struct AttentionSizes {
  std::int64_t heads, queries, keys, depth;
  bool causal;
};
/// An attention and the gradients of its operands.
Row attention_train(const std::string& name, const AttentionSizes& sizes, DType dtype,
                    Memory memory);

struct TransformerSizes {
  std::int64_t batch, time, width, heads;
};
/// float32 weights; products of `dtype`.
Row transformer_train(const std::string& name, const TransformerSizes& sizes, DType dtype,
                      Memory memory);
/// As transformer_train(). `tiny`: fewer layers and channels, small images.
Row resnet50_train(const std::string& name, std::int64_t batch, bool tiny, DType dtype,
                   Memory memory);
Row adam_row(const std::string& name, std::int64_t variables, std::int64_t size, Memory memory);

/// Two 3x3 convolutions with relu, max pooling, two dense layers; squares of `size` by `size`.
struct CnnSizes {
  std::int64_t size, first, second, dense, classes;

  std::int64_t pixels() const { return (size - 4) / 2 * ((size - 4) / 2) * second; }
  double parameters() const;
  /// Of the first convolution, and of all else: the first one's input gets no gradient.
  double first_operations() const;
  double other_operations() const;
};
Row cnn_adam(std::int64_t batch, const CnnSizes& sizes, Memory memory);
Row bn_relu_train(const Ints& dims, Memory memory);
Row resnet_block(const Ints& dims, Memory memory);

/// A model like that of tools/examples/char_rnn.cpp: embedding, LSTM, dense layer, Adam, with the
/// number of samples and of steps unknown.
struct CharRnnSizes {
  std::int64_t characters, units, samples, time;
};
Row char_rnn_train(const CharRnnSizes& sizes);
/// With gradients and a loss that are means over the ranks; `samples` are those of a rank.
Row char_rnn_average(const CharRnnSizes& sizes);
Row compile_char_rnn(const CharRnnSizes& sizes);

}  // namespace kiln::bench
