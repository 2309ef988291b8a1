// An ONNX model as it stands in a file (onnx.proto of ONNX 1.23): structs of views into the bytes
// of the file, which must outlive them. Field names are those of onnx.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::onnx {

/// TensorProto.DataType. Others occur in files as numbers.
enum class DataType : std::int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  BFloat16 = 16,
};

/// Where the elements of a tensor are in another file.
struct ExternalData {
  std::string_view location;  // relative to the folder of the model
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;  // absent: to the end of the file
};

struct TensorProto {
  const void* source = nullptr;  // its message in the file, which tells copies from other tensors
  std::string_view name;
  std::int32_t data_type = 0;
  std::vector<std::int64_t> dims;  // checked: none is negative, their product fits
  /// Dense little-endian elements, whichever field of the file holds them; empty if external.
  std::span<const std::byte> data;
  std::shared_ptr<const std::vector<std::byte>> owned = {};  // of `data`, unless it is a view
  std::optional<ExternalData> external = {};
};

struct SparseTensorProto {
  TensorProto values, indices;
  std::vector<std::int64_t> dims;
};

/// A dim of an input: a number, a name, or neither.
struct Dimension {
  std::optional<std::int64_t> value;
  std::string_view parameter;
};

/// The type of an input or output. Kinds other than tensors are named in `other_kind`.
struct ValueInfo {
  std::string_view name;
  std::int32_t elem_type = 0;
  bool has_shape = false;
  std::vector<Dimension> shape;
  std::string_view other_kind = {};  // "a sequence"
};

struct GraphProto;

/// AttributeProto.AttributeType.
enum class AttributeType : std::int32_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
};

struct AttributeProto {
  std::string_view name;
  std::string_view ref_attr_name;  // in a function: the attribute of the call
  AttributeType type = AttributeType::Undefined;
  float f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;
  std::shared_ptr<const TensorProto> t;
  std::shared_ptr<const GraphProto> g;
  std::shared_ptr<const SparseTensorProto> sparse_tensor;
};

struct NodeProto {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> input, output;  // empty: an optional one that is left out
  std::vector<AttributeProto> attribute;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> node;
  std::vector<TensorProto> initializer;
  std::vector<SparseTensorProto> sparse_initializer;
  std::vector<ValueInfo> input, output;
};

struct OperatorSet {
  std::string_view domain;
  std::int64_t version = 0;
};

/// A function of the model: its nodes are inlined where a node calls it.
struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> input, output, attribute;
  std::vector<AttributeProto> attribute_proto;  // with defaults
  std::vector<NodeProto> node;
  std::vector<OperatorSet> opset_import;
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::string_view producer_name, producer_version;
  std::vector<OperatorSet> opset_import;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  std::vector<FunctionProto> functions;
  GraphProto graph;
};

}  // namespace kiln::onnx
