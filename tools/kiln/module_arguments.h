// The values that a module runs with: read from files, or random.
#pragma once

#include "core/module/module.h"

#include <kiln/array.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kiln::tool {

struct RunOptions {
  /// Of the random values. Unset: 0, but with files of inputs nothing is drawn.
  std::optional<unsigned> seed = {};
  /// Sizes of symbols by name. Others are those of the inputs that are read, else 3.
  std::map<std::string, std::int64_t> sizes = {};
  std::vector<std::string> inputs = {};  // files of arrays; the last one with a name counts
};

/// The values of the inputs, then of the variables.
struct Arguments {
  std::vector<Array> values;
  std::map<std::string, std::string> metadata = {};  // of the files
  std::vector<std::string> sizes_by_default = {};  // names of symbols that are 3
};

/// Reads values by their names (runtime/replay/argument_names.h) and casts them to the module's
/// dtypes. Values that no file has are drawn if there is no file or a seed is given: floats from
/// [-1, 1), integers from 0 to 2, bools. Errors: IoError; ValueError for a value that no file has,
/// for one of another shape or with another size than `sizes`, for an element that an integer dtype
/// cannot hold, fractions included, and where random values do not fit into this machine's memory.
Arguments arguments_of(const module::Module& module, const RunOptions& options);

}  // namespace kiln::tool
