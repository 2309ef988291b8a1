// Keras 1 and 2 load weights in the order of the lists in a file's attributes, which is the order
// here. Keras 3 loads by path: its files have no order but by the config of an archive.
#include "runtime/weights/keras_layout.h"

#include "core/types/text.h"
#include "runtime/files/quoted_name.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace kiln::runtime {
namespace {

constexpr std::string_view kVars = "vars", kModelWeights = "model_weights",
                           kTopLevel = "top_level_model_weights";

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

/// Whether `text` is `word`, or `word` and a number: "dense", "dense_1".
bool is_numbered(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return text.empty() || (text[0] == '_' && is_number(text.substr(1)));
}

/// Whether the word is the name of the cell of a recurrent layer, "lstm_cell_1".
bool is_cell(std::string_view word) {
  const std::size_t cell = word.rfind("_cell");
  return cell != word.npos && is_numbered(word.substr(cell), "_cell");
}

std::string join_path(std::string_view begin, std::string_view end) {
  return begin.empty() ? std::string(end) : text(begin, "/", end);
}

/// "a/kernel" of "inner/a/kernel".
std::string_view last_two(std::string_view name) {
  const std::size_t last = name.rfind('/');
  const std::size_t before = last == name.npos || last == 0 ? name.npos : name.rfind('/', last - 1);
  return before == name.npos ? name : name.substr(before + 1);
}

std::string_view without_number(std::string_view weight) {
  const std::size_t colon = weight.rfind(':');
  const bool has_number = colon != weight.npos && is_number(weight.substr(colon + 1));
  return has_number ? weight.substr(0, colon) : weight;
}

/// Whether the words that end at `end` are the layer's name, "block/conv" or "block/conv_1".
bool ends_in_layer(std::span<const std::string_view> words, std::span<const std::string_view> layer,
                   std::size_t end) {
  if (end < layer.size() || !is_numbered(words[end - 1], layer.back())) return false;
  return std::equal(layer.begin(), layer.end() - 1, words.begin() + (end - layer.size()));
}

/// The name of a weight of a layer: that of the layer, and of the weight the part after the layer.
/// Names of layers of Keras 2 may have slashes.
std::string weight_name(std::string_view layer, std::string_view weight) {
  std::string name(layer);
  std::vector<std::string_view> words = path_parts(weight);
  const std::vector<std::string_view> layer_words = path_parts(layer);
  for (std::size_t end = words.size() - 1; end > 0; --end) {
    if (!ends_in_layer(words, layer_words, end)) continue;
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(end));
    break;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i + 1 == words.size() || !is_cell(words[i])) name = join_path(name, words[i]);
  }
  return name;
}

using Indices = std::unordered_map<std::string_view, std::size_t>;

Indices indices_of(const std::vector<Hdf5Object>& objects) {
  Indices indices;
  for (std::size_t i = 0; i < objects.size(); ++i) indices.emplace(objects[i].path, i);
  return indices;
}

/// The texts of an attribute; long lists are in several, "layer_names0", "layer_names1".
std::vector<std::string> list_of(const Hdf5Reader& file, std::size_t object,
                                 const char* attribute) {
  std::vector<std::string> list = file.texts(object, attribute);
  if (!list.empty()) return list;
  for (int part = 0;; ++part) {
    const std::vector<std::string> more = file.texts(object, text(attribute, part).c_str());
    if (more.empty()) return list;
    list.insert(list.end(), more.begin(), more.end());
  }
}

/// The layout that Keras 1 and 2 write.
class ListedLayers {
 public:
  explicit ListedLayers(const Hdf5Reader& file)
      : file_(file), indices_(indices_of(file.objects())) {}

