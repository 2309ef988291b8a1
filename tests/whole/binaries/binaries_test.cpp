// Tests what is in the built libraries: exported symbols, and statics that fork() would break.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/whole/structure/source_tree.h"

#include "test_folders.h"

#include <sstream>
#include <string>

using namespace structure_test;

namespace {

/// The code of all public headers.
std::string public_code() {
  std::string code;
  for (const fs::path& path : sources()) {
    if (!is_public(name_of(path))) continue;
    for (const std::string& line : lines_of(path)) code += line.substr(0, line.find("//")) + "\n";
  }
  return code;
}

/// "f" of "kiln::A::f[abi:cxx11]", "A" of "kiln::A::~A" and of "vtable for kiln::A".
std::string last_name(const std::string& symbol) {
  const std::string name = symbol.substr(symbol.rfind("::") + 2);
  return name.substr(name[0] == '~' ? 1 : 0, name.find("[abi:"));
}

std::string output_of(const std::string& command) { return kiln::testing::run_shell(command).text; }

}  // namespace

TEST_CASE("fork: libraries that a child uses construct no local static with a guard") {
  for (const char* library : {"libkiln.so", "libkiln_reference.so"}) {
    INFO(library);
    const std::string symbols =
        output_of("nm -C '" + std::string(KILN_BINARY_DIR) + "/lib/" + library + "'");
    REQUIRE(symbols.find("kiln::ir::") != std::string::npos);
    std::istringstream lines(symbols);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(line.find("guard variable for ") == std::string::npos);
    }
  }
}

TEST_CASE("libraries: exported symbols") {
  const std::string binary = KILN_BINARY_DIR;
  std::istringstream backends(KILN_BACKENDS);
  for (std::string backend; backends >> backend;) {
    INFO(backend);
    std::istringstream plugin(
        output_of("nm -D --defined-only '" + binary + "/lib/libkiln_" + backend + ".so'"));
    std::string address, kind, name;
    REQUIRE(plugin >> address >> kind >> name);
    CHECK(name == "kiln_backend_query");
    CHECK_FALSE(plugin >> address);
  }

  const std::string hdf5 = binary + "/lib/libkilnhdf5.so";
  if (fs::exists(hdf5)) {
    const std::string symbols = output_of("nm -D --defined-only '" + hdf5 + "'");
    CHECK(symbols.substr(symbols.find(' ')) == " T kiln_hdf5_entry\n");
  }
  CHECK(output_of("readelf -d '" + binary + "/lib/libkiln.so'").find("hdf5") == std::string::npos);

  std::istringstream library(
      output_of("nm -D --defined-only '" + binary + "/lib/libkiln.so' | c++filt -p"));
  const std::string declared = public_code();
  int count = 0;
  for (std::string line; std::getline(library, line); ++count) {
    const std::string symbol = line.substr(line.find(' ', line.find(' ') + 1) + 1);
    INFO(symbol);
    const bool of_kiln =
        symbol.starts_with("kiln::") || symbol.starts_with("typeinfo for kiln::") ||
        symbol.starts_with("typeinfo name for kiln::") || symbol.starts_with("vtable for kiln::");
    REQUIRE(of_kiln);
    for (const char* inner : {"ir", "ops", "module", "rewrite", "passes", "autodiff", "runtime"}) {
      CHECK_FALSE(symbol.starts_with(std::string("kiln::") + inner + "::"));
    }
    // A std::function of a function pointer has the typeinfo of that type, as in a user's program.
    if (symbol.starts_with("typeinfo") && symbol.ends_with(")")) continue;
    CHECK(has_word(declared, last_name(symbol)));
  }
  CHECK(count > 100);
}
