// Recognises formats by their signatures, and protobuf messages, such as ONNX's, and texts by their
// first bytes.
#include "runtime/weights/file_format.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace kiln::runtime {
namespace {

using namespace std::string_view_literals;

constexpr std::pair<std::string_view, std::string_view> kSignatures[] = {
    {"\x93NUMPY"sv, kNumpyArray},
    {"\x89HDF\r\n\x1a\n"sv, kHdf5},
    {"PK\x05\x06"sv, kEmptyArchive},
    {"\x1f\x8b"sv, "a gzip file"sv},
    {"GGUF"sv, "a GGUF file"sv},
    {"version https://git-lfs"sv, "a Git LFS pointer, whose file was not downloaded"sv},
    {"\x80\x02"sv, "a Python pickle, such as PyTorch's (.pt)"sv},
    {"\x80\x03"sv, "a Python pickle, such as PyTorch's (.pt)"sv},
    {"\x80\x04"sv, "a Python pickle, such as PyTorch's (.pt)"sv},
    {"\x80\x05"sv, "a Python pickle, such as PyTorch's (.pt)"sv},
};

/// Names a ZIP archive by the name of its first member.
std::string_view zip_format(std::string_view start) {
  constexpr std::size_t kNameLength = 26, kName = 30;
  if (start.size() < kName) return kOtherArchive;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(start[i]); };
  const std::size_t length = byte(kNameLength) + 256u * byte(kNameLength + 1);
  const std::string_view name = start.substr(kName, length);
  if (name.ends_with(".npy")) return kNumpyArchive;
  if (name.ends_with("data.pkl")) return "a PyTorch archive (.pt)";
  if (name == "manifest.json") return kModel;
  if (name == "metadata.json" || name == "config.json" || name == "model.weights.h5") {
    return kKerasArchive;
  }
  return kOtherArchive;
}

/// Whether the bytes are a length of less than 2^32 and the header of a safetensors file.
bool is_safetensors_header(std::string_view start) {
  return start.size() > 8 && start.substr(4, 5) == "\0\0\0\0{"sv;
}

/// Whether the bytes begin as ONNX and SavedModel do: field 1, a small number, then field 2 to 8 of
/// bytes, or field 5, ONNX's model_version, a number.
bool is_protobuf(std::string_view start) {
  if (start.size() < 4 || start[0] != 0x08 || start[1] < 1 || start[1] > 0x20) return false;
  if (is_safetensors_header(start)) return false;
  const int key = static_cast<unsigned char>(start[2]), field = key / 8, wire_type = key % 8;
  return (wire_type == 2 && field >= 2 && field <= 8) || (wire_type == 0 && field == 5);
}

bool is_text(std::string_view start) {
  return std::all_of(start.begin(), start.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte < 0xf5 && byte != 0x7f) || c == '\t' || c == '\n' || c == '\r';
  });
}

}  // namespace

std::string first_bytes(const InputFile& file) {
  std::string start(std::min<std::uint64_t>(file.size(), kFormatBytes), '\0');
  file.read(0, std::as_writable_bytes(std::span(start)));
  return start;
}

std::string_view known_format(std::string_view start) {
  for (const auto& [signature, format] : kSignatures) {
    if (start.starts_with(signature)) return format;
  }
  if (start.starts_with("PK\x03\x04")) return zip_format(start);
  if (is_protobuf(start)) return kProtobuf;
  if (start.empty() || !is_text(start)) return "";
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  const char opening = first == start.npos ? ' ' : start[first];
  if (opening == '{' || opening == '[') return "a JSON text";
  return opening == '<' ? "an HTML or XML text" : kText;
}

}  // namespace kiln::runtime
