// Files of tests/runtime/onnx/cases: models of ONNX with inputs and outputs, as cases/case_file.py
// wrote them.
#pragma once

#include "tests/support/scratch.h"
#include "test_folders.h"

#include <kiln/files.h>
#include <kiln/onnx.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kiln::testing {

using Arrays = std::map<std::string, Array>;

/// A model, and calls of it.
class Case {
 public:
  Case(std::shared_ptr<const Arrays> arrays, std::string name)
      : arrays_(std::move(arrays)), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  /// The bytes of the model.
  std::string bytes() const {
    const Array& bytes = arrays_->at(name_ + "/model");
    return {static_cast<const char*>(bytes.data()), bytes.bytes()};
  }
  Model import_model(const ImportOptions& options = {}) const {
    const Scratch scratch;
    return import_onnx(scratch.write("model.onnx", bytes()), options);
  }
  std::size_t calls() const { return has("/in1/") || has("/out1/") ? 2 : 1; }
  bool has_gradient() const { return arrays_->count(name_ + "/gradient") != 0; }
  /// Whether outputs are random: ONNX defines their dtypes and shapes alone.
  bool is_random() const { return arrays_->count(name_ + "/random") != 0; }
  Array input(std::size_t call, const std::string& input) const {
    return arrays_->at(name_ + "/in" + std::to_string(call) + "/" + input);
  }
  Array output(std::size_t call, const std::string& output) const {
    return arrays_->at(name_ + "/out" + std::to_string(call) + "/" + output);
  }

 private:
  bool has(const std::string& part) const {
    const auto found = arrays_->lower_bound(name_ + part);
    return found != arrays_->end() && found->first.starts_with(name_ + part);
  }

  std::shared_ptr<const Arrays> arrays_;
  std::string name_;
};

class CaseFile {
 public:
  explicit CaseFile(const std::string& group)
      : arrays_(std::make_shared<const Arrays>(
            load_arrays(KILN_SOURCE_DIR "/tests/runtime/onnx/cases/" + group + ".npz"))) {}

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, array] : *arrays_) {
      const std::size_t slash = name.find('/');
      if (name.substr(slash) == "/model") names.push_back(name.substr(0, slash));
    }
    return names;
  }
  Case find(const std::string& name) const { return {arrays_, name}; }

 private:
  std::shared_ptr<const Arrays> arrays_;
};

}  // namespace kiln::testing
