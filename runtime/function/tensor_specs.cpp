// A sparse input is three inputs of the program: indices, values and extent.
#include "runtime/function/tensor_specs.h"

#include "core/ir/argument_text.h"
#include "core/k/base/call.h"
#include "core/k/base/tensor_impl.h"
#include "runtime/replay/argument_names.h"

#include <algorithm>
#include <ostream>
#include <utility>

namespace kiln {
namespace runtime {
namespace {

TensorSpec spec_of(std::string name, const ir::Type& type) {
  TensorSpec spec{.name = std::move(name), .dtype = type.dtype, .shape = {}, .is_sparse = false};
  for (const ir::Dim& dim : type.dims) {
    spec.shape.push_back(dim.is_static() ? std::optional(dim.value()) : std::nullopt);
  }
  return spec;
}

/// Describes the sparse input whose indices are input `first` of the program. The extent has a
/// third axis of size 0.
TensorSpec sparse_spec(const CompiledProgram& program, std::size_t first) {
  ir::Type type = program.binding.type(first + 2);
  type.dims.pop_back();
  type.dtype = program.binding.type(first + 1).dtype;
  TensorSpec spec = spec_of(program.binding.name(first), type);
  spec.is_sparse = true;
  return spec;
}

/// Names those without a name, and makes all distinct.
Results<TensorSpec> with_names(std::vector<TensorSpec> specs, const char* kind) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    names.push_back(specs[i].name.empty() ? text(kind, i) : specs[i].name);
  }
  names = distinct_names(std::move(names));
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i].name = std::move(names[i]);
  return specs;
}

void append_variables(const CompiledProgram& program, std::vector<ir::Value>& variables) {
  for (const module::StateEntry& entry : module::make_module(program.user_graph).state) {
    const bool is_new =
        std::find(variables.begin(), variables.end(), entry.variable) == variables.end();
    if (is_new) variables.push_back(entry.variable);
  }
}

}  // namespace

Results<TensorSpec> input_specs(const FunctionProgram& function) {
  const CompiledProgram& program = function.programs.first();
  std::vector<TensorSpec> specs;
  std::size_t next = 0;
  for (const bool is_sparse : function.sparse) {
    specs.push_back(is_sparse ? sparse_spec(program, next)
                              : spec_of(program.binding.name(next), program.binding.type(next)));
    next += is_sparse ? 3 : 1;
  }
  return with_names(std::move(specs), "input_");
}

Results<TensorSpec> output_specs(const FunctionProgram& function) {
  const std::vector<ir::Value>& outputs = function.programs.last->program.user_graph.outputs;
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string name = function.output_names[i];
    if (name.empty()) name = given_name(*outputs[i].node);
    specs.push_back(spec_of(std::move(name), outputs[i].type()));
  }
  return with_names(std::move(specs), "output_");
}

Results<Tensor> variables_of(const FunctionProgram& function) {
  std::vector<ir::Value> found;
  append_variables(function.programs.last->program, found);
  for (const ProgramPartition& partition : function.programs.partitions) {
    append_variables(partition.program->program, found);
  }
  std::vector<Tensor> variables;
  for (const ir::Value& value : found) {
    std::string name(given_name(*value.node));
    variables.emplace_back(
        std::make_shared<const TensorImpl>(TensorImpl{.content = value, .name = std::move(name)}));
  }
  return variables;
}

}  // namespace runtime

std::ostream& operator<<(std::ostream& out, const TensorSpec& spec) {
  return translate_exceptions("operator<<", {}, [&]() -> std::ostream& {
    out << spec.name << (spec.name.empty() ? "" : " ") << (spec.is_sparse ? "sparse " : "")
        << spec.dtype << '[';
    const char* before = "";
    for (const auto& size : spec.shape) {
      out << std::exchange(before, ",");
      if (size) {
        out << text(*size);
      } else {
        out << "None";
      }
    }
    return out << ']';
  });
}

}  // namespace kiln
