// Saves the values of variables, and loads them from files of Kiln and of other programs.
// kiln/checkpoint.h saves all that a training needs to go on, kiln/files.h reads arrays.
#pragma once

#include <kiln/variable.h>

#include <functional>
#include <map>
#include <string>

namespace kiln {

/// The texts of a file's `__metadata__` by their keys, all UTF-8. A later occurrence of a key in a
/// file replaces earlier ones.
using WeightsMetadata = std::map<std::string, std::string>;

struct SaveWeightsOptions {
  WeightsMetadata metadata = {};  ///< the file's `__metadata__`; empty: the file has none
};

/// How tensors of a file and variables become pairs.
enum class Match {
  ByName,
  ByOrder,  ///< the first tensor of the file with the first variable, and so on, as Keras loads
};

struct LoadWeightsOptions {
  /// True: variables and tensors of the file must match one to one, with equal dtypes. False: loads
  /// and casts tensors that match a variable by name and skips the rest, but at least one of the
  /// variables must match; shapes must be equal unless skip_mismatch is set.
  Flag strict = true;
  /// Skips variables whose tensors have another shape, as the last layer for other classes: they
  /// are unchanged, and named in `missing` and `unused`. At least one variable must be loaded.
  Flag skip_mismatch = false;
  /// ByOrder: names need not agree, counts and shapes must. ValueError for files whose tensors are
  /// sorted by their names: safetensors, .weights.h5 of Keras 3, and HDF5 of others than Keras.
  Match match = Match::ByName;
  /// Returns the name under which a tensor of the file is matched. ValueError if it gives a name to
  /// two tensors.
  std::function<std::string(const std::string& name)> rename = {};
  /// Returns the value for a tensor that has a variable, by its (renamed) name or by order; its
  /// shape is then compared. For example K::transposed(array, {1, 0}).
  std::function<Array(const std::string& name, const Array& array)> transform = {};
  /// Called with the file's metadata before it is matched; throws to reject the file, which changes
  /// no variable.
  std::function<void(const WeightsMetadata&)> check = {};
};

/// The names that load_weights loaded and skipped; without `strict` the latter may be many.
struct LoadedWeights {
  std::vector<std::string> loaded;  ///< in the order of the variables
  std::vector<std::string> missing;  ///< variables that it did not set
  std::vector<std::string> unused;  ///< tensors of the file that no variable got, in its order
};

/// Writes one snapshot of the variables' values under their names, as a NumPy archive if the path
/// ends in .npz, as a NumPy array, without its name, if it ends in .npy, as HDF5 in the layout of
/// Keras 2, which Keras loads by order, if it ends in .h5 or .hdf5, else as safetensors. Replaces
/// the file atomically: a failure leaves an older file unchanged.
/// Errors: TypeError for a tensor that is not a variable; ValueError for a variable without a name,
/// a name that occurs twice, metadata that is not UTF-8, metadata in another format than
/// safetensors, .weights.h5 and .keras, which are Keras 3's, and unless .npy gets one variable;
/// IoError.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::save_weights("model.safetensors", {w});
KILN_API void save_weights(const StringArgument& path, const std::vector<Tensor>& variables,
                           Where where = Where::here());
KILN_API void save_weights(const StringArgument& path, const std::vector<Tensor>& variables,
                           const SaveWeightsOptions& options, Where where = Where::here());

/// Sets the variables to the values of a safetensors, .npz, .npy, .h5, .keras or .kiln file, which
/// is recognised by its content: all, or none on an error. Reads only the tensors that it loads or
/// transforms, whatever the dtypes of others. Tensors of Keras' files match the variables of layers
/// of the same names: by "layer/kernel", by the path in the file, and those that Keras 3 numbers,
/// "layer/0", by the order in which a layer made its variables, if all of them are given. Returns
/// the names that it loaded and skipped.
/// Errors: IoError for a file that cannot be read, is damaged or of another format, which it names;
/// ValueError for a variable without a name and a name that occurs twice, also if `match` is
/// ByOrder, and, with a table of name, file shape, variable shape and near-miss names, for
/// mismatches and if no variable is in the file; TypeError for a tensor that is not a variable.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::save_weights("model.safetensors", {w});
///     K::set_value(w, {0, 0});
///     K::load_weights("model.safetensors", {w}).loaded;  // {w}
///     K::get_value(w);  // [1. 2.]
KILN_API LoadedWeights load_weights(const StringArgument& path,
                                    const std::vector<Tensor>& variables,
                                    const LoadWeightsOptions& options = {},
                                    Where where = Where::here());

/// Returns the metadata of a file, which only safetensors have; reads its header only. Errors:
/// IoError as for load_weights.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::save_weights("model.safetensors", {w}, {.metadata = {{"classes", "cat dog"}}});
///     K::weights_metadata("model.safetensors").at("classes");  // cat dog
[[nodiscard]] KILN_API WeightsMetadata weights_metadata(const StringArgument& path,
                                                        Where where = Where::here());

}  // namespace kiln
