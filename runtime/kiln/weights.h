// Saves and loads the values of variables as safetensors files.
#pragma once

#include <kiln/variable.h>

namespace kiln {

struct LoadWeightsOptions {
  /// True: variables and tensors of the file must match one to one, with equal dtypes. False: loads
  /// and casts tensors that match a variable by name and skips the rest, but at least one must
  /// match; shapes must be equal.
  Flag strict = true;
};

/// The names that load_weights loaded and skipped; without `strict` the latter may be many.
struct LoadedWeights {
  std::vector<std::string> loaded;  ///< in the order of the variables
  std::vector<std::string> missing;  ///< variables that the file does not have; they are unchanged
  std::vector<std::string> unused;  ///< tensors of the file without a variable, in its order
};

/// Writes one snapshot of the variables' values under their names. Replaces the file atomically: a
/// failure leaves an older file unchanged.
/// Errors: TypeError for a tensor that is not a variable; ValueError for a variable without a name
/// or a name that occurs twice; IoError.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::save_weights("model.safetensors", {w});
KILN_API void save_weights(const StringArgument& path, const std::vector<Tensor>& variables,
                           Where where = Where::here());

/// Sets the variables to the file's values: all, or none on an error. Reads only the tensors that
/// it loads, whatever the dtypes of others. Returns the names that it loaded and skipped.
/// Errors: IoError for a file that cannot be read, is damaged or of another format, which it names;
/// ValueError with a table of name, file shape, variable shape and near-miss names for mismatches,
/// and if no variable is in the file; TypeError for a tensor that is not a variable.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::save_weights("model.safetensors", {w});
///     K::set_value(w, {0, 0});
///     K::load_weights("model.safetensors", {w}).loaded;  // {w}
///     K::get_value(w);  // [1. 2.]
KILN_API LoadedWeights load_weights(const StringArgument& path,
                                    const std::vector<Tensor>& variables,
                                    const LoadWeightsOptions& options = {},
                                    Where where = Where::here());

}  // namespace kiln
