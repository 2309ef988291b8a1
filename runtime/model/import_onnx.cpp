// Reads the files and makes the variables of an import, which core/onnx cannot do itself.
#include <kiln/onnx.h>

#include "core/k/base/tensor_impl.h"
#include "core/onnx/file/read.h"
#include "core/onnx/import/import.h"
#include "core/types/escaped_text.h"
#include "runtime/files/file_io.h"
#include "runtime/model/external_data.h"
#include "runtime/model/import_file.h"
#include "runtime/model/model_graph.h"
#include "runtime/variable/make_variable.h"
#include "runtime/weights/file_format.h"
#include "runtime/weights/user_file.h"

#include <algorithm>

namespace kiln {
namespace {

std::string name_of_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

std::vector<std::byte> bytes_of_file(const runtime::InputFile& file) {
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  return bytes;
}

ir::Value variable_of(const std::string& name, const ir::Type& type,
                      std::span<const std::byte> value) {
  std::vector<std::int64_t> dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.value());
  const Variable variable =
      runtime::make_variable(Array::copy_of(value.data(), dims, type.dtype), name);
  return value_of(variable, "variable");
}

Tensor tensor_of(const onnx::NamedValue& named) {
  return runtime::named_tensor(named.value, named.name);
}

std::map<std::string, ir::Value> constants_of(const std::map<std::string, Array>& arrays) {
  std::map<std::string, ir::Value> constants;
  for (const auto& [name, array] : arrays) {
    const auto* bytes = static_cast<const std::byte*>(array.data());
    const ir::Dims dims(array.dims().begin(), array.dims().end());
    constants.emplace(
        name, ir::constant({array.dtype(), dims}, std::vector(bytes, bytes + array.bytes())));
  }
  return constants;
}

/// The values that may decide shapes: integers, bools, scalars and vectors of one number an axis,
/// such as the scales of Resize; others are data.
std::map<std::string, Array> deciding_values(const std::map<std::string, Array>& given) {
  constexpr std::int64_t kMaxElements = 64, kMaxScales = 8;
  std::map<std::string, Array> small;
  for (const auto& [name, array] : given) {
    const bool can_decide =
        !is_float(array.dtype()) || (array.rank() <= 1 && array.size() <= kMaxScales);
    if (can_decide && array.size() <= kMaxElements) small.emplace(name, array);
  }
  return small;
}

onnx::ImportOptions core_options(const std::string& path, const ImportOptions& options) {
  return {.model = name_of_file(path),
          .dims = options.dims,
          .constants = constants_of(options.constants),
          .outputs = options.outputs,
          .trainable = options.trainable,
          .allow_newer_opset = options.allow_newer_opset};
}

}  // namespace

runtime::ImportedFile runtime::import_file(const std::string& path, const ImportOptions& options,
                                           const std::map<std::string, Array>& given) {
  const runtime::InputFile file(path);
  const std::vector<std::byte> bytes = bytes_of_file(file);
  runtime::ExternalFiles external(path);
  const onnx::ImportServices services{
      .variable = variable_of,
      .external = [&](const auto& data, std::size_t size) { return external.read(data, size); }};
  try {
    const onnx::ModelProto proto = onnx::read_model(bytes);
    onnx::ImportOptions core = core_options(path, options);
    core.given = constants_of(deciding_values(given));
    const auto imported = onnx::import_model(proto, core, services);
    ImportedFile result{.model = {}, .assumed = imported.assumed};
    Model& model = result.model;
    for (const auto& input : imported.inputs) model.inputs.push_back(tensor_of(input));
    for (const auto& output : imported.outputs) model.outputs.push_back(tensor_of(output));
    for (std::size_t i = 0; i < imported.variables.size(); ++i) {
      model.variables.push_back(Variable(tensor_of(imported.variables[i])));
      if (imported.is_trained[i]) model.trainable.push_back(model.variables.back());
    }
    for (const auto& [key, text] : proto.metadata) model.metadata.emplace(key, text);
    return result;
  } catch (const onnx::MalformedModel& error) {
    file.reject(onnx_rejection(bytes, error.what()));
  }
}

std::string runtime::onnx_rejection(std::span<const std::byte> bytes, const char* reason) {
  const std::size_t count = std::min(bytes.size(), runtime::kFormatBytes);
  const std::string_view format =
      runtime::known_format({reinterpret_cast<const char*>(bytes.data()), count});
  if (format == runtime::kModel) return text("is ", format, ", which load_model reads");
  if (format.empty() || format == runtime::kProtobuf || format == runtime::kText) {
    return text("is no ONNX model, or damaged: ", escaped_text(reason));
  }
  return text("is no ONNX model, but ", format);
}

Model import_onnx(const StringArgument& path, const ImportOptions& options, Where where) {
  return api_call("import_onnx", where, [&] {
    return runtime::with_file(where, [&] { return runtime::import_file(path, options).model; });
  });
}

}  // namespace kiln
