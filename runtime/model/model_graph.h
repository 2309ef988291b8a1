// Graphs of models in files, and the tensors that users get of them.
#pragma once

#include "core/module/module.h"

#include <kiln/model.h>

#include <map>
#include <string>
#include <vector>

namespace kiln::runtime {

/// A tensor of exactly this name, also within name scopes.
Tensor named_tensor(const ir::Value& value, const std::string& name);

/// The names of a module's parts, which its file keeps beside it.
struct ModelNames {
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> variables;  // distinct
  std::vector<bool> is_trained;        // one per variable
};

/// A model of the module, whose state entries become these variables, one each.
Model model_of(const module::Module& module, const ModelNames& names,
               const std::vector<Variable>& variables);

}  // namespace kiln::runtime
