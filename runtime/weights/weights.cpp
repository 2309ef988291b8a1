// save_weights and load_weights: names and values of variables, the file format (safetensors.h) and
// the matching of names and shapes (weights_match.h).
#include <kiln/weights.h>

#include "core/k/base/tensor_impl.h"
#include "runtime/array/host_values.h"
#include "runtime/files/quoted_name.h"
#include "runtime/weights/safetensors.h"
#include "runtime/weights/weights_match.h"

#include <set>

namespace kiln {
namespace {

using runtime::NamedArray;
using runtime::SafetensorsFile;
using runtime::TensorEntry;
using runtime::WeightMatch;
using runtime::WeightPair;
using runtime::WeightSlot;

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

/// Returns work(); its errors name the user's call and line.
template <class Work>
auto with_file(Where where, Work work) {
  try {
    return work();
  } catch (const IoError& error) {
    throw IoError(Call::function(), "path", error.message(), Call::where());
  } catch (Error& error) {
    error.set_where(where);
    throw;
  }
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

std::vector<WeightSlot> slots_of(const std::vector<TensorEntry>& tensors) {
  std::vector<WeightSlot> slots;
  for (const TensorEntry& tensor : tensors) {
    slots.push_back({tensor.name, tensor.dtype, tensor.dims, tensor.other_dtype});
  }
  return slots;
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
    with_file(where, [&] { runtime::write_safetensors(path, tensors, options.metadata); });
  });
}

LoadedWeights load_weights(const StringArgument& path, const std::vector<Tensor>& variables,
                           const LoadWeightsOptions& options, Where where) {
  return api_call("load_weights", where, [&] {
    const std::vector<WeightSlot> slots = slots_of(variables, where);
    return with_file(where, [&] {
      WeightsMetadata metadata;
      const SafetensorsFile file(path, options.check ? &metadata : nullptr);
      if (options.check) options.check(metadata);
      const std::vector<WeightSlot> tensors = slots_of(file.tensors());
      const WeightMatch match = runtime::match_weights(
          tensors, slots, {options.strict, options.skip_mismatch}, path, where);
      std::vector<std::pair<Tensor, Array>> values;
      LoadedWeights result{.loaded = {},
                           .missing = names_at(slots, match.missing_variables),
                           .unused = names_at(tensors, match.unused_tensors)};
      for (const WeightPair& pair : match.pairs) {
        const NamedArray tensor{tensors[pair.tensor].name, file.read(file.tensors()[pair.tensor])};
        values.emplace_back(variables[pair.variable],
                            cast_tensor(tensor, slots[pair.variable].dtype, path));
        result.loaded.push_back(tensor.name);
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
      const SafetensorsFile file(path, &metadata);
      return metadata;
    });
  });
}

}  // namespace kiln
