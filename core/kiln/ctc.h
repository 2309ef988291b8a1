// Connectionist temporal classification (Graves et al. 2006). The blank is the last class.
// ctc_batch_cost and ctc_decode follow TensorFlow, as Keras 2.3 calls it; ctc_cost and its parts
// follow Keras' Theano backend.
#pragma once

#include <kiln/tensor.h>

#include <vector>

namespace kiln {

/// Returns the CTC loss -log P(labels | y_pred) of each sample. The result is (samples, 1) with the
/// dtype of y_pred. y_true: labels (samples, longest), numbers of any dtype; entries from
/// label_length on are ignored. y_pred: probabilities (samples, time, classes), floating point;
/// epsilon() is added and each step divided by its sum. input_length, label_length: (samples, 1) or
/// (samples,), numbers of any dtype, truncated to integers. The loss is infinite, with a gradient
/// of 0, where input_length is too short for the labels (equal neighbours need a blank between
/// them). Gradients flow to y_pred.
/// Errors: ValueError for other ranks, different batch sizes or no classes; at the call for a label
/// outside 0 .. classes - 2, an input_length outside 0 .. time or a label_length outside 0 ..
/// longest. Formula: Keras 2.2.5 (TensorFlow), as a forward recursion in log space.
///     const auto y = K::constant({{{0.6, 0.4}, {0.6, 0.4}}}), label = K::constant({{0.}});
///     const auto steps = K::constant({2}, {.dtype = "int32"}), labels = K::ones_like(steps);
///     K::eval(K::ctc_batch_cost(label, y, steps, labels));  // [[0.17435342]]
KILN_API Tensor ctc_batch_cost(const Operand& y_true, const Operand& y_pred,
                               const Operand& input_length, const Operand& label_length);

struct CtcDecodeOptions {
  Flag greedy = true;  ///< take the best class of each step; else a beam search
  WholeNumber beam_width = 100;  ///< the number of prefixes that a beam search keeps
  WholeNumber top_paths = 1;  ///< the number of label sequences that a beam search returns
  Flag merge_repeated = false;  ///< merge equal neighbours in the results of a beam search
};
struct [[nodiscard]] CtcDecoded {
  std::vector<Tensor> decoded;  ///< int64 (samples, longest), padded with -1; one for each path
  Tensor log_prob;  ///< (samples, number of paths)
};

/// Returns the most probable label sequences of each sample, and their log probabilities. y_pred:
/// probabilities (samples, time, classes), floating point; input_length: (samples,), numbers of any
/// dtype, truncated to integers: the steps to decode. Greedy: the best class of each step, with
/// equal neighbours merged and blanks dropped; log_prob is -sum(log(best + epsilon())), which is
/// positive. Beam search: over probabilities with epsilon() added, divided by their sum; log_prob
/// is the logarithm of each path's probability. Missing paths are empty, with log_prob -infinity.
/// The width of the arrays depends on the data. No gradient.
/// Errors: ValueError for other ranks, no classes, beam_width or top_paths below 1, or top_paths
/// above beam_width; at the call for an input_length outside 0 .. time.
///     const auto y = K::constant({{{0.9, 0.1}, {0.2, 0.8}, {0.7, 0.3}}});
///     const auto found = K::ctc_decode(y, K::constant({3}, {.dtype = "int32"}));
///     K::eval(found.decoded[0]);  // [[0 0]]
KILN_API CtcDecoded ctc_decode(const Operand& y_pred, const Operand& input_length,
                               const CtcDecodeOptions& options = {});

/// Converts labels to a sparse tensor of the same shape with labels[i, j] for j < label_lengths[i],
/// in row-major order. labels: (samples, longest); label_lengths: (samples,), truncated to
/// integers; both numbers of any dtype. No gradient.
/// Errors: ValueError for other ranks or different batch sizes; at the call for a length outside 0
/// .. longest.
///     const auto labels = K::constant({{3., 4.}, {5., -1.}});
///     const auto lengths = K::constant({2, 1}, {.dtype = "int32"});
///     K::eval(K::ctc_label_dense_to_sparse(labels, lengths));  // [[3. 4.] [5. 0.]]
KILN_API Tensor ctc_label_dense_to_sparse(const Operand& labels, const Operand& label_lengths);

/// Puts blanks before, between and after labels: (n,) to (2n + 1,). The result is -1, y0, -1, y1
/// and so on, where -1 means the last class. Y: a signed integer dtype, kept.
/// Errors: ValueError for another rank; TypeError for another dtype.
///     const auto labels = K::constant({4, 2}, {.dtype = "int32"});
///     K::eval(K::ctc_interleave_blanks(labels));  // [-1 4 -1 2 -1]
KILN_API Tensor ctc_interleave_blanks(const Operand& Y);

/// Returns the odd positions i of labels between blanks with Y[i] != Y[i + 2], where the blank
/// between may be skipped. The result is an int64 vector of data-dependent length. No gradient.
/// Errors: those of ctc_interleave_blanks.
///     const auto labels = K::constant({-1, 4, -1, 2, -1}, {.dtype = "int32"});
///     K::eval(K::ctc_create_skip_idxs(labels));  // [1]
KILN_API Tensor ctc_create_skip_idxs(const Operand& Y);

struct [[nodiscard]] CtcStep {
  Tensor active_next;  ///< a scalar: the number of states that can be reached after the step
  Tensor log_p_next;  ///< (states): their log probabilities
};

/// Computes one step of the forward recursion over the first `active` of the states (2n + 1). A
/// state is reached from itself, the state before, and, at skip_idxs + 2, the state before that.
/// zeros (states): the values of states that are not reached. active_next is min(max(active + 1,
/// the last skip index below active + 3), states).
/// Errors: ValueError and TypeError for operands that do not fit.
///     const auto skips = K::constant({1}, {.dtype = "int32"}), zeros = K::constant({0., 0., 0.});
///     const auto next = K::ctc_update_log_p(skips, zeros, 1, zeros, zeros);
///     K::eval(next.log_p_next);  // [0. 0. 0.]
KILN_API CtcStep ctc_update_log_p(const Operand& skip_idxs, const Operand& zeros,
                                  const Operand& active, const Operand& log_p_curr,
                                  const Operand& log_p_prev);

struct CtcPathOptions {
  double alpha = 1e-4;  ///< the weight of the uniform distribution mixed into the probabilities
};
struct [[nodiscard]] CtcPathProbs {
  Tensor log_probs;  ///< (time, states): log probability of all paths through a state
  Tensor mask;  ///< bool (time, states): whether there are such paths
};

/// Returns the log probability of all paths through each state at each step, by forward and
/// backward recursion over one sample. predict: (time, classes); Y: labels between blanks (states),
/// as from ctc_interleave_blanks. log_probs is forward + backward - L, where L = log((1 - alpha)
/// predict[:, Y] + alpha / states).
/// Errors: ValueError for other ranks; at the call for a label out of range.
///     const auto labels = K::constant({-1, 0, -1}, {.dtype = "int32"});
///     const auto paths = K::ctc_path_probs(K::constant({{0.6, 0.4}}), labels);
///     K::eval(paths.mask);  // [[False True False]]
KILN_API CtcPathProbs ctc_path_probs(const Operand& predict, const Operand& Y,
                                     const CtcPathOptions& options = {});

/// Returns the negative logarithm of the path probabilities of one sample, summed over all steps; a
/// scalar. predict: (time, classes); Y: labels (n) without blanks. Every step contributes the full
/// sum, so the result is the CTC loss minus log(time); ctc_batch_cost computes the loss itself.
/// Errors: those of ctc_path_probs.
///     const auto y = K::constant({{0.6, 0.4}, {0.6, 0.4}});
///     K::eval(K::ctc_cost(y, K::constant({0}, {.dtype = "int32"})));  // -0.51872075
KILN_API Tensor ctc_cost(const Operand& predict, const Operand& Y);

}  // namespace kiln
