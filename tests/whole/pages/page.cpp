// Output is collected by exchanging the buffer of std::cout, which a failing test may leave so
// until the next one begins.
#include "tests/whole/pages/page.h"
#include "tests/support/process.h"
#include "test_folders.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace kiln::testing {
namespace {

/// The output so far; its owner gives std::cout back the buffer that it had.
struct Collected {
  std::ostringstream text;
  std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
  ~Collected() { std::cout.rdbuf(before); }
};
std::optional<Collected> collected;  // NOLINT: one output of the process

std::vector<std::string> words_of(const std::string& text) {
  std::string apart;
  for (const char c : text) {
    const bool is_bracket = c == '[' || c == ']' || c == ',' || c == '(' || c == ')';
    apart += is_bracket ? std::string(" ") + c + " " : std::string(1, c);
  }
  std::istringstream in(apart);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool is_near(const std::string& word, const std::string& other) {
  char *end = nullptr, *other_end = nullptr;
  const double a = std::strtod(word.c_str(), &end);
  const double b = std::strtod(other.c_str(), &other_end);
  if (*end != '\0' || *other_end != '\0') return word == other;
  return std::abs(a - b) <= std::max(0.001, 0.01 * std::abs(b));
}

/// The line with one blank for blanks, and N for numbers.
std::string form_of(const std::string& line) {
  std::string form;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_digit = c >= '0' && c <= '9';
    const bool was_number = !form.empty() && form.back() == 'N';
    if (is_digit) form += was_number ? "" : "N";
    else if (c == '.' && was_number && i + 1 < line.size() && std::isdigit(line[i + 1])) continue;
    else if (c != ' ' && c != '\t') form += c;
    else if (!form.empty() && form.back() != ' ') form += ' ';
  }
  while (!form.empty() && form.back() == ' ') form.pop_back();
  return form;
}

/// Whether a line is the expected one, or begins as one that ends in "...".
bool is_line(const std::string& line, const std::string& expected) {
  const std::string form = form_of(line), wanted = form_of(expected);
  return wanted.ends_with("...") ? form.starts_with(wanted.substr(0, wanted.size() - 3))
                                 : form == wanted;
}

}  // namespace

void begin_output() { collected.emplace(); }

void check_output(const std::string& expected) {
  REQUIRE(collected);
  const std::string printed = collected->text.str();
  collected.reset();
  const std::string near = "near ";
  const bool is_rough = expected.starts_with(near);
  INFO("printed " << printed << ", expected " << expected);
  CHECK((is_rough ? are_near(printed, expected.substr(near.size()))
                  : words_of(printed) == words_of(expected)));
}

void copy_files() {
  for (const std::string name : {"torch.safetensors", "net.onnx", "digits.npz"}) {
    std::filesystem::copy_file(KILN_SOURCE_DIR "/tests/whole/pages/" + name, name);
  }
  std::filesystem::copy_file(KILN_SOURCE_DIR "/tests/runtime/hdf5/files/keras3.keras", "net.keras");
}

void write_file(const std::string& name, const std::string& text) {
  std::ofstream out(name);
  out << text;
  out.close();
  REQUIRE(out);
}

void run_commands(const std::string& commands, const std::string& expected) {
  write_file("commands.sh", commands);
  const Outcome outcome = run_shell("PATH='" KILN_BINARY_DIR "/bin':\"$PATH\" sh -eu commands.sh");
  INFO(commands << "printed\n" << outcome.text);
  CHECK(outcome.status == 0);
  CHECK(missing_line(outcome.text, expected) == "");
}

bool are_near(const std::string& text, const std::string& other) {
  const std::vector<std::string> words = words_of(text), others = words_of(other);
  if (words.size() != others.size()) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_near(words[i], others[i])) return false;
  }
  return true;
}

std::string missing_line(const std::string& text, const std::string& expected) {
  std::istringstream lines(text), wanted(expected);
  std::string line;
  for (std::string one; std::getline(wanted, one);) {
    if (one.empty() || one == "...") continue;
    bool is_found = false;
    while (!is_found && std::getline(lines, line)) is_found = is_line(line, one);
    if (!is_found) return one;
  }
  return "";
}

}  // namespace kiln::testing
