// Connectionist temporal classification (Graves et al. 2006): group O of the K functions. The blank
// is the last class. ctc_batch_cost and ctc_decode are TensorFlow's, as Keras 2.3 calls them; the
// parts of ctc_cost are those of Keras' Theano backend.
#pragma once

#include <kiln/tensor.h>

#include <vector>

namespace kiln {

/// -log P(labels | y_pred) of each sample, (samples, 1) of y_pred's dtype.
/// y_true: labels (samples, longest) of any number dtype; those from label_length on are ignored.
/// y_pred: probabilities (samples, time, classes), floating point; epsilon() is added and each step
/// divided by its sum. input_length, label_length: (samples, 1) or (samples,) of any number dtype;
/// floating point is truncated.
/// Infinite, with a gradient of 0, where input_length is too short for the labels (repeated ones
/// need a blank between them). A forward recursion in log space; gradients flow to y_pred.
/// Errors: ValueError for other ranks, different batch sizes and no class; at the call for a label
/// outside 0 .. classes - 2, an input_length outside 0 .. time and a label_length outside 0 ..
/// longest. Formula: Keras 2.2.5 (TensorFlow).
///     const auto y = K::constant({{{0.6, 0.4}, {0.6, 0.4}}}), label = K::constant({{0.}});
///     const auto steps = K::constant({2}, {.dtype = "int32"}), labels = K::ones_like(steps);
///     K::eval(K::ctc_batch_cost(label, y, steps, labels));  // [[0.17435342]]
KILN_API Tensor ctc_batch_cost(const Operand& y_true, const Operand& y_pred,
                               const Operand& input_length, const Operand& label_length);

struct CtcDecodeOptions {
  bool greedy = true;             ///< the best class of each step, else a beam search
  std::int64_t beam_width = 100;  ///< prefixes that are kept
  std::int64_t top_paths = 1;     ///< how many label sequences a beam search gives
  bool merge_repeated = false;    ///< also merge equal neighbours of what a beam search found
};
struct CtcDecoded {
  std::vector<Tensor> decoded;  ///< int64 (samples, longest), padded with -1; one for each path
  Tensor log_prob;              ///< (samples, number of paths)
};

/// The most probable labels of y_pred, probabilities (samples, time, classes), over the first
/// input_length (samples,) steps, of any number dtype (floating point is truncated). Greedy: the
/// best class of each step, equal neighbours merged, blanks dropped; log_prob is -sum(log(best +
/// epsilon())), which is positive. Beam search: of probabilities with epsilon() added, divided by
/// their sum; log_prob is the logarithm of each path's probability, and where there are fewer paths
/// they are empty with -infinity. Each array is as wide as the call needs. No gradient.
/// Errors: ValueError for other ranks, no class, beam_width or top_paths below 1, top_paths above
/// beam_width; at the call for an input_length outside 0 .. time.
///     const auto y = K::constant({{{0.9, 0.1}, {0.2, 0.8}, {0.7, 0.3}}});
///     const auto found = K::ctc_decode(y, K::constant({3}, {.dtype = "int32"}));
///     K::eval(found.decoded[0]);  // [[0 0]]
KILN_API CtcDecoded ctc_decode(const Operand& y_pred, const Operand& input_length,
                               const CtcDecodeOptions& options = {});

/// The labels (samples, longest), of any number dtype, as a sparse tensor of the same shape that
/// holds labels[i, j] for j < label_lengths[i], in row-major order; label_lengths is (samples,) of
/// any number dtype; floating point is truncated. No gradient. Errors: ValueError for other ranks
/// and different batch sizes; at the call for a length outside 0 .. longest.
///     const auto labels = K::constant({{3., 4.}, {5., -1.}});
///     const auto lengths = K::constant({2, 1}, {.dtype = "int32"});
///     K::eval(K::ctc_label_dense_to_sparse(labels, lengths));  // [[3. 4.] [5. 0.]]
KILN_API Tensor ctc_label_dense_to_sparse(const Operand& labels, const Operand& label_lengths);

/// Labels (n) to (2n + 1): -1, y0, -1, y1, ... -1, where -1 means the last class. Keeps the dtype,
/// a signed integer's. Errors: ValueError for another rank; TypeError for another dtype.
///     const auto labels = K::constant({4, 2}, {.dtype = "int32"});
///     K::eval(K::ctc_interleave_blanks(labels));  // [-1 4 -1 2 -1]
KILN_API Tensor ctc_interleave_blanks(const Operand& Y);

/// Of labels between blanks the odd positions i with Y[i] != Y[i + 2], where the blank between may
/// be skipped: an int64 vector as long as there are such. No gradient. Errors: as above.
///     const auto labels = K::constant({-1, 4, -1, 2, -1}, {.dtype = "int32"});
///     K::eval(K::ctc_create_skip_idxs(labels));  // [1]
KILN_API Tensor ctc_create_skip_idxs(const Operand& Y);

struct CtcStep {
  Tensor active_next;  ///< scalar: how many states can be reached now
  Tensor log_p_next;   ///< (states)
};

/// One step of the forward recursion over the first `active` of the states (2n + 1): from a state,
/// the one before, and the one before that at skip_idxs + 2. `zeros` (states) is what states have
/// that are not reached. active_next is min(max(active + 1, the last skip index below active + 3),
/// states). Errors: ValueError and TypeError for vectors that do not fit.
///     const auto skips = K::constant({1}, {.dtype = "int32"}), zeros = K::constant({0., 0., 0.});
///     const auto next = K::ctc_update_log_p(skips, zeros, 1, zeros, zeros);
///     K::eval(next.log_p_next);  // [0. 0. 0.]
KILN_API CtcStep ctc_update_log_p(const Operand& skip_idxs, const Operand& zeros,
                                  const Operand& active, const Operand& log_p_curr,
                                  const Operand& log_p_prev);

struct CtcPathOptions {
  double alpha = 1e-4;  ///< how much of each probability is replaced by 1 / states
};
struct CtcPathProbs {
  Tensor log_probs;  ///< (time, states): of all paths through a state
  Tensor mask;       ///< bool (time, states): whether there are any
};

/// Forward and backward recursion of one sample: predict (time, classes) and labels between blanks
/// Y (states), as ctc_interleave_blanks makes them. With L = log((1 - alpha) predict[:, Y] + alpha
/// / states), log_probs is forward + backward - L. Errors: ValueError for other ranks; at the call
/// for a label outside.
///     const auto labels = K::constant({-1, 0, -1}, {.dtype = "int32"});
///     const auto paths = K::ctc_path_probs(K::constant({{0.6, 0.4}}), labels);
///     K::eval(paths.mask);  // [[False True False]]
KILN_API CtcPathProbs ctc_path_probs(const Operand& predict, const Operand& Y,
                                     const CtcPathOptions& options = {});

/// -log of the sum of all path probabilities at all steps, a scalar, for one sample: predict (time,
/// classes), labels Y (n) without blanks. Each step has the whole sum, so this is less than the
/// true cost by log(time); ctc_batch_cost gives that one. Errors: as above.
///     const auto y = K::constant({{0.6, 0.4}, {0.6, 0.4}});
///     K::eval(K::ctc_cost(y, K::constant({0}, {.dtype = "int32"})));  // -0.51872075
KILN_API Tensor ctc_cost(const Operand& predict, const Operand& Y);

}  // namespace kiln
