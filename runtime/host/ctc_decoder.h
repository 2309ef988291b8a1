// CTC functions that run on the host because their result shapes are data-dependent. The blank is
// the last class.
#pragma once

#include <kiln/array.h>

#include <span>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// "ctc_greedy": best-path decoding. Inputs: scores float64 (samples, steps, classes),
/// probabilities that need not be normalised, and lengths int64 (samples). Results: the best class
/// of each step, repeats merged and blanks removed, int64 (samples, longest) padded with -1; and
/// the negative sum of the logarithms of the best scores, float64 (samples, 1). ValueError for a
/// length outside 0 .. steps.
std::vector<Array> ctc_greedy(std::string_view payload, std::span<const Array> inputs);

/// "ctc_beam_search": prefix beam search (Graves 2012, as TensorFlow implements it). Inputs as for
/// ctc_greedy; the payload is "beam_width top_paths merge_repeated" in decimal. Results: the
/// top_paths best label sequences, one array each, then the logarithms of their probabilities,
/// float64 (samples, top_paths). Missing sequences are empty, with probability 0.
std::vector<Array> ctc_beam_search(std::string_view payload, std::span<const Array> inputs);

/// "ctc_label_indices": row and column of each label before its row's length, in row-major order,
/// int64 (count, 2). Inputs: the width, int64 (), and the lengths, int64 (samples). ValueError for
/// a length outside 0 .. width.
std::vector<Array> ctc_label_indices(std::string_view payload, std::span<const Array> inputs);

/// "ctc_skip_idxs": the odd i with labels[i] != labels[i + 2]. Input: labels between blanks, int64
/// (n).
std::vector<Array> ctc_skip_idxs(std::string_view payload, std::span<const Array> inputs);

}  // namespace kiln::runtime
