// Reads case files line by line: a line that begins with "//" starts a part or is a comment.
#include "tests/core/passes/case_file.h"

#include "core/types/text.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace kiln::test {
namespace {

constexpr std::string_view kCase = "// case: ", kPass = "// pass: ", kAfter = "// after:",
                           kUnchanged = "// after: unchanged";

class CaseReader {
 public:
  explicit CaseReader(std::string_view file) : file_(file) {}

  void take(const std::string& line) {
    ++line_;
    if (line.starts_with(kCase)) return begin(line.substr(kCase.size()));
    if (line.starts_with(kPass)) return add_passes(line.substr(kPass.size()));
    if (line == kAfter || line == kUnchanged) return expect(line == kAfter);
    if (!line.empty() && !line.starts_with("//")) add_to_graph(line);
  }

  std::vector<PassCase> finish() {
    if (cases_.empty()) fail(1, "the file has no '// case: TITLE'");
    end();
    return std::move(cases_);
  }

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& message) const {
    throw std::invalid_argument(text(file_, ":", line, ": ", message));
  }

  PassCase& current() {
    if (cases_.empty()) fail(line_, "the line precedes the first '// case: TITLE'");
    return cases_.back();
  }

  void begin(const std::string& title) {
    if (!cases_.empty()) end();
    for (const PassCase& one : cases_) {
      if (one.title == title) fail(line_, text("line ", one.line, " has the same title"));
    }
    cases_.emplace_back();
    cases_.back().title = title;
    cases_.back().line = line_;
  }

  /// Checks that the last case is complete.
  void end() const {
    const PassCase& one = cases_.back();
    if (one.passes.empty()) fail(one.line, "the case has no '// pass: NAME'");
    if (one.before.empty()) fail(one.line, "the case has no graph");
    if (one.after_begin == 0) fail(one.line, "the case has no '// after:'");
  }

  void add_passes(const std::string& names) {
    std::istringstream words(names);
    for (std::string name; words >> name;) {
      const auto all = passes::pipeline();
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&](const passes::Pass& pass) { return pass.name == name; });
      if (found == all.end()) fail(line_, text("no pass has the name '", name, "'"));
      current().passes.push_back(*found);
    }
  }

  void expect(bool graph) {
    PassCase& one = current();
    if (one.after_begin != 0) fail(line_, "the case has two expectations");
    one.after_begin = line_;
    one.after_end = line_ + 1;
    if (graph) one.after = "";
  }

  void add_to_graph(const std::string& line) {
    PassCase& one = current();
    const bool has_after = one.after_begin != 0;
    if (has_after && !one.after) fail(line_, "a graph follows '// after: unchanged'");
    std::string& graph = has_after ? *one.after : one.before;
    // Else lines of errors would be wrong, and a misspelt "// after:" would be a comment.
    if (!graph.empty() && graph_line_ + 1 != line_) {
      fail(line_, "a comment or an empty line divides the graph");
    }
    if (!has_after && graph.empty()) one.before_line = line_;
    if (has_after) one.after_end = line_ + 1;
    graph += line + "\n";
    graph_line_ = line_;
  }

  std::string_view file_;
  std::size_t line_ = 0;
  std::size_t graph_line_ = 0;  // the last one of a graph
  std::vector<PassCase> cases_;
};

}  // namespace

std::vector<PassCase> read_cases(const std::string& text, std::string_view file) {
  CaseReader reader(file);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.take(line);
  return reader.finish();
}

std::string with_expectation(const std::string& text, const PassCase& one,
                             const std::optional<std::string>& after) {
  std::string result;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (number == one.after_begin) {
      result += std::string(after ? kAfter : kUnchanged) + "\n" + after.value_or("");
    }
    if (number < one.after_begin || number >= one.after_end) result += line + "\n";
  }
  return result;
}

}  // namespace kiln::test
