// Escapes untrusted text for comments of generated code and lines of dumps.
#pragma once

#include <string>

namespace kiln::codegen {

/// Replaces control characters and backslashes by spaces: names of K functions, sizes and files may
/// contain any character.
std::string comment_text(std::string words);

}  // namespace kiln::codegen
