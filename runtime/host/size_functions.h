// Sizing functions (host_functions.h) for sizes that are data. Each result is an array without
// elements, whose first dim is the size. They throw ValueError in terms of the call that was made.
#pragma once

#include <kiln/array.h>

#include <span>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// The entries of an int64 vector; none may be negative. The payload is the argument's name.
std::vector<Array> sizes(std::string_view payload, std::span<const Array> inputs);
/// The same for a vector in which one entry may be -1, and the number of elements.
std::vector<Array> reshape_sizes(std::string_view payload, std::span<const Array> inputs);
/// start, size (or -1) and the size of the axis, int64 scalars. The payload is "size[axis]".
std::vector<Array> slice_size(std::string_view payload, std::span<const Array> inputs);
/// start, stop and step, int64 or float64 scalars. The payload is the dtype of the elements.
std::vector<Array> range_length(std::string_view payload, std::span<const Array> inputs);

}  // namespace kiln::runtime
