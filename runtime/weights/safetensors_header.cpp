// Parses the header as events and stores only the tensors, and metadata if it is wanted, so that no
// file exhausts memory.
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

struct OtherDType {
  std::string_view name;
  int bits = 8;  // of an element
};
/// Dtypes of the format that Kiln lacks.
constexpr OtherDType kOthers[] = {
    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"F8_E5M2", 8},     {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"C64", 64},    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
};

const OtherDType* other_dtype(std::string_view name) {
  for (const OtherDType& other : kOthers) {
    if (other.name == name) return &other;
  }
  return nullptr;
}

std::optional<DType> dtype_of(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// A state machine over the parser's events. An event that the state does not allow throws, so that
/// nesting never exceeds the format's three levels, and kMaxJsonDepth in skipped values.
class HeaderEvents {
 public:
  HeaderEvents(const std::string& path, std::map<std::string, std::string>* metadata)
      : path_(path), metadata_(metadata) {}

  std::vector<TensorEntry> take() { return std::move(entries_); }

  bool Null() {
    if (state_ == State::Metadata) return go(State::InHeader);
    return unexpected("null");
  }
  bool Bool(bool) { return unexpected("a boolean"); }
  bool Int(int) { return unexpected("a negative number"); }
  bool Int64(std::int64_t) { return unexpected("a negative number"); }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Double(double) { return unexpected("a number that is not an integer"); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return unexpected("a number"); }

  bool Uint64(std::uint64_t value) {
    if (state_ == State::InShape) return add_dim(value);
    if (state_ == State::InOffsets) return add_offset(value);
    return unexpected("a number");
  }

  bool String(const char* chars, rapidjson::SizeType length, bool) {
    const std::string_view value(chars, length);
    if (state_ == State::DTypeValue) return set_dtype(value);
    if (state_ == State::MetadataValue) return add_metadata(value);
    return unexpected("a string");
  }

  bool StartObject() {
    if (state_ == State::Start) return go(State::InHeader);
    if (state_ == State::TensorValue) {
      seen_dtype_ = seen_shape_ = seen_offsets_ = false;
      return go(State::InTensor);
    }
    if (state_ == State::Metadata) return go(State::InMetadata);
    if (state_ == State::Skipped) return enter_skipped();
    return unexpected("an object");
  }

  bool Key(const char* chars, rapidjson::SizeType length, bool) {
    const std::string_view key(chars, length);
    if (state_ == State::Skipped) return true;
    if (state_ == State::InMetadata) return start_metadata(key);
    if (state_ == State::InHeader) return start_entry(key);
    if (key == "dtype") return start_field(seen_dtype_, key, State::DTypeValue);
    if (key == "shape") return start_field(seen_shape_, key, State::ShapeValue);
    if (key == "data_offsets") return start_field(seen_offsets_, key, State::OffsetsValue);
    return go(State::Skipped);
  }

  bool EndObject(rapidjson::SizeType) {
    if (state_ == State::Skipped) return leave_skipped();
    if (state_ == State::InTensor) finish_tensor();
    return go(state_ == State::InHeader ? State::End : State::InHeader);
  }

  bool StartArray() {
    if (state_ == State::ShapeValue) return go(State::InShape);
    if (state_ == State::OffsetsValue) return go(State::InOffsets);
    if (state_ == State::Skipped) return enter_skipped();
    return unexpected("an array");
  }

  bool EndArray(rapidjson::SizeType count) {
    if (state_ == State::Skipped) return leave_skipped();
    if (state_ == State::InOffsets && count != 2) {
      reject_tensor(text("has ", count, " data_offsets, not 2"));
    }
    return go(State::InTensor);
  }

 private:
  enum class State {
    Start,
    InHeader,
    Metadata,
    InMetadata,
    MetadataValue,
    TensorValue,
    InTensor,
    DTypeValue,
    ShapeValue,
    InShape,
    OffsetsValue,
    InOffsets,
    Skipped,  // the value of a member that the format does not define
    End
  };

  bool go(State state) {
    state_ = state;
    return true;
  }

  bool enter_skipped() {
    if (++skipped_depth_ <= kMaxJsonDepth) return true;
    reject_tensor(text("has a member nested deeper than ", kMaxJsonDepth, " levels"));
  }

  bool leave_skipped() { return --skipped_depth_ > 0 || go(State::InTensor); }

  bool set_dtype(std::string_view name) {
    if (const std::optional<DType> dtype = dtype_of(name)) {
      entry_.dtype = *dtype;
    } else if (other_dtype(name) != nullptr) {
      entry_.other_dtype = name;
    } else {
      reject_tensor(text("has the unknown dtype ", quoted_name(name)));
    }
    return go(State::InTensor);
  }

  bool start_entry(std::string_view name) {
    if (!names_.insert(std::string(name)).second) reject(text("has ", quoted_name(name), " twice"));
    if (name == "__metadata__") return go(State::Metadata);
    entry_ = TensorEntry{};
    entry_.name = name;
    return go(State::TensorValue);
  }

  bool start_metadata(std::string_view key) {
    metadata_key_ = key;
    return go(State::MetadataValue);
  }

  bool add_metadata(std::string_view value) {
    if (metadata_ != nullptr) metadata_->insert_or_assign(metadata_key_, value);
    return go(State::InMetadata);
  }

  bool start_field(bool& seen, std::string_view key, State state) {
    if (seen) reject_tensor(text("has ", key, " twice"));
    seen = true;
    offsets_ = 0;
    return go(state);
  }

  bool add_dim(std::uint64_t value) {
    if (value > std::numeric_limits<std::int64_t>::max()) {
      reject_tensor(text("has the dim ", value, ", which exceeds 63 bits"));
    }
    if (entry_.dims.size() == Array::kMaxRank) {
      reject_tensor(text("has more than ", Array::kMaxRank, " dims"));
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
    if (!seen_dtype_) reject_tensor("has no dtype");
    if (!seen_shape_) reject_tensor("has no shape");
    if (!seen_offsets_) reject_tensor("has no data_offsets");
    if (entry_.begin > entry_.end) {
      reject_tensor(text("ends at offset ", entry_.end, ", before it begins at ", entry_.begin));
    }
    const std::uint64_t needed = needed_bytes();
    if (needed != entry_.end - entry_.begin) {
      const std::string_view dtype =
          entry_.other_dtype.empty() ? dtype_name(entry_.dtype) : entry_.other_dtype;
      reject_tensor(text("of dtype ", dtype, " and shape [", join_text(entry_.dims, ","),
                         "] needs ", needed, " bytes but its data_offsets span ",
                         entry_.end - entry_.begin));
    }
    entries_.push_back(std::move(entry_));
  }

  std::uint64_t needed_bytes() {
    for (const std::int64_t dim : entry_.dims) {
      if (dim == 0) return 0;
    }
    std::int64_t count = 1;
    bool exceeds = false;
    for (const std::int64_t dim : entry_.dims) {
      exceeds = exceeds || __builtin_mul_overflow(count, dim, &count);
    }
    const OtherDType* const other = other_dtype(entry_.other_dtype);
    const int bits = other ? other->bits : 8 * static_cast<int>(dtype_bytes(entry_.dtype));
    // 4 bits and 6 bits: elements share bytes, and a tensor fills whole ones.
    std::int64_t bytes = 0;
    exceeds = exceeds || __builtin_mul_overflow(count / 8, bits, &bytes) ||
              __builtin_add_overflow(bytes, (count % 8 * bits + 7) / 8, &bytes);
    if (!exceeds) return static_cast<std::uint64_t>(bytes);
    reject_tensor(
        text("has shape [", join_text(entry_.dims, ","), "], whose size in bytes exceeds 63 bits"));
  }

  bool unexpected(const char* kind) {
    if (state_ == State::Skipped) return skipped_depth_ > 0 || go(State::InTensor);
    switch (state_) {
      case State::Start: reject(text("has ", kind, " as its header, not an object"));
      case State::Metadata: reject(text("has ", kind, " as __metadata__, not an object"));
      case State::MetadataValue: reject(text("has ", kind, " in __metadata__, not a string"));
      case State::TensorValue: reject_tensor(text("is ", kind, ", not an object"));
      case State::DTypeValue: reject_tensor(text("has ", kind, " as dtype, not a string"));
      case State::ShapeValue: reject_tensor(text("has ", kind, " as shape, not an array"));
      case State::InShape: reject_tensor(text("has ", kind, " in shape"));
      case State::OffsetsValue: reject_tensor(text("has ", kind, " as data_offsets, not an array"));
      case State::InOffsets: reject_tensor(text("has ", kind, " in data_offsets"));
      case State::InHeader:
      case State::InMetadata:
      case State::InTensor:
      case State::Skipped:
      case State::End: break;  // the parser itself checks the syntax between members
    }
    reject(text("has ", kind, " where none is allowed"));
  }

  [[noreturn]] void reject(const std::string& message) {
    throw IoError("", "path", text(path_, " ", message));
  }
  [[noreturn]] void reject_tensor(const std::string& message) {
    reject(text("is damaged: tensor ", quoted_name(entry_.name), " ", message));
  }

  const std::string& path_;
  std::map<std::string, std::string>* const metadata_;
  std::string metadata_key_;
  State state_ = State::Start;
  std::vector<TensorEntry> entries_;
  std::unordered_set<std::string> names_;
  TensorEntry entry_;
  int offsets_ = 0;
  int skipped_depth_ = 0;
  bool seen_dtype_ = false, seen_shape_ = false, seen_offsets_ = false;
};

}  // namespace

std::vector<TensorEntry> parse_safetensors_header(std::string_view json, const std::string& path,
                                                  std::map<std::string, std::string>* metadata) {
  HeaderEvents events(path, metadata);
  parse_json_events(json, text("header of ", path), events);
  return events.take();
}

std::string_view safetensors_dtype(DType dtype) { return kNames[static_cast<int>(dtype)]; }

}  // namespace kiln::runtime
