// Which tensor of a file is the value of which variable, and the table that is shown when that is
// not clear.
#pragma once

#include <kiln/dtype.h>
#include <kiln/where.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

/// A tensor of the file, or a variable.
struct WeightSlot {
  std::string name;
  DType dtype = DType::Float32;
  std::vector<std::int64_t> dims;
};

struct WeightPair {
  std::size_t tensor = 0, variable = 0;  // indices
};

/// Pairs equal names, in the variables' order. Dims have to be equal. Strict: dtypes too, and no
/// tensor and no variable may be left over; otherwise what is left over is passed by, and
/// the caller casts.
/// Throws ValueError "load_weights: ..." with a table of name, file shape, variable shape and what
/// is wrong: near-miss names, and the permutation of axes that would fit.
/// REQUIRES: names are distinct on either side.
std::vector<WeightPair> match_weights(std::span<const WeightSlot> tensors,
                                      std::span<const WeightSlot> variables, bool strict,
                                      const std::string& path, Where where = {});

/// The one of `names` that was probably meant by `name`; empty when none is near.
std::string nearest_name(const std::string& name, std::span<const std::string> names);

}  // namespace kiln::runtime
