// Symbols take the sizes of the inputs that are read, so that random ones fit to them.
#include "tools/kiln/module_arguments.h"

#include "core/ir/argument_text.h"
#include "core/ops/op.h"
#include "core/types/nearest.h"
#include "core/types/text.h"
#include "runtime/array/host_values.h"
#include "runtime/files/machine_limits.h"
#include "runtime/files/quoted_name.h"
#include "runtime/replay/argument_names.h"
#include "runtime/weights/array_formats.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <unordered_map>

namespace kiln::tool {
namespace {

using SymbolSizes = std::unordered_map<std::int64_t, std::int64_t>;  // by id

/// A symbol without a size is 3.
std::vector<std::int64_t> sizes_of(const ir::Type& type, const SymbolSizes& given) {
  std::vector<std::int64_t> sizes;
  for (const ir::Dim& dim : type.dims) {
    sizes.push_back(ir::evaluate(dim, [&](const ir::Symbol& symbol) {
      const auto found = given.find(symbol.id);
      return std::optional<std::int64_t>(found == given.end() ? 3 : found->second);
    }));
  }
  return sizes;
}

/// The ids of the inputs' symbols by the names that the text form gives them. Symbols of one name
/// have ids in the order in which the text numbers them.
std::map<std::string, std::int64_t> symbols_of(const module::Module& module) {
  std::map<std::int64_t, std::string> by_id;
  for (const ir::Value& input : module.graph.inputs) {
    for (const ir::Dim& dim : input.type().dims) {
      ir::for_each_symbol(dim, [&](const ir::Symbol& symbol) { by_id[symbol.id] = symbol.name; });
    }
  }
  std::map<std::string, std::int64_t> ids;
  for (const auto& [id, name] : by_id) {
    std::string unique = name;
    for (int i = 2; !ids.emplace(unique, id).second; ++i) unique = text(name, "~", i);
  }
  return ids;
}

/// Errors: ValueError for a size whose name the module does not have.
SymbolSizes symbol_sizes(const module::Module& module, const RunOptions& options) {
  const std::map<std::string, std::int64_t> ids = symbols_of(module);
  SymbolSizes sizes;
  for (const auto& [name, size] : options.sizes) {
    const auto found = ids.find(name);
    if (found == ids.end()) {
      std::string names;
      for (const auto& [known, id] : ids) names += " " + known;
      throw ValueError("kiln", "--dim",
                       text("the module has no unknown size '", name,
                            names.empty() ? "'; it has none" : "'; its unknown sizes:" + names));
    }
    sizes[found->second] = size;
  }
  return sizes;
}

Array random_array(const ir::Type& type, const SymbolSizes& given, std::mt19937_64& generator) {
  Array wide = Array::zeros(sizes_of(type, given), DType::Float64);
  for (double& element : wide.as<double>()) {
    const double u = static_cast<double>(generator() >> 11) * 0x1p-53;
    element = is_float(type.dtype)        ? 2 * u - 1
              : type.dtype == DType::Bool ? (u < 0.5 ? 0 : 1)
                                          : static_cast<double>(static_cast<int>(3 * u));
  }
  return wide.astype(type.dtype);
}

/// Bytes of an element in its array and in the float64 array that random_array converts.
std::uint64_t bytes_per_element(const ir::Type& type) {
  return dtype_bytes(type.dtype) + dtype_bytes(DType::Float64);
}

std::string kind_of(const ir::Value& argument) {
  return argument.node->op == ir::Op::Variable ? "variable " : "placeholder ";
}

std::string name_of(const ir::Value& argument) {
  const std::string_view name = given_name(*argument.node);
  return text(kind_of(argument), name.empty() ? "(unnamed)" : name);
}

/// Checks that random values of the arguments fit into the machine's memory: Linux may grant such
/// an allocation and kill the process when it is used.
class MemoryBudget {
 public:
  void take(const ir::Value& argument, const SymbolSizes& given) {
    std::uint64_t bytes = bytes_per_element(argument.type());
    bool fits = true;
    for (const std::int64_t size : sizes_of(argument.type(), given)) {
      fits = !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes) && fits;
      if (size == 0) bytes = 0;
    }
    if (fits && bytes <= left_) {
      left_ -= bytes;
      return;
    }
    throw ValueError(
        "kiln", "FILE",
        text("no memory for random values of ", argument.type(), " (", name_of(argument),
             "): ", left_, " of ", memory_, " bytes of this machine are left for it"));
  }

 private:
  static std::uint64_t memory() {
    const runtime::MachineMemory machine = runtime::read_memory();
    const std::uint64_t total = machine.total != 0 ? machine.total : UINT64_MAX;
    return machine.limit ? std::min(total, machine.limit->value) : total;
  }

