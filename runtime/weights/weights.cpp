// save_weights and load_weights: names and values of variables, the file (array_formats.h) and the
// matching of names and shapes (weights_match.h).
#include <kiln/weights.h>

#include "core/k/base/tensor_impl.h"
#include "runtime/array/host_values.h"
#include "runtime/files/quoted_name.h"
#include "runtime/weights/array_formats.h"
#include "runtime/weights/keras_layout.h"
#include "runtime/weights/user_file.h"
#include "runtime/weights/weights_match.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace kiln {
namespace {

using runtime::ArrayFile;
using runtime::NamedArray;
using runtime::TensorEntry;
using runtime::WeightMatch;
using runtime::WeightPair;
using runtime::WeightSlot;
using runtime::with_file;

std::string name_of(const std::vector<Tensor>& variables, std::size_t i) {
  const ir::Value value = value_of(variables, i, "variables");
  if (value.node->op != ir::Op::Variable) {
    Call::type_error("variables",
                     text("variables[", i, "] is not a variable (", variables[i], ")"));
  }
  const std::string& name = value.node->as<ir::VariableAttrs>().name;
  if (name.empty()) {
    Call::value_error("variables", text("variables[", i, "] has no name (", variables[i], ")"));
  }
  return name;
}

std::vector<std::string> names_of(const std::vector<Tensor>& variables) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    names.push_back(name_of(variables, i));
    if (seen.insert(names.back()).second) continue;
    Call::value_error("variables", text("two variables are named '", names.back(), "'"));
  }
  return names;
}

std::vector<WeightSlot> slots_of(const std::vector<Tensor>& variables, Where where) {
  const std::vector<std::string> names = names_of(variables);
  std::vector<WeightSlot> slots;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const DType dtype = value_of(variables[i], "variables").dtype();
    slots.push_back({names[i], dtype, get_variable_shape(variables[i], where)});
  }
  return slots;
}

/// The tensors of a file under the names and with the values that the user's options give them.
class NamedTensors {
 public:
  NamedTensors(const ArrayFile& file, const LoadWeightsOptions& options)
      : file_(file), options_(options), values_(file.tensors().size()) {
    std::map<std::string, std::string> names;  // names in the file, by those that match variables
    for (const TensorEntry& tensor : file.tensors()) {
      const std::string name = options.rename ? options.rename(tensor.name) : tensor.name;
      const auto [first, is_new] = names.emplace(name, tensor.name);
      if (!is_new) {
        Call::value_error("rename", text("rename gives the name ", runtime::quoted_name(name),
                                         " to ", runtime::quoted_name(first->second), " and to ",
                                         runtime::quoted_name(tensor.name)));
      }
      slots_.push_back({name, tensor.dtype, tensor.dims, tensor.other_dtype});
      if (!options.rename) slots_.back().other_names = tensor.other_names;
    }
  }

  const std::vector<WeightSlot>& slots() const { return slots_; }

  /// Applies the user's transform to each tensor i with is_wanted(i): its slot has the dims and the
  /// dtype of the result from then on.
  template <class IsWanted>
  void transform(const IsWanted& is_wanted) {
    if (!options_.transform) return;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].other_dtype.empty() || !is_wanted(i)) continue;
      values_[i] = options_.transform(slots_[i].name, file_.read(file_.tensors()[i]));
      slots_[i].dtype = values_[i]->dtype();
      slots_[i].dims.assign(values_[i]->dims().begin(), values_[i]->dims().end());
    }
  }

  /// The value of tensor i, transformed or read. REQUIRES: the first call for i.
  Array value(std::size_t i) {
    return values_[i] ? *std::move(values_[i]) : file_.read(file_.tensors()[i]);
  }

 private:
  const ArrayFile& file_;
  const LoadWeightsOptions& options_;
  std::vector<WeightSlot> slots_;
  std::vector<std::optional<Array>> values_;  // of transformed tensors, until value() moves them
};

/// Adds the names of Keras 3 to the slots of variables: "lstm/0" to the variable "lstm/..." that
/// was made first, "lstm/1" to the next. Leaves out a layer of which the file has another number of
/// tensors: some of its variables are not in `variables`, so that their numbers are unknown.
/// `tensors` have the names that .rename gives them.
void add_numbered_names(const std::vector<WeightSlot>& tensors,
                        const std::vector<Tensor>& variables, std::vector<WeightSlot>& slots) {
  std::map<std::string, std::size_t, std::less<>> counts;
  const auto count = [&](const std::string& name) {
    ++counts[std::string(runtime::layer_of(name))];
  };
  for (const WeightSlot& tensor : tensors) {
    count(tensor.name);
    for (const std::string& name : tensor.other_names) count(name);
  }
  std::map<std::string, std::map<std::int64_t, std::size_t>> layers;  // slots by ids of variables
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const ir::Node& node = *value_of(variables[i], "variables").node;
    const std::string layer(runtime::layer_of(slots[i].name));
    if (!layer.empty()) layers[layer][node.as<ir::VariableAttrs>().id] = i;
  }
  for (const auto& [layer, members] : layers) {
    const auto found = counts.find(layer);
    if (found == counts.end() || found->second != members.size()) continue;
    std::size_t number = 0;
    for (const auto& [id, slot] : members) {
      slots[slot].other_names.push_back(runtime::numbered_name(layer, number++));
    }
  }
}

