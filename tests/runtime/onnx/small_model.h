// Models of a few nodes, written by hand.
#pragma once

#include "tests/runtime/onnx/protobuf.h"

#include <cctype>
#include <string>
#include <vector>

namespace kiln::testing {

inline constexpr int kFloat = 1, kUInt8 = 2, kInt32 = 6, kInt64 = 7, kBool = 9;

/// A node; `rest`: its further fields, such as attributes.
inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& rest = "") {
  std::string bytes;
  for (const std::string& input : inputs) bytes += field(1, input);
  for (const std::string& output : outputs) bytes += field(2, output);
  return bytes + field(4, op) + rest;
}

/// A value with dims: "n" is unknown, "3" is known.
inline std::string value(const std::string& name, int type, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& dim : dims) {
    const bool is_known = std::isdigit(static_cast<unsigned char>(dim[0])) != 0;
    shape += field(1, is_known ? field(1, std::stoll(dim)) : field(2, dim));
  }
  return field(1, name) + field(2, field(1, field(1, type) + field(2, shape)));
}

/// The fields of a graph of these parts; `rest`: its further fields, such as initializers.
inline std::string graph(const std::string& nodes, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs, const std::string& rest = "") {
  std::string fields = nodes;
  for (const std::string& input : inputs) fields += field(11, input);
  for (const std::string& output : outputs) fields += field(12, value(output, kFloat, {}));
  return fields + rest;
}

/// The bytes of a model of these parts of its graph.
inline std::string model(const std::string& nodes, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs, const std::string& rest = "",
                         std::int64_t opset = 13) {
  return field(1, 8) + field(7, graph(nodes, inputs, outputs, rest)) + field(8, field(2, opset));
}

/// An integer attribute of a node.
inline std::string attribute(const std::string& name, std::int64_t number) {
  return field(5, field(1, name) + field(3, number) + field(20, 2));
}

/// An attribute that is a graph.
inline std::string graph_attribute(const std::string& name, const std::string& graph) {
  return field(5, field(1, name) + field(6, graph) + field(20, 5));
}

/// The domain of nodes that call functions.
inline const std::string kCall = field(7, "f");

/// A function of a model, which has one output. `nodes`: its fields 7.
inline std::string model_function(const std::string& name, const std::vector<std::string>& inputs,
                                  const std::string& nodes, const std::string& output,
                                  std::int64_t opset = 17) {
  std::string fields = field(1, name) + field(5, output) + nodes;
  for (const std::string& input : inputs) fields += field(4, input);
  return field(25, fields + field(9, field(2, opset)) + field(10, "f"));
}

/// A float32 vector of `count` ones.
inline std::string ones(const std::string& name, std::int64_t count) {
  std::string bytes;
  for (std::int64_t i = 0; i < count; ++i) bytes += std::string("\0\0\x80\x3f", 4);
  return field(1, count) + field(2, kFloat) + field(8, name) + field(9, bytes);
}

/// A scalar of the bytes of that type.
inline std::string scalar(const std::string& name, int type, const std::string& bytes) {
  return field(2, type) + field(8, name) + field(9, bytes);
}

}  // namespace kiln::testing
