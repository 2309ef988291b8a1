// Host functions with data-dependent result shapes (host_functions.h) that select by values.
#pragma once

#include <kiln/array.h>

#include <span>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// "unique_rows": the distinct rows of an int64 or float64 matrix (n, m); NaNs are equal, and
/// larger than all numbers. The payload is "sorted", for the lexicographic order of rows, or
/// "first", for the order of their first occurrences. Results: the first occurrence and the number
/// of occurrences of each distinct row, int64 (distinct, 2), and which of them each row is, int64
/// (n). O(n log n) comparisons of rows.
std::vector<Array> unique_rows(std::string_view payload, std::span<const Array> inputs);

/// "non_max_suppression", of each class of each batch by itself: the boxes by descending score, of
/// equal ones by ascending number, without those whose score is not above the score threshold, and
/// those whose intersection over union with one selected before is above the IoU threshold. Inputs:
/// boxes float32 (batches, n, 4), scores float32 (batches, classes, n), the maximal number of boxes
/// per class, int64 (), the IoU and the score threshold, float32 (). The payload is "corners", for
/// boxes [y1, x1, y2, x2] with any two opposite corners, or "center", for [x, y, width, height].
/// Result: batch, class and box of each selected one, int64 (count, 3). ValueError for an IoU
/// threshold outside 0 .. 1.
std::vector<Array> non_max_suppression(std::string_view payload, std::span<const Array> inputs);

}  // namespace kiln::runtime