  /// Nothing if the file has none.
  std::optional<KerasLayout> layout() {
    for (const std::string_view root : {std::string_view(""), kModelWeights}) {
      const auto group = indices_.find(root);
      if (group == indices_.end()) continue;
      const std::vector<std::string> layers = list_of(file_, group->second, kLayerNames);
      if (layers.empty()) continue;
      const std::vector<std::string> backend = file_.texts(group->second, kBackend);
      is_of_kiln_ = backend == std::vector<std::string>{kKilnBackend};
      for (const std::string& layer : layers) add_layer(root, layer);
      if (indices_.contains(join_path(root, kTopLevel))) add_layer(root, std::string(kTopLevel));
      return KerasLayout{.format = "Keras HDF5 file (.h5)",
                         .keeps_order = true,
                         .is_numbered = false,
                         .weights = std::move(weights_)};
    }
    return std::nullopt;
  }

 private:
  void add_layer(std::string_view root, const std::string& layer) {
    const std::string path = join_path(root, layer);
    const auto group = indices_.find(path);
    if (group == indices_.end()) {
      file_.reject(text("is damaged: it has no group of its layer ", quoted_name(layer)));
    }
    if (!layers_.insert(layer).second) {
      file_.reject(text("is damaged: it lists layer ", quoted_name(layer), " twice"));
    }
    for (const std::string& weight : list_of(file_, group->second, kWeightNames)) {
      add_weight(path, layer, weight);
    }
  }

  void add_weight(const std::string& group, const std::string& layer, const std::string& weight) {
    const std::string path = join_path(group, weight);
    const auto object = indices_.find(path);
    if (object == indices_.end() || !file_.objects()[object->second].is_dataset) {
      file_.reject(
          text("is damaged: layer ", quoted_name(layer), " has no weight ", quoted_name(weight)));
    }
    if (!datasets_.insert(object->second).second) {
      file_.reject(text("is damaged: it lists weight ", quoted_name(path), " twice"));
    }
    const std::string_view plain = is_of_kiln_ ? weight : without_number(weight);
    const std::string name = is_of_kiln_ ? weight : weight_name(layer, plain);
    weights_.push_back(
        {.object = object->second,
         .name = name,
         .other_names = {path, std::string(plain), std::string(last_two(plain)),
                         std::string(last_two(name)), join_path(layer, path_parts(plain).back())}});
  }

  const Hdf5Reader& file_;
  const Indices indices_;
  bool is_of_kiln_ = false;
  std::set<std::string> layers_;
  std::set<std::size_t> datasets_;
  std::vector<KerasWeight> weights_;
};

/// The layout of Keras 3: datasets "layers/lstm/cell/vars/0", whose groups "vars" may have an
/// attribute with the layer's name.
class NumberedLayers {
 public:
  NumberedLayers(const Hdf5Reader& file, const KerasConfig& config)
      : file_(file), config_(config), indices_(indices_of(file.objects())) {}

  static bool is_weight(const Hdf5Object& object) {
    const std::vector<std::string_view> words = path_parts(object.path);
    return object.is_dataset && words.size() > 1 && words[words.size() - 2] == kVars &&
           is_number(words.back());
  }

  KerasLayout layout() {
    KerasLayout layout{.format = "Keras 3 HDF5 file (.weights.h5)",
                       .keeps_order = false,
                       .is_numbered = true,
                       .weights = {}};
    for (std::size_t i = 0; i < file_.objects().size(); ++i) {
      const Hdf5Object& object = file_.objects()[i];
      if (!object.is_dataset || is_state(object)) continue;
      KerasWeight weight{.object = i, .name = object.path, .other_names = {object.path}};
      if (is_weight(object)) add_names(weight);
      layout.weights.push_back(std::move(weight));
    }
    layout.keeps_order = sort(layout.weights);
    return layout;
  }

 private:
  /// The position of the weight's layer, and its number, which may have many digits.
  using Place = std::tuple<std::size_t, std::size_t, std::string_view>;

  std::optional<Place> place_of(const KerasWeight& weight) const {
    const std::string_view path = file_.objects()[weight.object].path;
    const auto layer = config_.find(layer_of(layer_of(path)));
    if (layer == config_.end() || !is_weight(file_.objects()[weight.object])) return std::nullopt;
    const std::string_view number = path_parts(path).back();
    return Place{layer->second.position, number.size(), number};
  }

