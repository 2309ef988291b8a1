// Tests that the public headers declare exactly the functions of the specification, and document
// each with an example. The examples themselves are tests that the build writes.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "test_folders.h"
#include "tools/functions/docs.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace kiln::tool {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using testing::Outcome;
using Names = std::set<std::string>;

std::ifstream open_list(const std::string& name) {
  std::ifstream file(KILN_SOURCE_DIR "/tests/k/functions/" + name);
  REQUIRE(file.is_open());
  return file;
}

/// The names of all groups; sets `counts` to the number of each.
Names listed(std::map<std::string, std::size_t>& counts) {
  std::ifstream file = open_list("names.txt");
  Names names;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    std::string group;
    words >> group;
    for (std::string name; words >> name; ++counts[group]) {
      INFO(name);
      CHECK(names.insert(name).second);
    }
  }
  return names;
}

Names declared() {
  Names names;
  for (const HeaderDoc& header : read_headers()) {
    for (const FunctionDoc& doc : header.functions) {
      names.insert(doc.names.begin(), doc.names.end());
    }
  }
  return names;
}

Outcome kiln_functions(const std::string& arguments) {
  return kiln::testing::run_shell("'" KILN_BINARY_DIR "/bin/kiln' functions " + arguments);
}

}  // namespace

TEST_CASE("public headers: exactly the functions of the specification") {
  std::map<std::string, std::size_t> counts;
  const Names names = listed(counts), have = declared();
  const std::map<std::string, std::size_t> expected{
      {"A", 19}, {"B", 20}, {"C", 4}, {"D", 4}, {"E", 14}, {"F", 19},
      {"G", 2},  {"H", 20}, {"I", 6}, {"J", 3}, {"K", 4},  {"L", 14},
      {"M", 13}, {"N", 4},  {"O", 8}, {"P", 3}, {"Q", 4}};
  for (const auto& [group, count] : expected) {
    INFO("group " << group);
    CHECK(counts[group] == count);
  }
  for (const std::string& name : names) {
    INFO(name << " is in names.txt");
    CHECK(have.count(name) == 1);
  }
  for (const std::string& name : have) {
    INFO(name << " is declared");
    CHECK(names.count(name) == 1);
  }
}

TEST_CASE("public headers: each function has a docstring and an example that calls it") {
  std::map<std::string, std::string> examples;
  for (const HeaderDoc& header : read_headers()) {
    for (const FunctionDoc& doc : header.functions) {
      INFO(header.name << ", " << doc.names[0]);
      CHECK(doc.text.size() > 8);
      for (const std::string& name : doc.names) {
        for (const std::string& line : doc.example) examples[name] += line + "\n";
        examples[name] += "";
      }
    }
  }
  for (const auto& [name, example] : examples) {
    INFO("example of " << name << ":\n" << example);
    CHECK(example.find("::" + name + "(") != std::string::npos);
  }
}

TEST_CASE("public headers: each function is called in the tests") {
  std::set<std::string> called;
  const std::string root = KILN_SOURCE_DIR "/tests";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".cpp") || path.find("/tests/k/functions/") != path.npos) continue;
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::string word;
    for (const char c : text.str()) {
      if (c == '(' && !word.empty()) called.insert(word);
      const bool in_word = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
      word = in_word ? word + c : "";
    }
  }
  for (const std::string& name : declared()) {
    INFO(name);
    CHECK(called.count(name) == 1);
  }
}

