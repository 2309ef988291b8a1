// What ctc_decode and ctc_create_skip_idxs run on the host, because they decide the sizes of their
// results. The blank is the last class.
#pragma once

#include <kiln/array.h>

#include <span>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// "ctc_greedy": of scores float64 (samples, steps, classes), probabilities that need not add up to
/// 1, and lengths int64 (samples): the best class of each step, equal neighbours merged, blanks
/// dropped, as int64 (samples, longest) padded with -1, and the negative sum of the logarithms of
/// the best scores, float64 (samples, 1). ValueError for a length outside 0 .. steps.
std::vector<Array> ctc_greedy(std::string_view payload, std::span<const Array> inputs);

/// "ctc_beam_search": the same inputs; payload "beam_width top_paths merge_repeated" in decimal.
/// Prefix beam search (Graves 2012, as TensorFlow implements it): the top_paths best label
/// sequences, one array each, then the logarithms of their probabilities, float64 (samples,
/// top_paths). Where there are fewer sequences, empty ones of probability 0.
std::vector<Array> ctc_beam_search(std::string_view payload, std::span<const Array> inputs);

/// "ctc_label_indices": of a width and lengths, int64 () and (samples): row and column of each
/// element before the length, row by row, int64 (count, 2). ValueError for a length outside.
std::vector<Array> ctc_label_indices(std::string_view payload, std::span<const Array> inputs);

/// "ctc_skip_idxs": of labels between blanks, int64 (n): the odd i with labels[i] != labels[i + 2].
std::vector<Array> ctc_skip_idxs(std::string_view payload, std::span<const Array> inputs);

}  // namespace kiln::runtime
