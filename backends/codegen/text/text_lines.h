// Builds indented lines of C++ text.
#pragma once

#include <string>

namespace kiln::codegen {

/// Lines of text, indented by the depth of open blocks.
class TextLines {
 public:
  void line(const std::string& words) {
    out_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + words + "\n";
  }
  /// Writes a line that opens a block.
  void open(const std::string& words) {
    line(words.empty() ? "{" : words + " {");
    ++depth_;
  }
  /// Closes blocks until `depth` blocks are open.
  void close_to(int depth) {
    while (depth_ > depth) {
      --depth_;
      line("}");
    }
  }
  void close() { close_to(depth_ - 1); }
  int depth() const { return depth_; }
  const std::string& str() const { return out_; }

 private:
  std::string out_;
  int depth_ = 0;
};

}  // namespace kiln::codegen
