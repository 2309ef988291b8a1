// A newline would end the comment, and a backslash before one would extend it to the next line.
#include "backends/codegen/inspect/comment_text.h"

namespace kiln::codegen {

std::string comment_text(std::string words) {
  for (char& c : words) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f || c == '\\') c = ' ';
  }
  return words;
}

}  // namespace kiln::codegen
