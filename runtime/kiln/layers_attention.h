// Layer: MultiHeadAttention. There is no attention_axes: fold the other axes into those of samples
// with reshape and permute_dimensions, as heads share their kernels along all axes.
#pragma once

#include <kiln/layer.h>

namespace kiln::layers {

struct MultiHeadAttentionOptions {
  std::optional<WholeNumber> value_dim = {};  ///< unset: key_dim
  double dropout = 0;                         ///< the rate of dropped weights in training
  Flag use_bias = true;
  std::optional<WholeNumber> output_shape = {};  ///< unset: the features of the query
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {}, bias_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  std::optional<Seed> seed = {};  ///< of the dropout; unset: drawn from the process-wide generator
  DTypeArgument dtype = {};  ///< a floating-point dtype; unset: floatx()
  Flag trainable = true;  ///< false: frozen, see Layer::set_trainable
  StringArgument name = {};
};

/// The output (samples, T, outputs), and the weights softmax(..) before dropout.
struct [[nodiscard]] AttentionOutput : Tensor {
  AttentionOutput(Tensor output, Tensor scores)
      : Tensor(std::move(output)), scores(std::move(scores)) {}
  Tensor scores;  ///< (samples, heads, T, S)
};

/// Masks of any dtype: attention goes where all of them are not 0. Empty: no mask.
struct AttentionCall {
  Tensor key = {};  ///< (samples, S, features); empty: the value
  Tensor query_mask = {};  ///< (samples, T)
  Tensor value_mask = {}, key_mask = {};  ///< (samples, S)
  Tensor attention_mask = {};  ///< (samples or 1, T, S), or with heads or 1 on axis 1
  Flag use_causal_mask = false;  ///< whether step t attends to steps up to t only
  OptionalOperand training = None;  ///< as for in_train_phase()
};

/// softmax(Q K^T / sqrt(key_dim)) V for each head, where Q, K and V are the projections of query,
/// key and value, followed by a projection of all heads. A masked score gets -1e9 (-3e4 in float16)
/// added before the softmax. Variables: query/kernel (features, heads, key_dim), query/bias (heads,
/// key_dim), those of key and value, attention_output/kernel (heads, value_dim, outputs) and
/// attention_output/bias (outputs,). Vaswani et al., "Attention is all you need", 2017.
class KILN_API MultiHeadAttention : public Layer {
 public:
  /// Errors: ValueError unless sizes are positive and the dropout is in [0, 1).
  MultiHeadAttention(WholeNumber num_heads, WholeNumber key_dim,
                     const MultiHeadAttentionOptions& options = {}, Where where = Where::here());
  /// query: (samples, T, features), value: (samples, S, features). Errors: ValueError for another
  /// rank, features that are unknown or other ones than at the first call, and masks that do not
  /// fit; TypeError for another dtype.
  AttentionOutput operator()(const Tensor& query, const Tensor& value,
                             const AttentionCall& call = {}, Where where = Where::here()) const;
};

}  // namespace kiln::layers
