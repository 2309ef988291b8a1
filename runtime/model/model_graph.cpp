// Variables of a module become new ones.
#include "runtime/model/model_graph.h"

#include "core/k/base/tensor_impl.h"
#include "core/ops/lambda_builder.h"

namespace kiln::runtime {

Tensor named_tensor(const ir::Value& value, const std::string& name) {
  return Tensor(std::make_shared<const TensorImpl>(TensorImpl{.content = value, .name = name}));
}

Model model_of(const module::Module& module, const ModelNames& names,
               const std::vector<Variable>& variables) {
  ir::Replacements replacements;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    replacements.emplace(module.state[i].variable, value_of(variables[i], "variables"));
  }
  const ir::Graph graph = ir::replace_values(module.graph, replacements);
  Model model;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    model.inputs.push_back(named_tensor(graph.inputs[i], names.inputs[i]));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    model.outputs.push_back(named_tensor(graph.outputs[i], names.outputs[i]));
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    model.variables.push_back(variables[i]);
    if (names.is_trained[i]) model.trainable.push_back(variables[i]);
  }
  for (const ir::Update& update : module.graph.updates) {
    const ir::Value variable = replacements.at(update.variable);
    const ir::Value value = ir::replace_values({&update.value, 1}, replacements)[0];
    model.updates.emplace_back(named_tensor(variable, variable.node->as<ir::VariableAttrs>().name),
                               named_tensor(value, ""), Where{});
  }
  return model;
}

}  // namespace kiln::runtime
