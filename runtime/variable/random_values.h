// Random values of new arrays, drawn on the host.
#pragma once

#include <kiln/array.h>

#include <cstdint>

namespace kiln::runtime {

/// Fills an array with numbers from U[low, high); with `low` if the two are equal. Equal seeds give
/// equal values. REQUIRES: a floating dtype; low <= high; both and high - low are finite; no copy
/// of the Array exists.
void fill_uniform(Array& value, std::uint64_t seed, double low, double high);
/// As above, from the normal distribution with that mean and standard deviation. REQUIRES: a
/// floating dtype; no copy of the Array exists.
void fill_normal(Array& value, std::uint64_t seed, double mean, double deviation);

}  // namespace kiln::runtime
