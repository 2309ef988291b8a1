// Casts of single numbers in long double arithmetic, which share no code with Kiln: neither
// convert_elements, which `reference` runs, nor Array::astype.
#pragma once

#include <kiln/array.h>

#include <cstddef>
#include <vector>

namespace kiln::test {

/// x of one dtype, cast to another. REQUIRES: rounding to nearest.
long double one_cast(long double x, DType from, DType to);

/// The numbers that a dtype can hold, as elements and by their meaning: subnormals as zeros.
struct Grid {
  Array elements = Array();
  std::vector<long double> values;
};

/// The grid of each dtype, in the order of DType: numbers around every limit of every dtype, ties
/// of roundings, halves, subnormals.
const std::vector<Grid>& grids();

/// The element at i of the array, by its meaning. REQUIRES: i < array.size().
long double element(const Array& array, std::size_t i);

}  // namespace kiln::test
