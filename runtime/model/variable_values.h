// The values of a module's variables in a file of arrays, by their names.
#pragma once

#include "core/ir/type.h"
#include "runtime/weights/array_file.h"

#include <map>
#include <string>

namespace kiln::runtime {

class VariableValues {
 public:
  /// REQUIRES: `file` outlives the object.
  explicit VariableValues(const ArrayFile& file);

  /// Returns the reason why the file has no value for a variable of that static type: "is not in
  /// <path>" or "is float32[3] in <path>"; empty if it has one.
  std::string rejection(const std::string& name, const ir::Type& type,
                        const std::string& path) const;
  /// Reads the value. IoError, OutOfMemory. REQUIRES: rejection() is empty.
  Array read(const std::string& name) const { return file_.read(*tensors_.at(name)); }

 private:
  const ArrayFile& file_;
  std::map<std::string, const TensorEntry*> tensors_;
};

}  // namespace kiln::runtime
