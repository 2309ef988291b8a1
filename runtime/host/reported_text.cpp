// Throws BrokenStruct for invalid text, before any byte of it is used.
#include "runtime/host/reported_text.h"

#include "core/types/escaped_text.h"
#include "core/types/text.h"

namespace kiln::runtime {

std::string_view reported_text(kiln_string given, const char* name, std::uint64_t max_bytes) {
  const std::string_view bytes = abi::view_of(given, name, max_bytes);
  if (!is_utf8(bytes)) {
    throw abi::BrokenStruct(text(name, " is not UTF-8: ", escaped_text(bytes.substr(0, 80))));
  }
  return bytes;
}

std::string shown_text(kiln_string given, const char* name, std::uint64_t max_bytes) {
  return escaped_text(reported_text(given, name, max_bytes));
}

}  // namespace kiln::runtime
