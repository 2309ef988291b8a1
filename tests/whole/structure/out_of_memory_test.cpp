// Tests that public functions turn std::bad_alloc into an OutOfMemory that names them, and that
// thread_local objects have no destructor.
#include "tests/support/catch.h"
#include "tests/whole/structure/source_tree.h"

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

using namespace structure_test;

namespace {

/// The matches of group 1 of `pattern` in lines of files in `folders`, one per line.
std::set<std::string> matches(const std::vector<std::string>& folders, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (const fs::path& path : sources()) {
    const std::string name = name_of(path);
    const auto holds = [&](const std::string& folder) { return name.starts_with(folder); };
    if (std::none_of(folders.begin(), folders.end(), holds)) continue;
    for (const std::string& line : lines_of(path)) {
      std::smatch match;
      if (std::regex_search(line, match, regex)) found.insert(match[1]);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("out of memory: public functions turn std::bad_alloc into OutOfMemory") {
  const std::vector<std::string> folders{"core/k/", "runtime/"};
  std::string wrappers = "api_call|named_call|translate_exceptions|Call::out_of_memory";
  // Private functions that pass the name on.
  for (const std::string& name : matches(folders, R"(^Tensor (\w+)\(const char\* function,)")) {
    wrappers += "|" + name;
  }
  const std::set<std::string> wrapped =
      matches(folders, R"re(\b(?:)re" + wrappers + R"re()\("([^"]+)",)re");
  // Four look at pointers only; an empty body; noexcept; "switch" in errors.
  const std::set<std::string> exempt{"is_placeholder",
                                     "is_tensor",
                                     "is_variable",
                                     "same_node",
                                     "manual_variable_initialization",
                                     "release_idle_memory",
                                     "switch_"};
  const std::set<std::string> names =
      matches({"core/kiln/", "runtime/kiln/"},
              R"(^(?:\[\[nodiscard\]\] )?KILN_API (?!class).*?\b(operator[^\w\s(]+|\w+)\()");
  CHECK(names.size() > 150);
  for (const std::string& name : names) {
    INFO(name << " is not named by api_call(), translate_exceptions() or Call::out_of_memory()");
    CHECK(wrapped.count(name) + exempt.count(name) == 1);
  }
}

TEST_CASE("out of memory: thread_local objects have no destructor") {
  // The first use of an object with a destructor allocates, and glibc ends the process where that
  // fails.
  const std::vector<std::string> plain{"bool", "int", "unsigned", "Origin"};
  int found = 0;
  for (const fs::path& path : sources()) {
    const std::string name = name_of(path);
    if (name.starts_with("tests/") || name.starts_with("tools/")) continue;
    for (const std::string& line : lines_of(path)) {
      const std::string code = line.substr(0, line.find("//"));
      if (!has_word(code, "thread_local")) continue;
      ++found;
      INFO(name << ": " << line);
      CHECK((code.find('*') != code.npos ||
             std::any_of(plain.begin(), plain.end(),
                         [&](const std::string& type) { return has_word(code, type); })));
    }
  }
  CHECK(found > 5);
}
