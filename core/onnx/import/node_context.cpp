// Attributes and operands of a node, with the errors of those that it lacks.
#include "core/onnx/import/node_context.h"

#include "core/onnx/file/malformed_model.h"
#include "core/types/escaped_text.h"

#include <algorithm>
#include <cmath>

namespace kiln::onnx {
namespace {

const char* type_text(AttributeType type) {
  switch (type) {
    case AttributeType::Float: return "a float";
    case AttributeType::Int: return "an integer";
    case AttributeType::String: return "a string";
    case AttributeType::Tensor: return "a tensor";
    case AttributeType::Graph: return "a graph";
    case AttributeType::Floats: return "a list of floats";
    case AttributeType::Ints: return "a list of integers";
    case AttributeType::Strings: return "a list of strings";
    default: return "of another type";
  }
}

}  // namespace

bool NodeContext::passes_on() const {
  constexpr std::string_view kOperators[] = {"Cast",    "CastLike", "Flatten",   "Identity",
                                             "Reshape", "Squeeze",  "Transpose", "Unsqueeze"};
  return std::find(std::begin(kOperators), std::end(kOperators), node_.op_type) !=
         std::end(kOperators);
}

void NodeContext::fail(const std::string& message) const { Call::value_error("path", message); }

ir::Value NodeContext::input(std::size_t i) {
  if (!has(i)) fail(text("input ", i, " is left out"));
  return importer_.value_of(environment_, node_.input[i],
                            passes_on() ? OperandUse::PassedOn : OperandUse::Weight);
}

ir::Value NodeContext::untrained_input(std::size_t i) {
  if (!has(i)) fail(text("input ", i, " is left out"));
  return importer_.value_of(environment_, node_.input[i], OperandUse::Statistic);
}

std::vector<ir::Value> NodeContext::inputs() {
  std::vector<ir::Value> values;
  for (std::size_t i = 0; i < input_count(); ++i) values.push_back(input(i));
  return values;
}

const AttributeProto* NodeContext::find(std::string_view name) const {
  for (const AttributeProto& attribute : node_.attribute) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

const AttributeProto* NodeContext::find(std::string_view name, AttributeType type) const {
  const AttributeProto* attribute = find(name);
  // Files of IR 1 have no types: the field that is set tells.
  if (attribute && attribute->type != type && attribute->type != AttributeType::Undefined) {
    fail(text("attribute '", name, "' is not ", type_text(type)));
  }
  return attribute;
}

std::int64_t NodeContext::integer(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeType::Int);
  if (!attribute) fail(text("attribute '", name, "' is missing"));
  return attribute->i;
}

std::int64_t NodeContext::integer(std::string_view name, std::int64_t otherwise) const {
  const AttributeProto* attribute = find(name, AttributeType::Int);
  return attribute ? attribute->i : otherwise;
}

std::int64_t NodeContext::positive(std::string_view name) const {
  const std::int64_t number = integer(name);
  if (number < 1) fail(text(name, " is ", number, ", below 1"));
  return number;
}

double NodeContext::number(std::string_view name, double otherwise) const {
  const AttributeProto* attribute = find(name, AttributeType::Float);
  return attribute ? static_cast<double>(attribute->f) : otherwise;
}

std::string NodeContext::string(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* attribute = find(name, AttributeType::String);
  return std::string(attribute ? attribute->s : otherwise);
}

std::optional<ir::Ints> NodeContext::integers(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeType::Ints);
  return attribute ? std::optional(attribute->ints) : std::nullopt;
}

std::vector<float> NodeContext::numbers(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeType::Floats);
  return attribute ? attribute->floats : std::vector<float>();
}

std::vector<std::string> NodeContext::strings(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeType::Strings);
  if (!attribute) return {};
  return {attribute->strings.begin(), attribute->strings.end()};
}

const TensorProto& NodeContext::tensor_attribute(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeType::Tensor);
  if (!attribute || !attribute->t) fail(text("attribute '", name, "' is missing"));
  return *attribute->t;
}

