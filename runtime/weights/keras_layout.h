// The weights of an HDF5 file: those of Keras 1 and 2, which list layers and weights in attributes,
// those of Keras 3, which are numbered in groups "vars", or, in files of others, all datasets.
#pragma once

#include "runtime/weights/hdf5_reader.h"
#include "runtime/weights/keras_config.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct KerasWeight {
  std::size_t object = 0;  // its index in Hdf5Reader::objects()
  std::string name;
  std::vector<std::string> other_names;  // its path in the file, for one
};

struct KerasLayout {
  std::string_view format;
  bool keeps_order = false;  // that of Keras' layers; else weights are sorted by their paths
  bool is_numbered = false;  // weights are named "layer/0"
  std::vector<KerasWeight> weights;
};

/// Names have the form "layer/kernel" or "both/forward_lstm/kernel", as the variables of Kiln's
/// layers: without the name of a recurrent cell and ":0". Names of Keras 3 end in numbers, and the
/// states of its optimizer, metrics and random generators are left out. A name that two weights
/// would have is the path of each. IoError for lists that name no dataset. `config`, of an archive,
/// names the layers of Keras 3 that have no names in the file, and orders weights as the model does
/// if it has the layers of all of them.
KerasLayout keras_layout(const Hdf5Reader& file, const KerasConfig& config = {});

/// The parts of a path between its slashes: "a", "" and "b" of "a//b".
std::vector<std::string_view> path_parts(std::string_view path);

/// Returns the name under which Keras 3 numbers variable i of its layer, "lstm/0".
std::string numbered_name(const std::string& layer, std::size_t i);

/// The name of a weight without its last part: "both/forward_lstm" of "both/forward_lstm/kernel".
std::string_view layer_of(std::string_view name);

/// Attributes of files that Kiln writes.
inline constexpr const char* kLayerNames = "layer_names";
inline constexpr const char* kWeightNames = "weight_names";
inline constexpr const char* kBackend = "backend";
inline constexpr const char* kKilnBackend = "kiln";  // weights have their names as they are

}  // namespace kiln::runtime
