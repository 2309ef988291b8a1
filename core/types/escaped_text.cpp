// Decodes UTF-8 and escapes what is not printable.
#include "core/types/escaped_text.h"

namespace kiln {
namespace {

unsigned char byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

/// Whether the character is a control character: C0, DEL, or C1 (c2 80 to c2 9f in UTF-8).
bool is_control(std::string_view sequence) {
  const unsigned char lead = byte_at(sequence, 0);
  return lead < 0x20 || lead == 0x7f || (lead == 0xc2 && byte_at(sequence, 1) < 0xa0);
}

void append_escape(std::string& result, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  switch (byte) {
    case '\n': result += "\\n"; return;
    case '\r': result += "\\r"; return;
    case '\t': result += "\\t"; return;
    default: result += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

/// Escapes all control characters but those in `allowed`.
std::string escaped(std::string_view bytes, std::string_view allowed) {
  std::string result;
  result.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const std::string_view sequence = bytes.substr(0, length == 0 ? 1 : length);
    const bool is_printed =
        length != 0 && (!is_control(sequence) || allowed.find(sequence) != allowed.npos);
    if (is_printed) {
      result += sequence;
    } else {
      for (const char c : sequence) append_escape(result, static_cast<unsigned char>(c));
    }
    bytes.remove_prefix(sequence.size());
  }
  return result;
}

}  // namespace

std::size_t utf8_length(std::string_view bytes) {
  const unsigned char lead = byte_at(bytes, 0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(bytes, i) & 0xc0) != 0x80) return 0;
  }
  // The second byte excludes overlong forms, surrogates, and code points above U+10FFFF.
  const unsigned char second = byte_at(bytes, 1);
  if (lead == 0xe0 && second < 0xa0) return 0;
  if (lead == 0xed && second >= 0xa0) return 0;
  if (lead == 0xf0 && second < 0x90) return 0;
  if (lead == 0xf4 && second >= 0x90) return 0;
  return length;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string escaped_text(std::string_view bytes) { return escaped(bytes, ""); }
std::string utf8_text(std::string_view bytes) {
  return is_utf8(bytes) ? std::string(bytes) : escaped_text(bytes);
}
std::string escaped_lines(std::string_view bytes) { return escaped(bytes, "\n\t"); }

}  // namespace kiln
