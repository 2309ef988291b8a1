// Attributes that hold texts: of fixed length, padded, or of variable length.
#include "runtime/hdf5/reader.h"

#include <algorithm>
#include <cstring>

namespace kiln::hdf5 {
namespace {

/// More than an object header can hold of texts of variable length. HDF5 allocates for all of them
/// before anything can be checked, and they may all be one text of the file.
constexpr std::size_t kMaxVariable = 4096;

[[noreturn]] void reject(const Object& object, const char* attribute, const std::string& message) {
  throw Rejection("is damaged: attribute '" + std::string(attribute) + "' of '" + object.path +
                  "' " + message);
}

/// The texts that HDF5 has allocated.
class VariableTexts {
 public:
  VariableTexts(hid_t attribute, hid_t type, hid_t space, std::size_t count)
      : texts_(count, nullptr), type_(type), space_(space) {
    checked(H5Aread(attribute, type, texts_.data()));
  }
  ~VariableTexts() { H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, texts_.data()); }
  VariableTexts(const VariableTexts&) = delete;
  VariableTexts& operator=(const VariableTexts&) = delete;

  std::vector<std::string> copies() const {
    std::vector<std::string> copies;
    for (const char* text : texts_) copies.emplace_back(text == nullptr ? "" : text);
    return copies;
  }

 private:
  std::vector<char*> texts_;
  hid_t type_, space_;
};

std::vector<std::string> fixed_texts(hid_t attribute, hid_t type, std::size_t count) {
  const std::size_t width = H5Tget_size(type);
  std::vector<char> characters(count * width);
  checked(H5Aread(attribute, type, characters.data()));
  const bool has_spaces = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(characters.data() + i * width, width);
    text.resize(has_spaces ? text.find_last_not_of(' ') + 1 : std::min(text.find('\0'), width));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

std::vector<std::string> read_texts(hid_t file, const Object& object, const char* attribute,
                                    std::uint64_t file_bytes) {
  const Handle holder(H5Oopen_by_addr(file, object.address), H5Oclose);
  if (checked(H5Aexists(holder, attribute)) == 0) return {};
  const Handle id(H5Aopen(holder, attribute, H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(id), H5Tclose), space(H5Aget_space(id), H5Sclose);
  const hssize_t count = checked(H5Sget_simple_extent_npoints(space));
  if (count == 0) return {};
  if (H5Tget_class(type) != H5T_STRING) reject(object, attribute, "holds no texts");
  const auto texts = static_cast<std::uint64_t>(count);
  if (checked(H5Tis_variable_str(type)) > 0) {
    if (texts > kMaxVariable) reject(object, attribute, "holds more than 4096 texts");
    return VariableTexts(id, type, space, texts).copies();
  }
  if (texts > file_bytes / std::max<std::size_t>(H5Tget_size(type), 1)) {
    reject(object, attribute, "has more bytes than the file");
  }
  return fixed_texts(id, type, texts);
}

}  // namespace kiln::hdf5
