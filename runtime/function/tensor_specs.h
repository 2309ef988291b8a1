// Describes the inputs, outputs and variables of a function.
#pragma once

#include "runtime/function/function_program.h"

#include <kiln/results.h>
#include <kiln/tensor_spec.h>
#include <kiln/variable.h>

namespace kiln::runtime {

// As the members of Function.
Results<TensorSpec> input_specs(const FunctionProgram& function);
Results<TensorSpec> output_specs(const FunctionProgram& function);
Results<Tensor> variables_of(const FunctionProgram& function);

}  // namespace kiln::runtime
