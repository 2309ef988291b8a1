// Lists names, types and counts as the file has them; nothing is imported.
#include "tools/kiln/onnx_file.h"

#include "core/onnx/file/read.h"
#include "core/types/text.h"
#include "runtime/files/file_io.h"
#include "runtime/model/import_file.h"

#include <algorithm>
#include <set>

namespace kiln::tool {
namespace {

std::string type_text(const onnx::ValueInfo& info) {
  if (!info.other_kind.empty()) return std::string(info.other_kind);
  std::vector<std::string> dims;
  for (std::size_t axis = 0; axis < info.shape.size(); ++axis) {
    const onnx::Dimension& dim = info.shape[axis];
    dims.push_back(onnx::is_known(dim) ? text(*dim.value) : onnx::name_of_dim(info, axis));
  }
  const std::string dtype = onnx::data_type_text(info.elem_type);
  return info.has_shape ? text(dtype, "[", join_text(dims, ","), "]") : dtype;
}

void count_operators(const std::vector<onnx::NodeProto>& nodes,
                     std::map<std::string, std::size_t>& counts) {
  for (const onnx::NodeProto& node : nodes) {
    const std::string prefix = node.domain.empty() ? "" : text(node.domain, ".");
    ++counts[text(prefix, node.op_type)];
    for (const onnx::AttributeProto& attribute : node.attribute) {
      if (attribute.g) count_operators(attribute.g->node, counts);
    }
  }
}

}  // namespace

OnnxFile::OnnxFile(const std::string& path) {
  const runtime::InputFile file(path);
  bytes_.resize(file.size());
  file.read(0, bytes_);
  try {
    model_ = onnx::read_model(bytes_);
  } catch (const onnx::MalformedModel& error) {
    file.reject(runtime::onnx_rejection(bytes_, error.what()));
  }
}

std::vector<std::string> OnnxFile::dim_names() const {
  std::set<std::string> names;
  for (const onnx::ValueInfo& input : model_.graph.input) {
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      if (!onnx::is_known(input.shape[axis])) names.insert(onnx::name_of_dim(input, axis));
    }
  }
  return {names.begin(), names.end()};
}

std::string OnnxFile::format() const {
  std::string format = "ONNX model";
  for (const onnx::OperatorSet& set : model_.opset_import) {
    const std::string domain = set.domain.empty() ? "" : text(set.domain, " ");
    format += text(", ", domain, "opset ", set.version);
  }
  if (model_.producer_name.empty()) return format;
  format += text(", by ", model_.producer_name);
  return model_.producer_version.empty() ? format : text(format, " ", model_.producer_version);
}

bool OnnxFile::has_initializer(std::string_view name) const {
  const auto& all = model_.graph.initializer;
  return std::any_of(all.begin(), all.end(),
                     [&](const onnx::TensorProto& tensor) { return tensor.name == name; });
}

OnnxFile::Named OnnxFile::inputs() const {
  Named named;
  for (const onnx::ValueInfo& input : model_.graph.input) {
    if (!has_initializer(input.name)) named.emplace_back(input.name, type_text(input));
  }
  return named;
}

std::vector<std::string> OnnxFile::defaulted_inputs() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfo& input : model_.graph.input) {
    if (has_initializer(input.name)) names.emplace_back(input.name);
  }
  return names;
}

OnnxFile::Named OnnxFile::outputs() const {
  Named named;
  for (const onnx::ValueInfo& output : model_.graph.output) {
    named.emplace_back(output.name, type_text(output));
  }
  return named;
}

OnnxFile::Named OnnxFile::initializers() const {
  Named named;
  for (const onnx::TensorProto& tensor : model_.graph.initializer) {
    named.emplace_back(tensor.name, text(onnx::data_type_text(tensor.data_type), "[",
                                         join_text(tensor.dims, ","), "]"));
  }
  return named;
}

std::map<std::string, std::size_t> OnnxFile::operators() const {
  std::map<std::string, std::size_t> counts;
  count_operators(model_.graph.node, counts);
  return counts;
}

std::map<std::string, std::string> OnnxFile::metadata() const {
  return {model_.metadata.begin(), model_.metadata.end()};
}

}  // namespace kiln::tool
