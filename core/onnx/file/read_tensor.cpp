// Elements of a tensor lie in raw_data, or in the field of numbers that their type has.
#include "core/onnx/file/read_tensor.h"

#include "core/onnx/file/malformed_model.h"
#include "core/onnx/file/value_type.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <charconv>
#include <cstring>

namespace kiln::onnx {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// The repeated fields of numbers that hold the elements of a tensor, if raw_data does not. Strings
/// are skipped: no tensor of them is imported.
struct TypedData {
  std::vector<float> floats;
  std::vector<std::int64_t> int32s, int64s;
  std::vector<double> doubles;
  std::vector<std::uint64_t> uint64s;
};

std::span<const std::byte> bytes_of(data_view view) {
  return {reinterpret_cast<const std::byte*>(view.data()), view.size()};
}

template <class Element, class Number>
std::vector<std::byte> dense(const std::vector<Number>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(Element));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Element element = static_cast<Element>(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof element, &element, sizeof element);
  }
  return bytes;
}

/// The elements of the field that onnx.proto names for this dtype.
std::vector<std::byte> typed_bytes(std::int32_t data_type, const TypedData& typed) {
  switch (static_cast<DataType>(data_type)) {
    case DataType::Float: return dense<float>(typed.floats);
    case DataType::Double: return dense<double>(typed.doubles);
    case DataType::Int64: return dense<std::int64_t>(typed.int64s);
    case DataType::UInt64: return dense<std::uint64_t>(typed.uint64s);
    case DataType::UInt32: return dense<std::uint32_t>(typed.uint64s);
    case DataType::Int32: return dense<std::int32_t>(typed.int32s);
    case DataType::Bool:
    case DataType::UInt8:
    case DataType::Int8: return dense<std::uint8_t>(typed.int32s);
    case DataType::UInt16:
    case DataType::Int16:
    case DataType::Float16:
    case DataType::BFloat16: return dense<std::uint16_t>(typed.int32s);
    default: return {};
  }
}

void read_external(pbf_reader entry, ExternalData& external) {
  std::string_view key, value;
  while (entry.next()) {
    switch (entry.tag()) {
      case 1: key = text_field(entry); break;
      case 2: value = text_field(entry); break;
      default: entry.skip();
    }
  }
  if (key == "location") external.location = value;
  if (key != "offset" && key != "length") return;
  std::int64_t number = 0;
  const auto end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 0) {
    throw MalformedModel(text("external data has the ", key, " '", value,
                              "', which is no number of bytes from 0 to 2^63 - 1"));
  }
  if (key == "offset") external.offset = number;
  if (key == "length") external.length = number;
}

[[noreturn]] void reject_dims(const TensorProto& tensor) {
  throw MalformedModel(text("tensor '", tensor.name, "' has dims out of range: [",
                            join_text(tensor.dims, ","), "]"));
}

/// The bytes that dims and dtype demand; nullopt for dtypes without a size.
std::optional<std::size_t> bytes_needed(const TensorProto& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) reject_dims(tensor);
  }
  const auto bits = data_type_bits(tensor.data_type);
  std::int64_t total = 0;
  if (!bits) return std::nullopt;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(*bits), &total)) reject_dims(tensor);
  return static_cast<std::size_t>(total / 8 + (total % 8 != 0 ? 1 : 0));
}

/// Chooses the elements' bytes and compares their number with that of dims and dtype.
void set_data(TensorProto& tensor, std::optional<data_view> raw, const TypedData& typed) {
  const auto needed = bytes_needed(tensor);
  if (tensor.external || !needed) return;
  if (raw) {
    tensor.data = bytes_of(*raw);
  } else {
    tensor.owned =
        std::make_shared<const std::vector<std::byte>>(typed_bytes(tensor.data_type, typed));
    tensor.data = *tensor.owned;
  }
  const bool is_known = dtype_of(tensor.data_type).has_value();
  if ((raw || is_known) && tensor.data.size() != *needed) {
    throw MalformedModel(text("tensor '", tensor.name, "' (", data_type_text(tensor.data_type),
                              ") has ", tensor.data.size(), " bytes, but its dims need ", *needed));
  }
}

template <class Iterators, class Number>
void append(const Iterators& range, std::vector<Number>& numbers) {
  for (const auto number : range) numbers.push_back(static_cast<Number>(number));
}

void append_doubles(pbf_reader& message, std::vector<double>& numbers) {
  if (message.wire_type() != pbf_wire_type::length_delimited) {
    numbers.push_back(message.get_double());
  } else {
    append(message.get_packed_double(), numbers);
  }
}

void append_unsigned(pbf_reader& message, std::vector<std::uint64_t>& numbers) {
  if (message.wire_type() != pbf_wire_type::length_delimited) {
    numbers.push_back(message.get_uint64());
  } else {
    append(message.get_packed_uint64(), numbers);
  }
}

}  // namespace

std::string_view text_field(pbf_reader& message) {
  const data_view view = message.get_view();
  const std::string_view field(view.data(), view.size());
  if (!is_utf8(field)) throw MalformedModel(text("'", escaped_text(field), "' is not UTF-8"));
  return field;
}

void append_integers(pbf_reader& message, std::vector<std::int64_t>& numbers) {
  if (message.wire_type() != pbf_wire_type::length_delimited) {
    numbers.push_back(message.get_int64());
  } else {
    append(message.get_packed_int64(), numbers);
  }
}

void append_floats(pbf_reader& message, std::vector<float>& numbers) {
  if (message.wire_type() != pbf_wire_type::length_delimited) {
    numbers.push_back(message.get_float());
  } else {
    append(message.get_packed_float(), numbers);
  }
}

TensorProto read_tensor(pbf_reader message) {
  TensorProto tensor{.source = message.data().data(), .name = {}, .dims = {}, .data = {}};
  TypedData typed;
  ExternalData external;
  std::optional<data_view> raw;
  bool is_external = false;
  while (message.next()) {
    switch (message.tag()) {
      case 1: append_integers(message, tensor.dims); break;
      case 2: tensor.data_type = message.get_int32(); break;
      case 3: throw MalformedModel("a tensor is stored in segments, which ONNX never defined");
      case 4: append_floats(message, typed.floats); break;
      case 5: append_integers(message, typed.int32s); break;
      case 7: append_integers(message, typed.int64s); break;
      case 8: tensor.name = text_field(message); break;
      case 9: raw = message.get_view(); break;
      case 10: append_doubles(message, typed.doubles); break;
      case 11: append_unsigned(message, typed.uint64s); break;
      case 13: read_external(message.get_message(), external); break;
      case 14: is_external = message.get_int32() == 1; break;
      default: message.skip();
    }
  }
  if (is_external) tensor.external = external;
  set_data(tensor, raw, typed);
  return tensor;
}

SparseTensorProto read_sparse_tensor(pbf_reader message) {
  SparseTensorProto sparse;
  while (message.next()) {
    switch (message.tag()) {
      case 1: sparse.values = read_tensor(message.get_message()); break;
      case 2: sparse.indices = read_tensor(message.get_message()); break;
      case 3: append_integers(message, sparse.dims); break;
      default: message.skip();
    }
  }
  return sparse;
}

}  // namespace kiln::onnx
