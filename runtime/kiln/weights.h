// Saving and loading the values of variables as safetensors files.
#pragma once

#include <kiln/variable.h>

namespace kiln {

struct LoadWeightsOptions {
  /// Every variable must be in the file and every entry of the file must be a variable, with equal
  /// dtypes. When false, what matches by name is cast and loaded and the rest is left alone; shapes
  /// have to be equal all the same.
  bool strict = true;
};

/// Writes the variables' values, all of one moment, under their names. The file is written beside
/// `path` and renamed, so that a failure leaves an older file whole.
/// Errors: TypeError for a tensor that is no variable; ValueError for a variable without a name or
/// a name that occurs twice; IoError.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::save_weights("model.safetensors", {w});
KILN_API void save_weights(const std::string& path, const std::vector<Tensor>& variables,
                           Where where = Where::here());

/// Sets the variables to the file's values: all of them or, on an error, none.
/// Errors: IoError for a file that cannot be read or is damaged; ValueError with a table of name,
/// file shape, variable shape and near-miss names where they do not match.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::save_weights("model.safetensors", {w});
///     K::set_value(w, {0, 0});
///     K::load_weights("model.safetensors", {w});
///     K::get_value(w);  // [1. 2.]
KILN_API void load_weights(const std::string& path, const std::vector<Tensor>& variables,
                           const LoadWeightsOptions& options = {}, Where where = Where::here());

}  // namespace kiln
