// Text of others in comments of generated code and in lines of dumps.
#pragma once

#include <string>

namespace kiln::codegen {

/// The text in one line, fit for a comment: control characters and backslashes become spaces.
/// Names of K functions, of sizes and of files may be anything.
std::string comment_text(std::string words);

}  // namespace kiln::codegen
