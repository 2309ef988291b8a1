// Compares types before elements are read.
#include "runtime/model/variable_values.h"

#include "core/types/text.h"
#include "runtime/weights/array_formats.h"

namespace kiln::runtime {

VariableValues::VariableValues(const ArrayFile& file) : file_(file) {
  for (const TensorEntry& tensor : file.tensors()) tensors_.emplace(tensor.name, &tensor);
}

std::string VariableValues::rejection(const std::string& name, const ir::Type& type,
                                      const std::string& path) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return text("is not in ", path);
  const TensorEntry& tensor = *found->second;
  const bool fits = tensor.other_dtype.empty() && tensor.dtype == type.dtype &&
                    ir::Dims(tensor.dims.begin(), tensor.dims.end()) == type.dims;
  return fits ? "" : text("is ", type_text(tensor), " in ", path);
}

}  // namespace kiln::runtime
