// Host functions with data-dependent result shapes (host_functions.h) that compute sizes. Each size
// is returned as an array [size,0] without elements. ValueErrors are phrased for the K function
// that the user called.
#pragma once

#include <kiln/array.h>

#include <span>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// Returns the elements of an int64 vector as sizes. The payload is the argument's name. ValueError
/// for a negative element.
std::vector<Array> sizes(std::string_view payload, std::span<const Array> inputs);
/// As sizes(), where one element may be -1; the second input is the number of elements, an int64
/// scalar. ValueError if the sizes do not fit that number.
std::vector<Array> reshape_sizes(std::string_view payload, std::span<const Array> inputs);
/// Returns the length of a slice. Inputs: start, size (-1: to the end) and the size of the axis,
/// int64 scalars. The payload is "size[axis]". ValueError for a slice outside of the axis.
std::vector<Array> slice_size(std::string_view payload, std::span<const Array> inputs);
/// Returns the length of arange. Inputs: start, stop and step, int64 or float64 scalars. The
/// payload is the dtype of the elements. ValueError for a step of 0, 2^63 elements or more, or an
/// element outside int32.
std::vector<Array> range_length(std::string_view payload, std::span<const Array> inputs);

}  // namespace kiln::runtime
