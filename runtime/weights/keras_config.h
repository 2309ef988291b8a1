// The names of layers by the groups of their weights, from the config.json of a .keras archive.
// Weights of early releases of Keras 3, and of Keras 2 in this format, have no names of layers.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace kiln::runtime {

struct KerasConfigLayer {
  std::string name;
  std::size_t position = 0;  // in the order of the model's weights
};

/// By the path of a group: "layers/dense_1".
using KerasConfig = std::map<std::string, KerasConfigLayer, std::less<>>;

/// Names groups as Keras does: by the layer's class, in the order of the model's layers. Groups
/// within layers are known for nested models, wrappers, cells and MultiHeadAttention. Empty for
/// models that have no list of layers, which are those of users' classes, and for a text that is no
/// JSON.
KerasConfig read_keras_config(std::string_view config);

}  // namespace kiln::runtime
