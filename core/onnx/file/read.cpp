// One function a message of onnx.proto; unknown fields are skipped.
#include "core/onnx/file/read.h"

#include "core/onnx/file/read_tensor.h"
#include "core/types/text.h"

namespace kiln::onnx {
namespace {

using protozero::pbf_reader;

GraphProto read_graph(pbf_reader message, int nesting);

void append_texts(pbf_reader& message, std::vector<std::string_view>& texts) {
  texts.push_back(text_field(message));
}

AttributeProto read_attribute(pbf_reader message, int nesting) {
  AttributeProto attribute;
  while (message.next()) {
    switch (message.tag()) {
      case 1: attribute.name = text_field(message); break;
      case 2: attribute.f = message.get_float(); break;
      case 3: attribute.i = message.get_int64(); break;
      case 4: {
        const auto view = message.get_view();  // bytes, which need not be UTF-8
        attribute.s = {view.data(), view.size()};
        break;
      }
      case 5:
        attribute.t = std::make_shared<const TensorProto>(read_tensor(message.get_message()));
        break;
      case 6:
        attribute.g =
            std::make_shared<const GraphProto>(read_graph(message.get_message(), nesting + 1));
        break;
      case 7: append_floats(message, attribute.floats); break;
      case 8: append_integers(message, attribute.ints); break;
      case 9: {
        const auto view = message.get_view();
        attribute.strings.push_back({view.data(), view.size()});
        break;
      }
      case 20: attribute.type = static_cast<AttributeType>(message.get_int32()); break;
      case 21: attribute.ref_attr_name = text_field(message); break;
      case 22:
        attribute.sparse_tensor =
            std::make_shared<const SparseTensorProto>(read_sparse_tensor(message.get_message()));
        break;
      default: message.skip();
    }
  }
  return attribute;
}

NodeProto read_node(pbf_reader message, int nesting) {
  NodeProto node;
  while (message.next()) {
    switch (message.tag()) {
      case 1: append_texts(message, node.input); break;
      case 2: append_texts(message, node.output); break;
      case 3: node.name = text_field(message); break;
      case 4: node.op_type = text_field(message); break;
      case 5: node.attribute.push_back(read_attribute(message.get_message(), nesting)); break;
      case 7: node.domain = text_field(message); break;
      case 8: node.overload = text_field(message); break;
      default: message.skip();
    }
  }
  if (node.op_type.empty()) throw MalformedModel(text("node '", node.name, "' has no op_type"));
  if (node.domain == "ai.onnx") node.domain = "";
  return node;
}

Dimension read_dimension(pbf_reader message) {
  Dimension dimension;
  while (message.next()) {
    switch (message.tag()) {
      case 1: dimension.value = message.get_int64(); break;
      case 2: dimension.parameter = text_field(message); break;
      default: message.skip();
    }
  }
  return dimension;
}

void read_tensor_type(pbf_reader message, ValueInfo& info) {
  while (message.next()) {
    switch (message.tag()) {
      case 1: info.elem_type = message.get_int32(); break;
      case 2: {
        info.has_shape = true;
        pbf_reader shape = message.get_message();
        while (shape.next()) {
          if (shape.tag() == 1) {
            info.shape.push_back(read_dimension(shape.get_message()));
          } else {
            shape.skip();
          }
        }
        break;
      }
      default: message.skip();
    }
  }
}

void read_type(pbf_reader message, ValueInfo& info) {
  while (message.next()) {
    switch (message.tag()) {
      case 1: read_tensor_type(message.get_message(), info); break;
      case 4: info.other_kind = "a sequence", message.skip(); break;
      case 5: info.other_kind = "a map", message.skip(); break;
      case 7: info.other_kind = "an opaque value", message.skip(); break;
      case 8: info.other_kind = "a sparse tensor", message.skip(); break;
      case 9: info.other_kind = "an optional value", message.skip(); break;
      default: message.skip();
    }
  }
}

ValueInfo read_value_info(pbf_reader message) {
  ValueInfo info;
  while (message.next()) {
    switch (message.tag()) {
      case 1: info.name = text_field(message); break;
      case 2: read_type(message.get_message(), info); break;
      default: message.skip();
    }
  }
  return info;
}

GraphProto read_graph(pbf_reader message, int nesting) {
  if (nesting > kMaxNesting) {
    throw MalformedModel(text("graphs are nested more than ", kMaxNesting, " deep"));
  }
  GraphProto graph;
  while (message.next()) {
    switch (message.tag()) {
      case 1: graph.node.push_back(read_node(message.get_message(), nesting)); break;
      case 2: graph.name = text_field(message); break;
      case 5: graph.initializer.push_back(read_tensor(message.get_message())); break;
      case 11: graph.input.push_back(read_value_info(message.get_message())); break;
      case 12: graph.output.push_back(read_value_info(message.get_message())); break;
      case 15: graph.sparse_initializer.push_back(read_sparse_tensor(message.get_message())); break;
      default: message.skip();
    }
  }
  return graph;
}

OperatorSet read_operator_set(pbf_reader message) {
  OperatorSet set;
  while (message.next()) {
    switch (message.tag()) {
      case 1: set.domain = text_field(message); break;
      case 2: set.version = message.get_int64(); break;
      default: message.skip();
    }
  }
  if (set.domain == "ai.onnx") set.domain = "";
  return set;
}

FunctionProto read_function(pbf_reader message) {
  FunctionProto function;
  while (message.next()) {
    switch (message.tag()) {
      case 1: function.name = text_field(message); break;
      case 4: append_texts(message, function.input); break;
      case 5: append_texts(message, function.output); break;
      case 6: append_texts(message, function.attribute); break;
      case 7: function.node.push_back(read_node(message.get_message(), 1)); break;
      case 9: function.opset_import.push_back(read_operator_set(message.get_message())); break;
      case 10: function.domain = text_field(message); break;
      case 11: function.attribute_proto.push_back(read_attribute(message.get_message(), 1)); break;
      case 13: function.overload = text_field(message); break;
      default: message.skip();
    }
  }
  return function;
}

std::pair<std::string_view, std::string_view> read_entry(pbf_reader message) {
  std::pair<std::string_view, std::string_view> entry;
  while (message.next()) {
    switch (message.tag()) {
      case 1: entry.first = text_field(message); break;
      case 2: entry.second = text_field(message); break;
      default: message.skip();
    }
  }
  return entry;
}

ModelProto read_model(pbf_reader message) {
  ModelProto model;
  bool has_graph = false;
  while (message.next()) {
    switch (message.tag()) {
      case 1: model.ir_version = message.get_int64(); break;
      case 2: model.producer_name = text_field(message); break;
      case 3: model.producer_version = text_field(message); break;
      case 7: model.graph = read_graph(message.get_message(), 0), has_graph = true; break;
      case 8: model.opset_import.push_back(read_operator_set(message.get_message())); break;
      case 14: model.metadata.push_back(read_entry(message.get_message())); break;
      case 25: model.functions.push_back(read_function(message.get_message())); break;
      default: message.skip();
    }
  }
  if (!has_graph) throw MalformedModel("it has no graph");
  return model;
}

/// Returns read(reader of bytes), whose protobuf errors become MalformedModel.
template <class Read>
auto read_message(std::span<const std::byte> bytes, const Read& read) {
  try {
    return read(pbf_reader(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  } catch (const protozero::exception& error) {
    throw MalformedModel(text("it is no protobuf message (", error.what(), ")"));
  } catch (const WireTypeError& error) {
    throw MalformedModel(error.what());
  }
}

}  // namespace

ModelProto read_model(std::span<const std::byte> bytes) {
  return read_message(bytes, [](pbf_reader message) { return read_model(message); });
}

TensorProto read_tensor(std::span<const std::byte> bytes) {
  return read_message(bytes, [](pbf_reader message) { return read_tensor(message); });
}

}  // namespace kiln::onnx
