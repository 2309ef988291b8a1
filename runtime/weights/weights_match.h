// Matches tensors of a file to variables; describes mismatches as a table.
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
  std::string other_dtype = {};  // of a tensor with a dtype that Kiln lacks
  std::vector<std::string> other_names = {};  // under which it is found, too
};

struct WeightPair {
  std::size_t tensor = 0, variable = 0;  // indices
};

/// The properties that must agree, as in LoadWeightsOptions.
struct WeightMatchRules {
  bool strict = true;
  bool skip_mismatch = false;
  bool by_order = false;  // pairs tensor i with variable i, whatever their names
};

struct WeightMatch {
  std::vector<WeightPair> pairs;                           // in the variables' order
  std::vector<std::size_t> missing_variables, unused_tensors;  // indices, ascending
};

/// Pairs tensors and variables of equal names, or else of an equal other name. Dims must be equal;
/// if `strict`, dtypes as well, and every tensor and variable must have a partner. Otherwise one
/// variable must have, if there are any, and the caller casts. `skip_mismatch` leaves pairs with
/// other dims out. ValueError of the running call, else of load_weights, with a table of name, file
/// shape, variable shape and problem, with near-miss names and the permutation of axes that would
/// fit. REQUIRES: names are distinct among the tensors, and among the variables.
WeightMatch match_weights(std::span<const WeightSlot> tensors,
                          std::span<const WeightSlot> variables, WeightMatchRules rules,
                          const std::string& path, Where where = {});

/// Returns the near miss among `names`: the one with the fewest edits, at most 2 or a third of the
/// length of `name`; names that differ only by a prefix count as equal. Empty if there is none.
/// nearest_name() of core/types, for misspelled words, allows 2 edits and no prefix.
std::string near_name(const std::string& name, std::span<const std::string> names);

}  // namespace kiln::runtime
