// Tests that every public function turns std::bad_alloc into an OutOfMemory that names it, by a
// function-try-block. Exempt are functions that are noexcept, have an empty body, only return the
// result of such a function of the file or of a public function, and predicates without a Where,
// which look at pointers. Headers of core/types are below the handler.
// Also tests that thread_local objects have no destructor.
#include "tests/support/catch.h"
#include "tests/whole/structure/source_tree.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace structure_test;

namespace {

using Lines = std::vector<std::string>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The name in a head: "abs" of "Tensor abs(const Operand& x", "X::X" of "X::X(int y".
std::string name_in(const std::string& head) {
  const std::size_t sign = head.find("operator");
  if (sign != head.npos && head.find('(') > sign) {
    return head.substr(sign, head.find('(', sign) - sign);
  }
  std::size_t end = head.find('('), begin = end;
  while (begin != 0 && begin != head.npos && (is_word(head[begin - 1]) || head[begin - 1] == ':')) {
    --begin;
  }
  return end == head.npos ? "" : head.substr(begin, end - begin);
}

/// The names of the functions that a header exports at namespace level.
std::set<std::string> exported_by(const Lines& lines) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("KILN_API ")) continue;
    std::string head;
    for (std::size_t j = i; j < lines.size(); ++j) {
      head += lines[j].substr(0, lines[j].find("//")) + " ";
      if (head.find(';') != head.npos || head.find(") {") != head.npos) break;
    }
    if (head.find("noexcept") == head.npos) names.insert(name_in(head));
  }
  return names;
}

struct Definition {
  std::string head, body;
  bool is_guarded = false;  // by a function-try-block that catches std::bad_alloc
  bool is_private = false;  // in an unnamed or inner namespace

  std::string name() const { return name_in(head); }
  bool is_predicate() const { return head.starts_with("bool ") && head.find("Where") == head.npos; }
  /// f where the body is only "return f(...);".
  std::string returned_call() const {
    constexpr std::string_view kReturn = "return ";
    if (!body.starts_with(kReturn)) return "";
    if (std::count(body.begin(), body.end(), ';') != 1) return "";
    return name_in(body.substr(kReturn.size()));
  }
};

bool opens_definition(const std::string& line) {
  if (line.empty() || (!is_word(line[0]) && line[0] != '[')) return false;
  for (const char* other : {"namespace", "using", "struct", "class", "enum", "template",
                            "static_assert", "extern", "union", "KILN_"}) {
    if (line.starts_with(other)) return false;
  }
  return line.find('(') != line.npos;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// The functions that a file defines at namespace level.
std::vector<Definition> definitions_in(const Lines& lines) {
  std::vector<Definition> found;
  std::set<std::string> open;  // namespaces other than kiln
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    for (const std::string name : {"", "runtime", "ir"}) {
      const std::string tail = name.empty() ? "" : " " + name;
      if (line == "namespace" + tail + " {" || line == "namespace kiln::" + name + " {") {
        open.insert(name);
      }
      if (line == "}  // namespace" + tail) open.erase(name);
    }
    if (!opens_definition(line)) continue;
    Definition one;
    one.is_private = !open.empty();
    std::size_t brace = std::string::npos;
    for (; i < lines.size(); ++i) {
      brace = lines[i].find(" {");
      one.head += lines[i].substr(0, brace) + " ";
      if (brace != std::string::npos || lines[i].ends_with(";")) break;
    }
    if (brace == std::string::npos) continue;  // a declaration or a variable
    one.body = lines[i].substr(brace + 2);
    const bool is_closed = one.body.ends_with("}");
    if (is_closed) one.body.pop_back();
    while (!is_closed && ++i < lines.size() && !lines[i].starts_with("}")) one.body += lines[i];
    one.body = trimmed(one.body);
    one.is_guarded = one.head.find(") try ") != std::string::npos ||
                     one.head.find(") const try ") != std::string::npos;
    const bool catches = i < lines.size() && lines[i] == "} catch (const std::bad_alloc&) {";
    one.is_guarded = one.is_guarded && catches;
    found.push_back(std::move(one));
  }
  return found;
}

