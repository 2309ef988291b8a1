// The header as parser events: nothing but the tensors is stored, whatever the file holds.
#include "runtime/weights/safetensors_header.h"

#include "core/types/text.h"
#include "runtime/files/json.h"
#include "runtime/files/quoted_name.h"

#include <kiln/array.h>

#include <iterator>
#include <limits>
#include <optional>
#include <unordered_set>

namespace kiln::runtime {
namespace {

/// Indexed by DType.
constexpr std::string_view kNames[kDTypeCount] = {"BOOL", "I8",  "I16", "I32",  "I64", "U8", "U16",
                                                  "U32",  "U64", "F16", "BF16", "F32", "F64"};

std::optional<DType> dtype_of(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// Takes the parser's events. The place in the header decides which event is right; every other
/// one throws, so that nesting never exceeds the format's three levels.
class HeaderEvents {
 public:
  explicit HeaderEvents(const std::string& path) : path_(path) {}

  std::vector<TensorEntry> take() { return std::move(entries_); }

  bool Null() { return unexpected("null"); }
  bool Bool(bool) { return unexpected("a boolean"); }
  bool Int(int) { return unexpected("a negative number"); }
  bool Int64(std::int64_t) { return unexpected("a negative number"); }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Double(double) { return unexpected("a number that is no integer"); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return unexpected("a number"); }

  bool Uint64(std::uint64_t value) {
    if (place_ == Place::InShape) return add_dim(value);
    if (place_ == Place::InOffsets) return add_offset(value);
    return unexpected("a number");
  }

  bool String(const char* chars, rapidjson::SizeType length, bool) {
    const std::string_view value(chars, length);
    if (place_ == Place::DTypeValue) {
      const std::optional<DType> dtype = dtype_of(value);
      if (!dtype) refuse_tensor(text("has the unsupported dtype ", quoted_name(value)));
      entry_.dtype = *dtype;
      return go(Place::InTensor);
    }
    if (place_ == Place::MetadataValue) return go(Place::InMetadata);
    return unexpected("a string");
  }

  bool StartObject() {
    if (place_ == Place::Start) return go(Place::InHeader);
    if (place_ == Place::TensorValue) {
      seen_dtype_ = seen_shape_ = seen_offsets_ = false;
      return go(Place::InTensor);
    }
    if (place_ == Place::Metadata) return go(Place::InMetadata);
    return unexpected("an object");
  }

  bool Key(const char* chars, rapidjson::SizeType length, bool) {
    const std::string_view key(chars, length);
    if (place_ == Place::InMetadata) return go(Place::MetadataValue);
    if (place_ == Place::InHeader) return start_entry(key);
    if (key == "dtype") return start_field(seen_dtype_, key, Place::DTypeValue);
    if (key == "shape") return start_field(seen_shape_, key, Place::ShapeValue);
    if (key == "data_offsets") return start_field(seen_offsets_, key, Place::OffsetsValue);
    refuse_tensor(text("has the unknown key ", quoted_name(key)));
  }

  bool EndObject(rapidjson::SizeType) {
    if (place_ == Place::InTensor) finish_tensor();
    return go(place_ == Place::InHeader ? Place::End : Place::InHeader);
  }

  bool StartArray() {
    if (place_ == Place::ShapeValue) return go(Place::InShape);
    if (place_ == Place::OffsetsValue) return go(Place::InOffsets);
    return unexpected("an array");
  }

  bool EndArray(rapidjson::SizeType count) {
    if (place_ == Place::InOffsets && count != 2) {
      refuse_tensor(text("has ", count, " data_offsets, not 2"));
    }
    return go(Place::InTensor);
  }

 private:
  enum class Place {
    Start, InHeader, Metadata, InMetadata, MetadataValue, TensorValue, InTensor, DTypeValue,
    ShapeValue, InShape, OffsetsValue, InOffsets, End
  };

  bool go(Place place) {
    place_ = place;
    return true;
  }

  bool start_entry(std::string_view name) {
    if (!names_.insert(std::string(name)).second) refuse(text("has ", quoted_name(name), " twice"));
    if (name == "__metadata__") return go(Place::Metadata);
    entry_ = TensorEntry{};
    entry_.name = name;
    return go(Place::TensorValue);
  }

  bool start_field(bool& seen, std::string_view key, Place place) {
    if (seen) refuse_tensor(text("has ", key, " twice"));
    seen = true;
    offsets_ = 0;
    return go(place);
  }

  bool add_dim(std::uint64_t value) {
    if (value > std::numeric_limits<std::int64_t>::max()) {
      refuse_tensor(text("has the dim ", value, ", which leaves 63 bits"));
    }
    if (entry_.dims.size() == Array::kMaxRank) {
      refuse_tensor(text("has more than ", Array::kMaxRank, " dims"));
    }
    entry_.dims.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool add_offset(std::uint64_t value) {
    if (offsets_ == 0) entry_.begin = value;
    if (offsets_ == 1) entry_.end = value;
    if (offsets_ < 3) ++offsets_;
    return true;
  }

  void finish_tensor() {
    if (!seen_dtype_) refuse_tensor("has no dtype");
    if (!seen_shape_) refuse_tensor("has no shape");
    if (!seen_offsets_) refuse_tensor("has no data_offsets");
    if (entry_.begin > entry_.end) {
      refuse_tensor(text("ends at offset ", entry_.end, ", before it begins at ", entry_.begin));
    }
    const std::uint64_t needed = needed_bytes();
    if (needed != entry_.end - entry_.begin) {
      refuse_tensor(text("of dtype ", entry_.dtype, " and shape [", join_text(entry_.dims, ","),
                         "] needs ", needed, " bytes but its data_offsets span ",
                         entry_.end - entry_.begin));
    }
    entries_.push_back(std::move(entry_));
  }

  std::uint64_t needed_bytes() {
    for (const std::int64_t dim : entry_.dims) {
      if (dim == 0) return 0;
    }
    auto bytes = static_cast<std::int64_t>(dtype_bytes(entry_.dtype));
    for (const std::int64_t dim : entry_.dims) {
      if (!__builtin_mul_overflow(bytes, dim, &bytes)) continue;
      refuse_tensor(text("has shape [", join_text(entry_.dims, ","),
                         "], whose bytes leave 63 bits"));
    }
    return static_cast<std::uint64_t>(bytes);
  }

  bool unexpected(const char* kind) {
    switch (place_) {
      case Place::Start: refuse(text("has ", kind, " as its header, not an object"));
      case Place::Metadata: refuse(text("has ", kind, " as __metadata__, not an object"));
      case Place::MetadataValue: refuse(text("has ", kind, " in __metadata__, not a string"));
      case Place::TensorValue: refuse_tensor(text("is ", kind, ", not an object"));
      case Place::DTypeValue: refuse_tensor(text("has ", kind, " as dtype, not a string"));
      case Place::ShapeValue: refuse_tensor(text("has ", kind, " as shape, not an array"));
      case Place::InShape: refuse_tensor(text("has ", kind, " in shape"));
      case Place::OffsetsValue:
        refuse_tensor(text("has ", kind, " as data_offsets, not an array"));
      case Place::InOffsets: refuse_tensor(text("has ", kind, " in data_offsets"));
      case Place::InHeader:
      case Place::InMetadata:
      case Place::InTensor:
      case Place::End: break;  // between members the parser itself knows what may follow
    }
    refuse(text("has ", kind, " where none may be"));
  }

  [[noreturn]] void refuse(const std::string& fact) {
    throw IoError("", "path", text(path_, " ", fact));
  }
  [[noreturn]] void refuse_tensor(const std::string& fact) {
    refuse(text("is damaged: tensor ", quoted_name(entry_.name), " ", fact));
  }

  const std::string& path_;
  Place place_ = Place::Start;
  std::vector<TensorEntry> entries_;
  std::unordered_set<std::string> names_;
  TensorEntry entry_;
  int offsets_ = 0;
  bool seen_dtype_ = false, seen_shape_ = false, seen_offsets_ = false;
};

}  // namespace

std::vector<TensorEntry> parse_safetensors_header(std::string_view json, const std::string& path) {
  HeaderEvents events(path);
  parse_json_events(json, text("header of ", path), events);
  return events.take();
}

std::string_view safetensors_dtype(DType dtype) { return kNames[static_cast<int>(dtype)]; }

}  // namespace kiln::runtime
