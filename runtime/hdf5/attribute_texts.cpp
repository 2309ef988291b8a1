// HDF5 reads texts of fixed length, which the attribute holds; those of variable length are read
// from the global heap without it (global_heap.h).
#include "runtime/hdf5/attribute_texts.h"

#include "runtime/files/quoted_name.h"
#include "runtime/hdf5/raw_attribute.h"

#include <algorithm>

namespace kiln::hdf5 {
namespace {

[[noreturn]] void reject(const Object& object, const char* attribute, const std::string& message) {
  throw Rejection("is damaged: attribute " + runtime::quoted_name(attribute) + " of " +
                  runtime::quoted_name(object.path) + " " + message);
}

/// Texts whose references the attribute holds.
std::vector<std::string> variable_texts(TextReader& reader, const Object& object,
                                        const char* attribute, std::uint64_t count) {
  constexpr std::size_t kReference = 16;  // bytes
  Bytes references = raw_attribute(reader.bytes, object.address, attribute);
  if (count > references.size() / kReference) reject(object, attribute, "is truncated");
  std::vector<std::string> texts;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    texts.push_back(reader.heap.text(references));
    total += texts.back().size();
    if (total > reader.bytes.size()) reject(object, attribute, "has more bytes than the file");
  }
  return texts;
}

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

/// The offset of the file's address 0. Rejection for a file of short addresses.
std::uint64_t user_block(hid_t file) {
  const Handle properties(H5Fget_create_plist(file), H5Pclose);
  hsize_t bytes = 0;
  checked(H5Pget_userblock(properties, &bytes));
  std::size_t address = 0, length = 0;
  checked(H5Pget_sizes(properties, &address, &length));
  if (address == 8 && length == 8) return bytes;
  throw Rejection("has addresses of " + std::to_string(address) + " bytes; those of 8 are read");
}

}  // namespace

TextReader::TextReader(hid_t file, const kiln_hdf5_stream& stream)
    : file(file), bytes(stream, user_block(file)), heap(bytes) {}

std::vector<std::string> TextReader::read(const Object& object, const char* attribute) {
  const Handle holder(H5Oopen_by_addr(file, object.address), H5Oclose);
  if (checked(H5Aexists(holder, attribute)) == 0) return {};
  const Handle id(H5Aopen(holder, attribute, H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(id), H5Tclose), space(H5Aget_space(id), H5Sclose);
  const hssize_t count = checked(H5Sget_simple_extent_npoints(space));
  if (count == 0) return {};
  if (H5Tget_class(type) != H5T_STRING) reject(object, attribute, "holds no texts");
  const auto texts = static_cast<std::uint64_t>(count);
  if (checked(H5Tis_variable_str(type)) > 0) {
    return variable_texts(*this, object, attribute, texts);
  }
  if (texts > bytes.size() / std::max<std::size_t>(H5Tget_size(type), 1)) {
    reject(object, attribute, "has more bytes than the file");
  }
  return fixed_texts(id, type, texts);
}

}  // namespace kiln::hdf5
