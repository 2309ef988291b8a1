// Model: a graph with its inputs, outputs, updates and variables, and Kiln's own file of one.
// kiln/onnx.h imports models of other programs.
#pragma once

#include <kiln/string_argument.h>
#include <kiln/update.h>
#include <kiln/variable.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// A graph read from a file. Tensors are ordinary ones: they can be differentiated, used in further
/// functions of K, and compiled for any backend.
struct Model {
  std::vector<Tensor> inputs;  ///< placeholders with the file's names
  std::vector<Tensor> outputs;  ///< with the file's names
  std::vector<UpdateOp> updates;  ///< of its variables
  std::vector<Variable> variables;  ///< all, in the order and with the names of the file
  /// The variables to train: the floating-point ones, but for running statistics of ONNX models.
  std::vector<Variable> trainable;
  std::map<std::string, std::string> metadata;  ///< texts of the file by their keys

  /// Returns the tensor of that name. Errors: ValueError with the nearest name for an unknown one.
  KILN_API Tensor input(std::string_view name, Where where = Where::here()) const;
  KILN_API Tensor output(std::string_view name, Where where = Where::here()) const;
  KILN_API Variable variable(std::string_view name, Where where = Where::here()) const;
};

struct SaveModelOptions {
  std::vector<UpdateOp> updates = {};  ///< as for `function`
  std::map<std::string, std::string> metadata = {};  ///< UTF-8 texts by their keys
};

/// Writes the graph from `inputs` to `outputs` and updates, as written, and the present values of
/// its variables to a .kiln file: a ZIP archive of manifest.json, graph.kirb and weights as .npy.
/// Replaces the file atomically. learning_phase() is 0 unless it is an input. Floating-point
/// variables are `trainable` when loaded; the overload for a Model keeps which ones are.
/// Errors: those of `function` for inputs, outputs and updates; ValueError for a sparse input, for
/// texts that are not UTF-8 and for a path that ends as another format, such as .onnx; IoError.
///     const auto x = K::placeholder({.shape = {K::None}, .name = "x"});
///     const auto w = K::variable(2, {.name = "w"});
///     K::save_model("double.kiln", {x}, {w * x});
///     const auto m = K::load_model("double.kiln");
///     K::function(m.inputs, m.outputs)({K::Array{1.f, 3.f}})[0];  // [2. 6.]
KILN_API void save_model(const StringArgument& path, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& outputs, const SaveModelOptions& options = {},
                         Where where = Where::here());
KILN_API void save_model(const StringArgument& path, const Model& model,
                         Where where = Where::here());

struct LoadModelOptions {
  /// A file with the values of the variables of a module (.kir, .kirb), which has none itself.
  StringArgument weights = {};
};

/// Reads a model of a .kiln file, a module (.kir, .kirb) or an ONNX file, told by their contents.
/// Its variables are new. A model never brings machine code and opens no other files, but for the
/// data of an ONNX file in its folder.
/// Errors: IoError naming the path for a file that cannot be read, is damaged or of another
/// version; ValueError for a module with variables without `weights`, for one whose variable
/// `weights` lacks or has with another type, and for `weights` of a file that needs none; those of
/// import_onnx.
///     const auto x = K::placeholder({.shape = {2}, .name = "x"});
///     const auto w = K::variable({1., 1.}, {.name = "w"});
///     K::save_model("step.kiln", {x}, {K::sum(w * x)}, {.updates = {K::update_add(w, x)}});
///     const auto m = K::load_model("step.kiln");
///     const auto step = K::function(m.inputs, m.outputs, {.updates = m.updates});
///     step({K::Array{1.f, 2.f}})[0];  // 3.0
///     K::get_value(m.variable("w"));  // [2. 3.]
[[nodiscard]] KILN_API Model load_model(const StringArgument& path,
                                        const LoadModelOptions& options = {},
                                        Where where = Where::here());

}  // namespace kiln