  const std::uint64_t memory_ = memory();
  std::uint64_t left_ = memory_;
};

/// The tensors of the files by name.
class InputFiles {
 public:
  InputFiles(const std::vector<std::string>& paths, std::map<std::string, std::string>& metadata) {
    for (const std::string& path : paths) {
      const std::shared_ptr<const runtime::ArrayFile> file =
          runtime::open_array_file(path, &metadata);
      for (const runtime::TensorEntry& tensor : file->tensors()) {
        tensors_[tensor.name] = {path, file, &tensor};
      }
    }
  }

  /// Returns the tensor of that name, cast to the argument's dtype.
  std::optional<Array> find(const std::string& name, const ir::Value& argument) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return std::nullopt;
    const auto& [path, file, tensor] = found->second;
    const std::string subject = text("tensor ", runtime::quoted_name(name), " of ", path);
    if (!tensor->other_dtype.empty()) {
      fail(text(subject, " is ", tensor->other_dtype, ", which Kiln does not have"));
    }
    require_shape(subject, *tensor, argument);
    const Array value = file->read(*tensor);
    if (const auto element = runtime::find_inexact(value, argument.dtype())) {
      fail(text(element->describe(subject), " (the file has ", value.dtype(), ")"));
    }
    return value.astype(argument.dtype());
  }

  [[noreturn]] void reject_missing(const std::string& name, const ir::Value& argument) const {
    std::vector<std::string> names;
    for (const auto& [known, tensor] : tensors_) names.push_back(known);
    fail(text("the files have no value of ", kind_of(argument), name, " ", argument.type(),
              did_you_mean(name, names), "; --random SEED draws it"));
  }

 private:
  struct Tensor {
    std::string path;
    std::shared_ptr<const runtime::ArrayFile> file;
    const runtime::TensorEntry* entry;  // of `file`
  };

  [[noreturn]] static void fail(const std::string& message) {
    throw ValueError("kiln", "--inputs", message);
  }

  static void require_shape(const std::string& subject, const runtime::TensorEntry& tensor,
                            const ir::Value& argument) {
    bool fits = tensor.dims.size() == argument.dims().size();
    for (std::size_t axis = 0; fits && axis < tensor.dims.size(); ++axis) {
      const ir::Dim& dim = argument.dims()[axis];
      fits = !dim.is_static() || dim.value() == tensor.dims[axis];
    }
    if (fits) return;
    fail(text(subject, " has shape [", join_text(tensor.dims, ","), "], which is not that of ",
              argument.type(), " (", name_of(argument), ")"));
  }

  std::map<std::string, Tensor> tensors_;
};

/// Gives symbols without a size the sizes of an array. Errors: ValueError for another size than
/// `given` has.
void bind_symbols(const ir::Value& argument, const Array& value, const SymbolSizes& given,
                  SymbolSizes& sizes) {
  const std::vector<ir::Dim> dims(argument.dims().begin(), argument.dims().end());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const auto symbol = dims[axis].as_symbol();
    if (!symbol) continue;
    const std::int64_t size = value.dims()[axis];
    sizes.emplace(symbol->id, size);
    const auto found = given.find(symbol->id);
    if (found == given.end() || found->second == size) continue;
    throw ValueError("kiln", "--dim",
                     text("--dim gives ", symbol->name, " the size ", found->second, ", but the ",
                          name_of(argument), " of the files has ", size, " on axis ", axis));
  }
}

}  // namespace

Arguments arguments_of(const module::Module& module, const RunOptions& options) {
  const SymbolSizes given = symbol_sizes(module, options);
  SymbolSizes sizes = given;
  std::vector<ir::Value> wanted = module.graph.inputs;
  for (const module::StateEntry& entry : module.state) wanted.push_back(entry.variable);
  const std::vector<std::string> names = runtime::argument_names(module.graph.inputs, module.state);
  Arguments arguments;
  const InputFiles files(options.inputs, arguments.metadata);
  std::vector<std::optional<Array>> read;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    read.push_back(files.find(names[i], wanted[i]));
    if (read.back()) {
      bind_symbols(wanted[i], *read.back(), given, sizes);
    } else if (!options.inputs.empty() && !options.seed) {
      files.reject_missing(names[i], wanted[i]);
    }
  }
  for (const auto& [name, id] : symbols_of(module)) {
    if (!sizes.contains(id)) arguments.sizes_by_default.push_back(name);
  }
  MemoryBudget budget;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!read[i]) budget.take(wanted[i], sizes);
  }
  std::mt19937_64 generator(options.seed.value_or(0));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    arguments.values.push_back(read[i] ? *std::move(read[i])
                                       : random_array(wanted[i].type(), sizes, generator));
  }
  return arguments;
}

}  // namespace kiln::tool
