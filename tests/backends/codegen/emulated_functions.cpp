// A line above each function has the numbers of its threads and parameters.
#include "tests/backends/codegen/emulated_functions.h"

#include "tests/backends/codegen/emulated_text.h"
#include "tests/backends/codegen/host_compiler.h"
#include "tests/backends/codegen/line_scanner.h"

#include <algorithm>
#include <climits>

namespace kiln::test {

std::vector<TextFunction> parse_functions(std::string_view text) {
  std::vector<TextFunction> functions;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    LineScanner line({++number, text.substr(0, end)});
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.take("// function ")) continue;
    TextFunction& function = functions.emplace_back();
    const auto read = [&](const char* before, const char* after) {
      line.expect(before);
      const int value = line.index(INT_MAX);
      line.expect(after);
      return value;
    };
    function.name = line.name();
    function.threads = read(": ", " threads");
    function.addresses = read(", ", " addresses");
    function.sizes = read(", ", " sizes");
    line.expect_end();
  }
  return functions;
}

EmulatedKernels emulate_functions(const std::string& text, bool finds_races) {
  const std::vector<TextFunction> functions = parse_functions(text);
  return {compile_library(emulated_text(text, functions, finds_races)), finds_races};
}

}  // namespace kiln::test