const GraphProto& NodeContext::graph(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeType::Graph);
  if (!attribute || !attribute->g) fail(text("attribute '", name, "' is missing"));
  return *attribute->g;
}

std::optional<ShapeElements> NodeContext::elements(std::size_t i) {
  if (!has(i)) fail(text("input ", i, " is left out"));
  return importer_.elements_of(environment_, node_.input[i]);
}

std::optional<ir::Dims> NodeContext::dims(std::size_t i) {
  const auto all = elements(i);
  if (!all) return std::nullopt;
  ir::Dims dims;
  for (const auto& element : *all) {
    if (!element || element->number) return std::nullopt;
    dims.push_back(element->dim);
  }
  return dims;
}

ShapeElements NodeContext::known_elements(std::size_t i, const char* name) {
  const auto is_known = [](const std::optional<ShapeElements>& all) {
    return all && std::all_of(all->begin(), all->end(), [](const auto& element) {
             return element && (element->number || element->dim.is_static());
           });
  };
  auto all = elements(i);
  if (!is_known(all)) all = importer_.elements_by_weights(environment_, node_.input[i]);
  if (is_known(all)) return std::move(*all);
  fail(text(name, " ('", escaped_text(node_.input[i]),
            "') must be known when the model is imported; with the option dims or constants, what "
            "it is computed from can be given"));
}

std::vector<double> NodeContext::known_numbers(std::size_t i, const char* name) {
  std::vector<double> numbers;
  for (const auto& element : known_elements(i, name)) {
    numbers.push_back(element->number ? *element->number
                                      : static_cast<double>(element->dim.value()));
  }
  return numbers;
}

ir::Ints NodeContext::known_integers(std::size_t i, const char* name) {
  ir::Ints integers;
  for (const auto& element : known_elements(i, name)) {
    if (!element->number) {
      integers.push_back(element->dim.value());
      continue;
    }
    const double number = *element->number;
    if (!(std::fabs(number) < 0x1p63)) fail(text(name, " has the element ", number));
    integers.push_back(static_cast<std::int64_t>(number));
  }
  return integers;
}

std::optional<ir::Ints> NodeContext::attribute_or_input(const char* name, std::size_t i) {
  if (auto attribute = integers(name)) return attribute;
  if (!has(i)) return std::nullopt;
  return known_integers(i, name);
}

ir::Ternary NodeContext::truth(const ir::Value& scalar) {
  const auto dims = shape_values().dims(scalar);
  if (!dims || dims->size() != 1 || !dims->front().is_static()) return ir::Ternary::Unknown;
  return dims->front().value() != 0 ? ir::Ternary::Yes : ir::Ternary::No;
}

ShapeValues& NodeContext::shape_values() { return importer_.shape_values(); }

std::vector<ir::Value> NodeContext::run_graph(const GraphProto& graph,
                                              const std::vector<ir::Value>& inputs) {
  return importer_.run_graph(graph, inputs, environment_, opset_);
}

ir::Value NodeContext::constant(const TensorProto& tensor) { return importer_.constant(tensor); }

void NodeContext::bind_constant(const TensorProto& tensor) {
  if (node_.output.empty()) return;
  const std::string_view name = node_.output[0];
  const Binding binding{
      .value = {}, .tensor = &tensor, .tensor_name = name, .source = tensor.source};
  if (!environment_.bind(name, binding)) {
    throw MalformedModel(text("'", name, "' is made twice"));
  }
}

int NodeContext::axis(std::int64_t axis, int rank, const char* name) const {
  if (axis < -rank || axis >= rank) {
    fail(text(name, " ", axis, " is out of range for rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

ir::Ints NodeContext::axes(const ir::Ints& axes, int rank, const char* name) const {
  ir::Ints result;
  for (const std::int64_t one : axes) result.push_back(axis(one, rank, name));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    fail(text(name, " (", join_text(axes), ") name an axis twice"));
  }
  return result;
}

}  // namespace kiln::onnx