TEST_CASE("docstrings: each belongs to the declarations right below it") {
  const HeaderDoc doc = read_header({"kiln/a.h", R"(// About all
// of it.
#pragma once

/// Not of a function.
struct [[nodiscard]] Options {
  int axis = -1;  ///< which
};
using Step = std::function<
    Tensor()>;
struct Hidden;  // b.h

/// Not to be read whole.
class KILN_API Whole : public Part {
 public:
  int member() const;
};
class Forward;
/// Its values.
enum class Kind : int {
  First,
};
enum class Short { A };

/// One, and
///     auto x = K::one(
///         1);
///     K::one();  // 1
/// the rest.
KILN_API Tensor one(const Options& options = {},
                    Where where = Where::here());
KILN_API std::vector<Tensor>* other(Where where = Where::here());
KILN_API Tensor operator+(const Tensor& x);
[[nodiscard]] KILN_API int apart(int one,
                                 int two);

)"});
  CHECK(doc.intro == "About all\nof it.");
  CHECK(doc.types.at("Options") ==
        "/// Not of a function.\nstruct Options {\n  int axis = -1;  ///< which\n};");
  CHECK(doc.types.at("Step") == "using Step = std::function<\n    Tensor()>;");
  CHECK(doc.types.at("Whole") == "/// Not to be read whole.\nclass Whole;");
  CHECK(doc.types.at("Kind") == "/// Its values.\nenum class Kind : int {\n  First,\n};");
  CHECK(doc.types.at("Short") == "enum class Short { A };");
  CHECK(doc.types.size() == 5);
  REQUIRE(doc.operators.size() == 1);
  CHECK(doc.operators[0].names == std::vector<std::string>{"operator+"});
  CHECK(doc.operators[0].declarations == "Tensor operator+(const Tensor& x);\n");
  CHECK(doc.operators[0].text == "One, and\nthe rest.");
  REQUIRE(doc.functions.size() == 1);
  const FunctionDoc& one = doc.functions[0];
  CHECK(one.names == std::vector<std::string>{"one", "other", "apart"});
  CHECK(one.declarations ==
        "Tensor one(const Options& options = {});\nstd::vector<Tensor>* other();\n"
        "int apart(int one,\n          int two);\n");
  CHECK(one.text == "One, and\nthe rest.");
  CHECK(one.example == std::vector<std::string>{"auto x = K::one(", "    1);", "K::one();  // 1"});
  CHECK(one.example_line == 26);
}

TEST_CASE("docstrings: public member functions, in their namespace") {
  const HeaderDoc doc = read_header({"kiln/a.h", R"(// About it.
namespace kiln::part {

/// A class.
///     part::Whole whole;
class KILN_API Whole {
 public:
  /// No function.
  int member = 0;
  /// A constructor.
  explicit Whole(int size, Where where = Where::here()) : size_(size) {}
  Whole(const Whole& other);
  Tensor operator()(const Tensor& x,
                    Where where = Where::here()) const;
  /// Returns it,
  /// of course.
  ///     whole.get();  // 1
  [[nodiscard]] int get(int a,
                        Where where = Where::here()) const;
  int unexplained() const;
  /// Inline.
  bool is_set() const { return true; }

 private:
  /// Hidden.
  int hidden() const;
};
class Forward;

/// One.
KILN_API Tensor one();

}  // namespace kiln::part
)"});
  REQUIRE(doc.classes.size() == 1);
  const ClassDoc& whole = doc.classes[0];
  CHECK(whole.doc.names == std::vector<std::string>{"Whole"});
  CHECK(whole.doc.space == "part");
  CHECK(whole.doc.text == "A class.");
  CHECK(whole.doc.example == std::vector<std::string>{"part::Whole whole;"});
  REQUIRE(whole.members.size() == 5);
  CHECK(whole.members[0].text == "A constructor.");
  CHECK(whole.members[0].declarations == "Whole(int size);\n");
  CHECK(whole.members[1].text.empty());
  CHECK(whole.members[1].declarations == "Tensor operator()(const Tensor& x) const;\n");
  CHECK(whole.members[2].names == std::vector<std::string>{"get"});
  CHECK(whole.members[2].text == "Returns it,\nof course.");
  CHECK(whole.members[2].example == std::vector<std::string>{"whole.get();  // 1"});
  CHECK(whole.members[2].declarations == "int get(int a) const;\n");
  CHECK(whole.members[3].declarations == "int unexplained() const;\n");
  CHECK(whole.members[4].declarations == "bool is_set() const;\n");
  REQUIRE(doc.functions.size() == 1);
  CHECK(doc.functions[0].space == "part");
}

TEST_CASE("kiln functions: prints classes with their members") {
  const Outcome adam = kiln_functions("Adam");
  CHECK_THAT(adam.text, StartsWith("optimizers::Adam, in <kiln/optimizers.h>\n"));
  CHECK(kiln_functions("optimizers::Adam").text == adam.text);
  const Outcome whole = kiln_functions("Optimizer");
  CHECK(whole.status == 0);
  CHECK_THAT(whole.text, StartsWith("optimizers::Optimizer, a class in <kiln/optimizer.h>\n"));
  CHECK_THAT(whole.text, ContainsSubstring("double learning_rate() const;"));
  const Outcome member = kiln_functions("minimize");
  CHECK(member.status == 0);
  CHECK_THAT(member.text, StartsWith("optimizers::LBFGS::minimize, in <kiln/lbfgs.h>\n"));
  CHECK_THAT(member.text,
             ContainsSubstring("\noptimizers::Optimizer::minimize, in <kiln/optimizer.h>\n"));
  CHECK_THAT(member.text, ContainsSubstring("of the weights, each with its"));
  CHECK_THAT(kiln_functions("").text, ContainsSubstring("class Optimizer"));
}

TEST_CASE("kiln functions: prints the header's text") {
  const Outcome sum = kiln_functions("sum");
  CHECK(sum.status == 0);
  CHECK_THAT(sum.text, StartsWith("sum, in <kiln/reduce.h>\n"));
  for (const char* part :
       {"Tensor sum(const Operand& x, const AxisOptions& options = {});", "in the dtype of x.",
        "    K::eval(K::sum(", "struct AxisOptions {", "///< keep the reduced axes with size 1",
        "class Axes;", "Formulas: Keras 2.2.5."}) {
    CHECK_THAT(sum.text, ContainsSubstring(part));
  }
  const Outcome keyword = kiln_functions("switch");
  CHECK(keyword.status == 0);
  CHECK_THAT(keyword.text, StartsWith("switch_, in <kiln/control.h>\n"));
  const Outcome all = kiln_functions("");
  CHECK(all.status == 0);
  for (const std::string& name : declared()) CHECK_THAT(all.text, ContainsSubstring(name));
  const Outcome table = kiln_functions("--table");
  CHECK(table.status == 0);
  for (const std::string& name : declared()) {
    CHECK_THAT("\n" + table.text, ContainsSubstring("\n" + name + " "));
  }
  CHECK_THAT(table.text, ContainsSubstring("tanh                            kiln/activation.h    "
                                           "Returns the hyperbolic tangent, between -1 and 1.\n"));
  // The first sentence only, whose interval [minval, maxval) is half open.
  CHECK_THAT(table.text, ContainsSubstring("[minval, maxval); minval if both are equal.\n"));
  const Outcome unknown = kiln_functions("summ");
  CHECK(unknown.status == 1);
  CHECK_THAT(unknown.text, StartsWith("kiln functions: unknown function, type or operator 'summ'"));
}

TEST_CASE("kiln functions: prints types") {
  const std::pair<const char*, std::vector<const char*>> rows[] = {
      {"Tensor", {"Tensor, a class in <kiln/tensor.h>\n", "class Tensor;\n"}},
      {"Array", {"Array, a class in <kiln/array.h>\n", "Array reshape("}},
      {"Function", {"Function, a class in <kiln/function.h>\n"}},
      {"Batches", {"Batches, a class in <kiln/batches.h>\n"}},
      {"ValueError", {"ValueError, a class in <kiln/error.h>\n"}},
      {"FunctionOptions", {"FunctionOptions, a type in <kiln/function.h>\n", "updates"}},
      {"Where", {"Where, a type in <kiln/where.h>\n", "unsigned line = 0;"}},
      {"K::DType", {"DType, a type in <kiln/dtype.h>\n", "  BFloat16,\n"}},
  };
  for (const auto& [name, parts] : rows) {
    const Outcome printed = kiln_functions(name);
    INFO(name << "\n" << printed.text);
    CHECK(printed.status == 0);
    CHECK_THAT(printed.text, StartsWith(parts[0]));
    for (const char* part : parts) CHECK_THAT(printed.text, ContainsSubstring(part));
  }
  const Outcome unknown = kiln_functions("FunctionOption");
  CHECK(unknown.status == 1);
  CHECK_THAT(unknown.text, ContainsSubstring("did you mean 'FunctionOptions'?"));
}

TEST_CASE("kiln functions: prints members by their class, fields by their struct, and constants") {
  const std::pair<const char*, std::vector<const char*>> rows[] = {
      {"Array::reshape", {"Array::reshape, in <kiln/array.h>\n\n", "Array reshape("}},
      {"K::Function::dump", {"Function::dump, in <kiln/function.h>\n", "numbered files"}},
      {"Function::stats", {"Function::stats, in <kiln/function.h>\n", "struct FunctionStats {"}},
      {"optimizers::Optimizer::minimize",
       {"optimizers::Optimizer::minimize, in <kiln/optimizer.h>\n"}},
      {"FunctionOptions::backend", {"FunctionOptions, a type in <kiln/function.h>\n"}},
      {"DType::BFloat16", {"DType, a type in <kiln/dtype.h>\n"}},
      {"None",
       {"None, a constant in <kiln/tensor.h>\n", "NoneType None{0};", "An unknown dimension"}},
  };
  for (const auto& [name, parts] : rows) {
    const Outcome printed = kiln_functions(name);
    INFO(name << "\n" << printed.text);
    CHECK(printed.status == 0);
    CHECK_THAT(printed.text, StartsWith(parts[0]));
    for (const char* part : parts) CHECK_THAT(printed.text, ContainsSubstring(part));
  }
  CHECK(kiln_functions("Array::nowhere").status == 1);
}

TEST_CASE("kiln functions: prints operators") {
  const Outcome plus = kiln_functions("'+'");
  INFO(plus.text);
  CHECK(plus.status == 0);
  CHECK_THAT(plus.text, StartsWith("operator+, in <kiln/tensor.h>\n"));
  CHECK_THAT(plus.text, ContainsSubstring("Tensor operator+(const Operand& x, const Operand& y);"));
  CHECK_THAT(plus.text, ContainsSubstring("TypeError for tensors of different dtypes"));
  CHECK(kiln_functions("operator+").text == plus.text);
  const Outcome equal = kiln_functions("'=='");
  CHECK_THAT(equal.text, StartsWith("operator==, in <kiln/tensor.h>\n"));
  CHECK_THAT(equal.text, ContainsSubstring("\nArray::operator==, in <kiln/array.h>\n"));
  CHECK_THAT(kiln_functions("'[]'").text, ContainsSubstring("Tensor operator[](Index i) const;"));
  CHECK(kiln_functions("'+='").status == 1);
}

}  // namespace kiln::tool
