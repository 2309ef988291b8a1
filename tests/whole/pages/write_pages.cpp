// Writes the snippets of pages as a Catch2 source: write_pages OUTPUT PAGE... One test case a page
// runs its blocks in their order: ```cpp as statements of one function, ```sh by the shell, whose
// output has to have the lines of a ```text block that follows it. A ```cpp block that begins with
// an #include is at namespace scope; its main, if it has one, is called. A line of std::cout that
// ends in a comment, `;  // text`, has to print that text. A block with file=NAME is written there.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Block {
  std::string language, file;  // of "```cpp file=a.cpp"; no file: empty
  int line = 0;  // of the first line of the text
  std::vector<std::string> lines;
};

struct Page {
  std::string name;  // train.md
  std::vector<Block> blocks;
};

Block opened_block(const std::string& fence, int line) {
  std::istringstream words(fence.substr(3));
  Block block;
  words >> block.language;
  for (std::string word; words >> word;) {
    if (word.starts_with("file=")) block.file = word.substr(5);
  }
  block.line = line + 1;
  return block;
}

Page read_page(const std::filesystem::path& path) {
  Page page{path.filename().string(), {}};
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  bool is_inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      if (!is_inside) page.blocks.push_back(opened_block(line, number));
      is_inside = !is_inside;
    } else if (is_inside) {
      page.blocks.back().lines.push_back(line);
    }
  }
  if (is_inside) throw std::runtime_error(path.string() + ": a block has no end");
  return page;
}

std::string raw(const std::vector<std::string>& lines) {
  std::string text = "R\"page(";
  for (const std::string& line : lines) text += line + "\n";
  return text + ")page\"";
}

bool is_at_namespace_scope(const Block& block) {
  return !block.lines.empty() && block.lines[0].starts_with("#include");
}

bool has_main(const Block& block) {
  for (const std::string& line : block.lines) {
    if (line == "int main() {") return true;
  }
  return false;
}

/// A line of a snippet; one that prints and ends in a comment is compared with it.
void write_line(std::ostream& out, const std::string& line) {
  const std::size_t comment = line.rfind(";  // ");
  const bool prints = comment != line.npos && line.find("std::cout <<") != line.npos;
  if (!prints) {
    out << line << "\n";
    return;
  }
  // All on one line, so that the lines of errors are those of the page.
  out << "kiln::testing::begin_output(); " << line.substr(0, comment)
      << "; kiln::testing::check_output(R\"page(" << line.substr(comment + 6) << ")page\");\n";
}

/// Where the compiler and Kiln see the text: in the page, a program by its own name and lines.
void write_position(std::ostream& out, const Page& page, const Block& block) {
  const bool is_program = has_main(block);
  out << "#line " << (is_program ? 1 : block.line) << " \""
      << (is_program ? "first.cpp" : page.name) << "\"\n";
}

void write_namespace_scope(std::ostream& out, const Page& page, const Block& block) {
  write_position(out, page, block);
  for (const std::string& line : block.lines) {
    const bool is_include = line.starts_with("#include");
    if (is_include) out << "\n";  // all of them are at the top
    else if (line == "int main() {") out << "void main_of_page() {\n";
    else write_line(out, line);
  }
}

void write_in_order(std::ostream& out, const Page& page, std::size_t index) {
  const Block& block = page.blocks[index];
  if (!block.file.empty()) {
    out << "kiln::testing::write_file(\"" << block.file << "\", " << raw(block.lines) << ");\n";
    return;
  }
  if (block.language == "sh") {
    const bool has_text =
        index + 1 < page.blocks.size() && page.blocks[index + 1].language == "text";
    out << "kiln::testing::run_commands(" << raw(block.lines) << ", "
        << raw(has_text ? page.blocks[index + 1].lines : std::vector<std::string>()) << ");\n";
  }
  if (block.language != "cpp") return;
  if (is_at_namespace_scope(block)) {
    if (has_main(block)) out << "main_of_page();\n";
    return;
  }
  write_position(out, page, block);
  for (const std::string& line : block.lines) write_line(out, line);
}

void write_page(std::ostream& out, const Page& page) {
  const std::string name = page.name.substr(0, page.name.rfind('.'));
  out << "\nnamespace page_" << name << " {\n";
  for (const Block& block : page.blocks) {
    if (block.language == "cpp" && block.file.empty() && is_at_namespace_scope(block)) {
      write_namespace_scope(out, page, block);
    }
  }
  out << "TEST_CASE(\"snippets of " << page.name << "\", \"[pages]\") {\n"
      << "const kiln::testing::DefaultSettings settings;\nkiln::testing::copy_files();\n";
  for (std::size_t i = 0; i < page.blocks.size(); ++i) write_in_order(out, page, i);
  out << "}\n}  // namespace page_" << name << "\n";
}

void write_pages(std::ostream& out, const std::vector<Page>& pages) {
  out << "// The snippets of the pages. Written by the build.\n"
      << "#include \"tests/whole/pages/page.h\"\n";
  for (const Page& page : pages) {
    for (const Block& block : page.blocks) {
      for (const std::string& line : block.lines) {
        if (block.language == "cpp" && block.file.empty() && line.starts_with("#include")) {
          out << line << "\n";
        }
      }
    }
  }
  for (const Page& page : pages) write_page(out, page);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<Page> pages;
    for (int i = 2; i < argc; ++i) pages.push_back(read_page(argv[i]));
    if (pages.empty()) throw std::runtime_error("usage: write_pages OUTPUT PAGE...");
    std::ofstream out(argv[1]);
    write_pages(out, pages);
    out.close();
    if (!out) throw std::runtime_error(std::string("cannot write ") + argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