/// Whether the set contains the name or another name of the slot.
bool has_name(const std::set<std::string>& names, const WeightSlot& slot) {
  return names.contains(slot.name) ||
         std::any_of(slot.other_names.begin(), slot.other_names.end(),
                     [&](const std::string& name) { return names.contains(name); });
}

/// Transforms the tensors that may match a variable: before they are matched, as the transform
/// changes their dims.
void transform_wanted(NamedTensors& tensors, const std::vector<WeightSlot>& variables,
                      bool by_order) {
  std::set<std::string> wanted;
  for (const WeightSlot& variable : variables) {
    wanted.insert(variable.name);
    wanted.insert(variable.other_names.begin(), variable.other_names.end());
  }
  tensors.transform([&](std::size_t i) {
    return by_order ? i < variables.size() : has_name(wanted, tensors.slots()[i]);
  });
}

void require_order(const ArrayFile& file, const std::string& path) {
  if (file.keeps_order()) return;
  Call::value_error("match", text("match is ByOrder, but ", path, " is a ", file.format(),
                                  ", whose tensors are sorted by their names"));
}

/// The file in the error of a mismatch. Names of Keras 3's weights are paths if a layer has none.
std::string described(const ArrayFile& file, const std::string& path) {
  const bool lacks_names =
      file.is_numbered() &&
      std::any_of(file.tensors().begin(), file.tensors().end(), [](const TensorEntry& tensor) {
        return runtime::layer_of(tensor.name).ends_with("/vars");
      });
  return lacks_names ? path + ", whose layers have no names but .rename's," : path;
}

std::vector<std::string> names_at(const std::vector<WeightSlot>& slots,
                                  const std::vector<std::size_t>& indices) {
  std::vector<std::string> names;
  for (const std::size_t i : indices) names.push_back(slots[i].name);
  return names;
}

/// Casts a tensor of the file to its variable's dtype.
Array cast_tensor(const NamedArray& tensor, DType dtype, const std::string& path) {
  return runtime::cast_host_value(
      tensor.value, dtype, [&](const runtime::UnrepresentableElement& element) {
        const std::string name = text("tensor ", runtime::quoted_name(tensor.name));
        Call::value_error("path", text(element.describe(name), " (", path, ")"));
      });
}

}  // namespace

void save_weights(const StringArgument& path, const std::vector<Tensor>& variables, Where where) {
  save_weights(path, variables, {}, where);
}

void save_weights(const StringArgument& path, const std::vector<Tensor>& variables,
                  const SaveWeightsOptions& options, Where where) {
  api_call("save_weights", where, [&] {
    const std::vector<std::string> names = names_of(variables);
    std::vector<Array> values = batch_get_value(variables, where);
    std::vector<NamedArray> tensors;
    for (std::size_t i = 0; i < names.size(); ++i) {
      tensors.push_back({names[i], std::move(values[i])});
    }
    with_file(where, [&] { runtime::write_array_file(path, tensors, options.metadata); });
  });
}

LoadedWeights load_weights(const StringArgument& path, const std::vector<Tensor>& variables,
                           const LoadWeightsOptions& options, Where where) {
  return api_call("load_weights", where, [&] {
    std::vector<WeightSlot> slots = slots_of(variables, where);
    return with_file(where, [&] {
      WeightsMetadata metadata;
      const auto file = runtime::open_array_file(path, options.check ? &metadata : nullptr);
      if (options.check) options.check(metadata);
      const bool by_order = options.match == Match::ByOrder;
      if (by_order) require_order(*file, path);
      NamedTensors tensors(*file, options);
      if (file->is_numbered()) add_numbered_names(tensors.slots(), variables, slots);
      transform_wanted(tensors, slots, by_order);
      const WeightMatch match = runtime::match_weights(
          tensors.slots(), slots,
          {.strict = options.strict, .skip_mismatch = options.skip_mismatch, .by_order = by_order},
          described(*file, path), where);
      std::vector<std::pair<Tensor, Array>> values;
      LoadedWeights result{.loaded = {},
                           .missing = names_at(slots, match.missing_variables),
                           .unused = names_at(tensors.slots(), match.unused_tensors)};
      for (const WeightPair& pair : match.pairs) {
        const NamedArray tensor{tensors.slots()[pair.tensor].name, tensors.value(pair.tensor)};
        values.emplace_back(variables[pair.variable],
                            cast_tensor(tensor, slots[pair.variable].dtype, path));
        result.loaded.push_back(slots[pair.variable].name);
      }
      batch_set_value(values, where);
      return result;
    });
  });
}

WeightsMetadata weights_metadata(const StringArgument& path, Where where) {
  return api_call("weights_metadata", where, [&] {
    return with_file(where, [&] {
      WeightsMetadata metadata;
      runtime::open_array_file(path, &metadata);
      return metadata;
    });
  });
}

}  // namespace kiln
