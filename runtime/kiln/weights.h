// Saves and loads the values of variables as safetensors files.
#pragma once

#include <kiln/variable.h>

namespace kiln {

struct LoadWeightsOptions {
  /// True: variables and tensors of the file must match one to one, with equal dtypes. False: loads
  /// and casts tensors that match a variable by name and ignores the rest; shapes must be equal.
  bool strict = true;
};

/// Writes one snapshot of the variables' values under their names. Replaces the file atomically: a
/// failure leaves an older file unchanged.
/// Errors: TypeError for a tensor that is not a variable; ValueError for a variable without a name
/// or a name that occurs twice; IoError.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::save_weights("model.safetensors", {w});
KILN_API void save_weights(const std::string& path, const std::vector<Tensor>& variables,
                           Where where = Where::here());

/// Sets the variables to the file's values: all, or none on an error.
/// Errors: IoError for a file that cannot be read or is damaged; ValueError with a table of name,
/// file shape, variable shape and near-miss names for mismatches; TypeError for a tensor that is
/// not a variable.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::save_weights("model.safetensors", {w});
///     K::set_value(w, {0, 0});
///     K::load_weights("model.safetensors", {w});
///     K::get_value(w);  // [1. 2.]
KILN_API void load_weights(const std::string& path, const std::vector<Tensor>& variables,
                           const LoadWeightsOptions& options = {}, Where where = Where::here());

}  // namespace kiln