  /// Sorts the weights as the config's layers, if all are of such. Whether they are.
  bool sort(std::vector<KerasWeight>& weights) const {
    std::vector<std::pair<Place, KerasWeight>> places;
    for (const KerasWeight& weight : weights) {
      const std::optional<Place> place = place_of(weight);
      if (!place) return false;
      places.emplace_back(*place, weight);
    }
    if (places.empty()) return false;
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < places.size(); ++i) weights[i] = std::move(places[i].second);
    return true;
  }

  /// Whether the dataset is of an optimizer, a metric (of Keras 2) or a random generator.
  static bool is_state(const Hdf5Object& object) {
    const std::vector<std::string_view> words = path_parts(object.path);
    return is_weight(object) &&
           (words[0] == "optimizer" || words[0] == "metrics" ||
            std::find(words.begin(), words.end(), "seed_generator") != words.end());
  }

  /// Adds the names of the layers that hold the weight, one in another, and that of its own layer;
  /// none if this one has no name.
  void add_names(KerasWeight& weight) {
    const std::vector<std::string_view> words = path_parts(weight.other_names[0]);
    std::string group, name, layer;
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      group = join_path(group, words[i]);
      layer = layer_name(group);
      if (!layer.empty() && !is_cell(layer)) name = join_path(name, layer);
    }
    if (layer.empty()) return;
    weight.name = join_path(name, words.back());
    weight.other_names.push_back(join_path(layer, words.back()));
  }

  /// The attribute of the group "vars" of a layer's group, or else its name in the config; empty if
  /// there is none.
  const std::string& layer_name(const std::string& group) {
    const auto [entry, is_new] = names_.try_emplace(group);
    if (!is_new) return entry->second;
    const auto found = indices_.find(join_path(group, kVars));
    if (found != indices_.end()) {
      const std::vector<std::string> texts = file_.texts(found->second, "name");
      if (texts.size() == 1) entry->second = texts[0];
    }
    const auto known = config_.find(group);
    if (entry->second.empty() && known != config_.end()) entry->second = known->second.name;
    return entry->second;
  }

  const Hdf5Reader& file_;
  const KerasConfig& config_;
  const Indices indices_;
  std::map<std::string, std::string> names_;  // by group
};

KerasLayout all_datasets(const Hdf5Reader& file) {
  KerasLayout layout{
      .format = "plain HDF5 file (.h5)", .keeps_order = false, .is_numbered = false, .weights = {}};
  for (std::size_t i = 0; i < file.objects().size(); ++i) {
    if (file.objects()[i].is_dataset) layout.weights.push_back({i, file.objects()[i].path, {}});
  }
  return layout;
}

/// Gives weights whose names are not unique their paths, and leaves out such other names.
void make_distinct(std::vector<KerasWeight>& weights, const Hdf5Reader& file) {
  std::map<std::string, int> names, others;
  for (const KerasWeight& weight : weights) {
    ++names[weight.name];
    for (const std::string& other :
         std::set(weight.other_names.begin(), weight.other_names.end())) {
      ++others[other];
    }
  }
  std::set<std::string> taken;
  for (KerasWeight& weight : weights) {
    const std::string& path = file.objects()[weight.object].path;
    if (names[weight.name] > 1) weight.name = path;
    std::erase_if(weight.other_names, [&](const std::string& other) {
      return others[other] > 1 || other == weight.name;
    });
    if (taken.insert(weight.name).second) continue;
    file.reject(text("is damaged: two weights are named ", quoted_name(weight.name)));
  }
}

}  // namespace

KerasLayout keras_layout(const Hdf5Reader& file, const KerasConfig& config) {
  const std::vector<Hdf5Object>& objects = file.objects();
  std::optional<KerasLayout> layout = ListedLayers(file).layout();
  if (!layout) {
    const bool is_numbered = std::any_of(objects.begin(), objects.end(), NumberedLayers::is_weight);
    layout = is_numbered ? NumberedLayers(file, config).layout() : all_datasets(file);
  }
  make_distinct(layout->weights, file);
  return *std::move(layout);
}

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string numbered_name(const std::string& layer, std::size_t i) { return text(layer, "/", i); }

std::string_view layer_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == name.npos ? std::string_view() : name.substr(0, slash);
}

}  // namespace kiln::runtime