/// The names of the file's public functions whose definition lets std::bad_alloc out.
std::vector<std::string> unguarded_in(const Lines& lines, const std::set<std::string>& exported) {
  const std::vector<Definition> all = definitions_in(lines);
  std::set<std::string> safe = exported;
  for (const Definition& one : all) {
    if (!one.is_guarded) continue;
    const std::string name = one.name();
    safe.insert(name.substr(name.rfind(':') == name.npos ? 0 : name.rfind(':') + 1));
  }
  std::vector<std::string> found;
  for (const Definition& one : all) {
    const bool is_public = !one.is_private && exported.count(one.name()) != 0;
    if (!is_public || one.is_guarded || one.is_predicate() || one.body.empty()) continue;
    if (safe.count(one.returned_call()) == 0) found.push_back(one.name());
  }
  return found;
}

std::set<std::string> exported_by_all() {
  std::set<std::string> exported;
  for (const fs::path& path : sources()) {
    const std::string name = name_of(path);
    if (!name.starts_with("core/kiln/") && !name.starts_with("runtime/kiln/")) continue;
    if (name.ends_with(".h")) exported.merge(exported_by(lines_of(path)));
  }
  return exported;
}

bool defines_public(const std::string& name) {
  return (name.starts_with("core/k/") || name.starts_with("runtime/")) && name.ends_with(".cpp");
}

}  // namespace

TEST_CASE("out of memory: public functions turn std::bad_alloc into OutOfMemory") {
  const std::set<std::string> exported = exported_by_all();
  CHECK(exported.size() > 150);
  std::set<std::string> defined;
  for (const fs::path& path : sources()) {
    if (!defines_public(name_of(path))) continue;
    const Lines lines = lines_of(path);
    for (const Definition& one : definitions_in(lines)) {
      if (!one.is_private) defined.insert(one.name());
    }
    for (const std::string& name : unguarded_in(lines, exported)) {
      FAIL_CHECK(name_of(path) << ": " << name << " lets std::bad_alloc out");
    }
  }
  for (const std::string& name : exported) {
    INFO(name << " has no definition that this test sees");
    CHECK(defined.count(name) == 1);
  }
}

TEST_CASE("out of memory: the check finds unguarded functions") {
  const std::set<std::string> exported = exported_by(
      {"KILN_API Tensor abs(const Operand& x);", "KILN_API Tensor sum(const Operand& x,",
       "                    int axis = {});", "KILN_API bool is_any(const Tensor& x);",
       "KILN_API void reset() noexcept;", "class KILN_API Shape {", "KILN_API void none();"});
  CHECK(exported == std::set<std::string>{"abs", "sum", "is_any", "none"});
  const auto found = [&](const Lines& lines) { return unguarded_in(lines, exported); };
  using Names = std::vector<std::string>;
  CHECK(found({"Tensor abs(const Operand& x) { return wrap(x); }"}) == Names{"abs"});
  CHECK(found({"Tensor sum(const Operand& x,", "           int axis) {", "  return wrap(x);",
               "}"}) == Names{"sum"});
  CHECK(found({"Tensor abs(const Operand& x) try {", "  return wrap(x);",
               "} catch (const std::exception&) {", "}"}) == Names{"abs"});
  CHECK(found({"Tensor abs(const Operand& x) try {", "  return wrap(x);",
               "} catch (const std::bad_alloc&) {", "  throw;", "}"})
            .empty());
  CHECK(
      found({"namespace {", "Tensor abs(const Operand& x) { return wrap(x); }", "}  // namespace"})
          .empty());
  CHECK(found({"namespace {", "Tensor of(const Operand& x) try {", "  return wrap(x);",
               "} catch (const std::bad_alloc&) {", "  throw;", "}", "}  // namespace",
               "Tensor abs(const Operand& x) { return of(x); }"})
            .empty());
  CHECK(found({"bool is_any(const Tensor& x) { return x.empty(); }", "void none() {}"}).empty());
}

TEST_CASE("out of memory: thread_local objects have no destructor") {
  // The first use of an object with a destructor allocates, and glibc ends the process where that
  // fails.
  const Lines plain{"bool", "int", "unsigned", "Origin"};
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
