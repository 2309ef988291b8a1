// A line end ends a comment, and a backslash before one joins the next line to it.
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
