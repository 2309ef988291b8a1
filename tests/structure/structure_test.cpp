// The shape of the source tree and of the libraries, checked as the README files state it.
#include "tests/catch.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = KILN_SOURCE_DIR;
const std::vector<std::string> kTrees{"core", "runtime", "backends", "tools", "tests"};

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cpp" || extension == ".c";
}

std::vector<fs::path> sources() {
  std::vector<fs::path> found;
  for (const std::string& tree : kTrees) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / tree)) {
      if (entry.is_regular_file() && is_source(entry.path())) found.push_back(entry.path());
    }
  }
  return found;
}

std::string name_of(const fs::path& path) { return fs::relative(path, kRoot).string(); }

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The text between the delimiters of an include line; empty for other lines.
std::string included(const std::string& line) {
  if (line.rfind("#include ", 0) != 0) return "";
  const std::size_t open = line.find_first_of("<\""), close = line.find_last_of(">\"");
  return line.substr(open + 1, close - open - 1);
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool is_public(const std::string& name) {
  return name.find("/kiln/") != std::string::npos && name.find("_impl.h") == std::string::npos &&
         starts_with(name, "tools/") == false && starts_with(name, "tests/") == false &&
         name.find("context_state.h") == std::string::npos &&
         name.find("learning_phase.h") == std::string::npos && name.find(".h") != std::string::npos;
}

/// Why a file may not include that header; empty when it may.
std::string fault(const std::string& file, const std::string& header) {
  const auto from = [&](const char* prefix) { return starts_with(file, prefix); };
  const auto to = [&](const char* prefix) { return starts_with(header, prefix); };
  if (from("core/") && (to("runtime/") || to("backends/") || to("tools/"))) return "core is below";
  if (from("runtime/") && (to("tools/") || (to("backends/") && !to("backends/abi/")))) {
    return "runtime sees core and backends/abi";
  }
  if (from("backends/")) {
    const std::string own = file.substr(0, file.find('/', 9) + 1);
    const bool allowed = !to("runtime/") && !to("core/kiln/") && !to("core/autodiff/") &&
                         !to("core/passes/") && !to("tools/");
    if (!allowed) return "a backend sees the boundary and core/{types,ir,ops,module,rewrite}";
    const bool shared = to("backends/abi/") || to("backends/codegen/");
    if (to("backends/") && !shared && !to(own.c_str())) return "backends are apart";
  }
  for (const char* library : {"llvm/", "dnnl", "cuda", "cudnn", "nvrtc"}) {
    if (to(library) && !from("backends/cpu/") && !from("backends/cuda/")) return "not here";
  }
  if (is_public(file) && header.find('/') != std::string::npos && !to("kiln/")) {
    return "public headers include public and standard ones";
  }
  return "";
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> buffer;
  while (std::size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), read);
  }
  ::pclose(pipe);
  return text;
}

}  // namespace

TEST_CASE("folders include only what they may") {
  for (const fs::path& path : sources()) {
    for (const std::string& line : lines_of(path)) {
      const std::string header = included(line);
      if (header.empty()) continue;
      INFO(name_of(path) << " includes " << header);
      CHECK(fault(name_of(path), header) == "");
    }
  }
}

TEST_CASE("files are small and lines are short") {
  for (const fs::path& path : sources()) {
    const std::vector<std::string> lines = lines_of(path);
    INFO(name_of(path) << " has " << lines.size() << " lines");
    CHECK(lines.size() <= 700);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      INFO("line " << i + 1);
      CHECK(lines[i].size() <= 100);
    }
  }
}

TEST_CASE("each folder has a README that names its files, and only files that exist") {
  std::set<fs::path> folders;
  for (const fs::path& path : sources()) {
    fs::path folder = path.parent_path();
    if (folder.filename() == "kiln" && folder.parent_path() != kRoot / "tools") {
      if (!fs::exists(folder / "README.md")) folder = folder.parent_path();
    }
    if (folder.filename() == "fakes" || folder.filename() == "consumer") continue;
    folders.insert(folder);
    INFO(name_of(path));
    std::ifstream file(folder / "README.md");
    REQUIRE(file.is_open());
    const std::string readme((std::istreambuf_iterator<char>(file)), {});
    const bool named = readme.find(path.stem().string()) != std::string::npos;
    CHECK(named);
  }
  for (const fs::path& folder : folders) {
    for (const std::string& line : lines_of(folder / "README.md")) {
      for (std::size_t at = line.find('`'); at != std::string::npos; at = line.find('`', at + 1)) {
        const std::size_t end = line.find('`', at + 1);
        if (end == std::string::npos) break;
        const std::string name = line.substr(at + 1, end - at - 1);
        at = end;
        const bool is_file = name.size() > 2 &&
                             name.find_first_of(" {}*<>()") == std::string::npos &&
                             (name.ends_with(".h") || name.ends_with(".cpp"));
        if (!is_file) continue;
        INFO(name_of(folder) << "/README.md names " << name);
        CHECK((fs::exists(folder / name) || fs::exists(kRoot / name) ||
               fs::exists(folder / "kiln" / name) || fs::exists(folder / "fakes" / name)));
      }
    }
  }
}

TEST_CASE("the top level holds what it should") {
  const std::set<std::string> allowed{"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md",
                                      "core", "backends", "runtime", "tools", "tests",
                                      "third_party", "build"};
  // What the demo writes where it is called is no part of the project.
  const std::string ignored = output_of("cat '" + std::string(kRoot) + "/.gitignore'");
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    const bool written = ignored.find("/" + name + "\n") != std::string::npos;
    CHECK((name[0] == '.' || written || allowed.count(name) == 1));
  }
}

TEST_CASE("libraries export what they should") {
  const std::string binary = KILN_BINARY_DIR;
  for (const char* backend : {"reference", "cpu"}) {
    INFO(backend);
    std::istringstream plugin(
        output_of("nm -D --defined-only '" + binary + "/lib/libkiln_" + backend + ".so'"));
    std::string address, kind, name;
    REQUIRE(plugin >> address >> kind >> name);
    CHECK(name == "kiln_backend_query");
    CHECK_FALSE(plugin >> address);
  }

  std::istringstream library(output_of("nm -DC --defined-only '" + binary + "/lib/libkiln.so'"));
  int count = 0;
  for (std::string line; std::getline(library, line); ++count) {
    const std::string symbol = line.substr(line.find(' ', line.find(' ') + 1) + 1);
    INFO(symbol);
    const bool of_kiln =
        starts_with(symbol, "kiln::") || starts_with(symbol, "typeinfo for kiln::") ||
        starts_with(symbol, "typeinfo name for kiln::") || starts_with(symbol, "vtable for kiln::");
    CHECK(of_kiln);
    for (const char* inner : {"ir", "ops", "module", "rewrite", "passes", "autodiff", "runtime"}) {
      CHECK_FALSE(starts_with(symbol, std::string("kiln::") + inner + "::"));
    }
  }
  CHECK(count > 100);
}
