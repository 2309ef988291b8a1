// Tests the structure of the source tree; readmes_test.cpp tests READMEs.
#include "tests/support/catch.h"
#include "tests/whole/structure/include_graph.h"
#include "tests/whole/structure/source_tree.h"
#include "tests/whole/structure/third_party.h"
#include "test_folders.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace structure_test;

namespace {

/// The number of comment lines at the beginning of the file.
std::size_t opening_comment(const std::vector<std::string>& lines) {
  const bool is_c = !lines.empty() && lines[0].starts_with("/* ");
  std::size_t count = 0;
  if (is_c) {
    while (count < lines.size() && lines[count].find("*/") == std::string::npos) ++count;
    return count + 1;
  }
  while (count < lines.size() && lines[count].starts_with("//")) ++count;
  return count;
}

/// Folders of one backend that must not include each other.
const std::vector<std::string> kApart{"backends/cpu/llvm/", "backends/cpu/onednn/",
                                      "backends/cpu/gemm/"};

/// Folders of a tree in their order: each includes only itself and those before it. An empty name
/// is the tree's own folder.
struct Ordered {
  std::string tree;
  std::vector<std::string> folders;

  /// The position of the folder that holds the file itself; -1 for files of no folder.
  int place(const std::string& file) const {
    for (std::size_t i = 0; i < folders.size(); ++i) {
      const std::string folder = tree + folders[i] + (folders[i].empty() ? "" : "/");
      const bool holds = file.starts_with(folder) && file.find('/', folder.size()) == file.npos;
      if (holds) return static_cast<int>(i);
    }
    return -1;
  }
};

const std::vector<Ordered> kOrdered{
    {"core/", {"types", "ir", "ops", "module", "picture", "rewrite", "autodiff", "passes"}},
    {"core/k/", {"base", "math", "shape", "image", "sequence", "graph"}},
    {"core/onnx/", {"file", "import"}},
    {"backends/cpu/llvm/", {"jit", "scalar", "kernel", "code"}},
    {"backends/codegen/",
     {"inspect", "access", "claims", "graph", "fusion", "kernel", "kernel/build", "kernel/split",
      "grid", "formulas", "text", "plan", "", "bind", "host/loop_order", "host/prepared",
      "host/bind", "host"}}};

bool is_later(const std::string& file, const std::string& header) {
  return std::any_of(kOrdered.begin(), kOrdered.end(), [&](const Ordered& ordered) {
    const int from = ordered.place(file), to = ordered.place(header);
    return from >= 0 && to > from;
  });
}

/// The reason why a file may not include that header; empty when it may.
std::string fault(const std::string& file, const std::string& header) {
  const auto from = [&](const char* prefix) { return file.starts_with(prefix); };
  const auto to = [&](const char* prefix) { return header.starts_with(prefix); };
  if (from("core/") && (to("runtime/") || to("backends/") || to("tools/"))) return "core is below";
  if (from("runtime/") && (to("tools/") || (to("backends/") && !to("backends/abi/")))) {
    return "runtime sees core and backends/abi";
  }
  const bool is_of_texts = to("core/types/text.h") || to("core/types/nearest.h");
  const bool is_of_user = to("kiln/") || to("runtime/train/") || is_of_texts;
  if (from("runtime/train/") && header.find('/') != header.npos && !is_of_user) {
    return "train is written in K alone, as a user would write it";
  }
  if (is_later(file, header)) return "a folder includes only those before it";
  const bool is_executor = from("backends/codegen/bind/") || from("backends/codegen/host/");
  const bool is_inside = from("backends/codegen/") && file.find('/', 17) != file.npos;
  const bool is_in_pass = is_inside && !is_executor;
  if (is_in_pass && to("backends/abi/")) return "codegen passes include nothing of the boundary";
  if (from("backends/")) {
    const std::string own = file.substr(0, file.find('/', 9) + 1);
    const bool allowed = !to("runtime/") && !to("core/kiln/") && !to("core/k/") &&
                         !to("core/autodiff/") && !to("core/passes/") && !to("tools/");
    if (!allowed) return "a backend sees the boundary and core/{types,ir,ops,module,rewrite}";
    const bool shared = to("backends/abi/") || to("backends/codegen/");
    if (to("backends/") && !shared && !to(own.c_str())) return "backends are apart";
    for (const std::string& folder : kApart) {
      const bool inside = from(folder.c_str());
      const bool is_common =
          to(folder.c_str()) || to("backends/cpu/process_exit/") || to("backends/cpu/schedule/");
      if (inside && to("backends/cpu/") && !is_common) return "parts of cpu are apart";
    }
  }
  for (const Library& library : libraries()) {
    if (!library.has(header) || library.may_be_included_by(file)) continue;
    return "only " + library.includers[0] + " (third_party/README.md)";
  }
  if (is_public(file) && header.find('/') != std::string::npos && !to("kiln/")) {
    return "public headers include public and standard ones";
  }
  return "";
}

/// All headers that a file of the project includes, directly or through files of the project.
const std::set<std::string>& seen_by(const std::string& file,
                                     std::map<std::string, std::set<std::string>>& known) {
  const auto [entry, is_new] = known.try_emplace(file);
  if (!is_new) return entry->second;
  std::set<std::string> seen;
  for (const std::string& line : lines_of(kRoot / file)) {
    const std::string header = included(line);
    if (header.empty()) continue;
    seen.insert(header);
    const std::string other = file_of_header(header);
    if (other.empty()) continue;
    const std::set<std::string>& through = seen_by(other, known);
    seen.insert(through.begin(), through.end());
  }
  return known[file] = std::move(seen);
}

}  // namespace

TEST_CASE("includes: folders include only what they may") {
  for (const fs::path& path : sources()) {
    for (const std::string& line : lines_of(path)) {
      const std::string header = included(line);
      if (header.empty()) continue;
      INFO(name_of(path) << " includes " << header);
      CHECK(fault(name_of(path), header) == "");
    }
  }
}

TEST_CASE("ordered trees: every source is in one of the folders") {
  for (const fs::path& path : sources()) {
    const std::string file = name_of(path);
    if (file.starts_with("core/kiln/") || file.starts_with("core/types/kiln/")) continue;
    INFO(file);
    CHECK(std::all_of(kOrdered.begin(), kOrdered.end(), [&](const Ordered& ordered) {
      const bool has_own = ordered.tree == "core/" &&
                           (file.starts_with("core/k/") || file.starts_with("core/onnx/"));
      return !file.starts_with(ordered.tree) || has_own || ordered.place(file) >= 0;
    }));
  }
}

TEST_CASE("codegen: only its host folder uses host buffers and threads") {
  const std::vector<std::string> words{"HostBuffer", "parallel_for", "std::thread"};
  for (const fs::path& path : sources()) {
    const std::string file = name_of(path);
    if (!file.starts_with("backends/codegen/")) continue;
    if (file.starts_with("backends/codegen/host/")) continue;
    INFO(file);
    for (const std::string& line : lines_of(path)) {
      for (const std::string& word : words) CHECK(line.find(word) == line.npos);
    }
  }
}

TEST_CASE("K functions: headers and sources are in separate folders") {
  for (const fs::path& path : sources()) {
    const std::string file = name_of(path);
    INFO(file);
    CHECK_FALSE((file.starts_with("core/kiln/") && !file.ends_with(".h")));
  }
}

TEST_CASE("includes: the rule rejects what it should") {
  const std::vector<std::pair<const char*, const char*>> rejected{
      {"core/ir/node.cpp", "runtime/function/call.h"},
      {"core/ops/op.h", "backends/abi/kiln_backend.h"},
      {"runtime/function/compile/compile_program.cpp", "backends/codegen/plan/plan.h"},
      {"runtime/function/call.cpp", "backends/codegen/plan/plan.h"},
      {"runtime/function/call.cpp", "backends/reference/tensor.h"},
      {"runtime/function/call.cpp", "tools/kiln/ops.h"},
      {"runtime/train/constraints.cpp", "core/ir/node.h"},
      {"runtime/train/constraints.cpp", "runtime/function/call.h"},
      {"backends/codegen/plan/plan.cpp", "runtime/function/call.h"},
      {"backends/codegen/kernel/kernel.cpp", "backends/codegen/kernel/build/build_kernel.h"},
      {"backends/codegen/claims/claim.h", "backends/codegen/fusion/fusion_plan.h"},
      {"core/k/base/tensor.cpp", "core/k/math/formulas_impl.h"},
      {"core/ir/node.cpp", "core/ops/op.h"},
      {"backends/codegen/plan/plan.cpp", "core/kiln/tensor.h"},
      {"backends/codegen/plan/plan.cpp", "core/k/base/tensor_impl.h"},
      {"backends/codegen/plan/plan.cpp", "core/passes/pipeline.h"},
      {"backends/codegen/plan/plan.cpp", "core/autodiff/vjp.h"},
      {"backends/codegen/plan/plan.cpp", "llvm/IR/Module.h"},
      {"backends/codegen/plan/plan.cpp", "oneapi/dnnl/dnnl.h"},
      {"backends/codegen/plan/plan.cpp", "backends/cpu/cpu_library.h"},
      {"backends/reference/dot.cpp", "backends/cpu/cpu_library.h"},
      {"backends/cpu/plugin.cpp", "llvm/IR/Module.h"},
      {"backends/cpu/plugin.cpp", "dnnl.h"},
      {"backends/cpu/onednn/matmul_primitive.cpp", "llvm-c/Core.h"},
      {"backends/cpu/llvm/jit/jit.cpp", "oneapi/dnnl/dnnl.hpp"},
      {"backends/cpu/llvm/jit/jit.cpp", "backends/cpu/gemm/native_gemm.h"},
      {"backends/cpu/gemm/native_gemm.cpp", "omp.h"},
      {"backends/codegen/plan/plan.h", "backends/abi/kiln_backend_sdk.h"},
      {"backends/codegen/compile.cpp", "backends/codegen/host/host_target.h"},
      {"backends/codegen/compile.cpp", "backends/codegen/bind/call_sizes.h"},
      {"backends/codegen/bind/build_arena.cpp", "backends/codegen/host/bind/bound_plan.h"},
      {"backends/cpu/plugin.cpp", "cuda.h"},
      {"core/types/text.cpp", "rapidjson/reader.h"},
      {"backends/cpu/plugin.cpp", "Random123/philox.h"},
      {"runtime/files/json.cpp", "CLI/CLI.hpp"},
      {"runtime/array/array.cpp", "zlib.h"},
      {"tests/core/ops/cases.cpp", "catch2/catch.hpp"},
      {"runtime/kiln/array.h", "core/ir/node.h"}};
  for (const auto& [file, header] : rejected) {
    INFO(file << " includes " << header);
    CHECK(fault(file, header) != "");
  }
  CHECK(included("  #include <llvm/IR/Module.h>") == "llvm/IR/Module.h");
  CHECK(included("#  include \"runtime/function/call.h\"  // why") == "runtime/function/call.h");
  CHECK(included("// #include <vector>") == "");
}

TEST_CASE("includes: third-party libraries are not seen through headers either") {
  std::map<std::string, std::set<std::string>> known;
  std::set<std::string> found;
  for (const fs::path& path : sources()) {
    const std::string file = name_of(path);
    if (file.starts_with("tests/")) continue;
    for (const std::string& header : seen_by(file, known)) {
      for (const Library& library : libraries()) {
        if (!library.has(header)) continue;
        found.insert(library.headers);
        INFO(file << " sees " << header);
        CHECK(library.may_be_included_by(file));
      }
    }
  }
  CHECK(found.count("llvm/*") == 1);
  CHECK(found.count("oneapi/*") == 1);
}

TEST_CASE("files: each opens with a short comment") {
  for (const fs::path& path : sources()) {
    INFO(name_of(path));
    const std::size_t count = opening_comment(lines_of(path));
    CHECK(count >= 1);
    CHECK(count <= 8);
  }
}

TEST_CASE("files: few and short lines") {
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

TEST_CASE("names: a concept with a standard term has that name") {
  const std::pair<std::string, const char*> rows[] = {{"take_apart", "unpack"},
                                                      {"put_together", "pack"},
                                                      {"AxisMap", "AffineIndex"},
                                                      {"UnitKind", "FusionGroup"},
                                                      {"place_parts", "partial_writes"},
                                                      {"element_numbers", "linear_indices"},
                                                      {"relu_masks", "relu mask reuse"},
                                                      {"MatrixProduct", "MatmulShape"},
                                                      {"await_whole", "wait_until_readable"}};
  for (const fs::path& path : sources()) {
    if (path.filename() == "structure_test.cpp") continue;
    for (const std::string& line : lines_of(path)) {
      for (const auto& [name, term] : rows) {
        if (has_word(line, name)) FAIL_CHECK(name_of(path) << ": not " << name << " but " << term);
      }
    }
  }
}

TEST_CASE("tests: names that both versions of Catch2 have") {
  for (const fs::path& path : sources()) {
    for (const std::string& line : lines_of(path)) {
      INFO(name_of(path) << ": " << line);
      // Catch2 3 looks for an element of a range; tests/support/catch.h has ContainsSubstring for
      // both.
      CHECK(line.find(std::string("Matchers::") + "Contains(") == std::string::npos);
    }
  }
}

TEST_CASE("top level: only the allowed files") {
  const std::set<std::string> allowed{"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md",
                                      "core",           "backends",          "runtime", "tools",
                                      "tests",          "third_party",       "build"};
  // Files that the demo writes where it is called are not part of the project.
  std::string ignored;
  for (const std::string& line : lines_of(kRoot / ".gitignore")) ignored += line + "\n";
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    const bool written = ignored.find("/" + name + "\n") != std::string::npos;
    CHECK((name[0] == '.' || name.starts_with("build-") || written || allowed.count(name) == 1));
  }
}

TEST_CASE("fork: locks of what a child uses are those of core/types/fork.h") {
  // A file with another lock, or its header or source, registers what it does at fork().
  std::map<std::string, std::string> texts;
  for (const fs::path& path : sources()) {
    const std::string name = name_of(path);
    const bool is_of_child = name.starts_with("core/") || name.starts_with("runtime/") ||
                             name.starts_with("backends/reference/");
    if (!is_of_child) continue;
    std::string& text = texts[name.substr(0, name.rfind('.'))];
    for (const std::string& line : lines_of(path)) text += line + "\n";
  }
  for (const auto& [name, text] : texts) {
    INFO(name);
    bool has_lock = false;
    for (const char* lock : {"std::mutex", "std::shared_mutex", "std::recursive_mutex",
                             "std::timed_mutex", "std::condition_variable"}) {
      has_lock = has_lock || text.find(lock) != std::string::npos;
    }
    if (has_lock) CHECK(text.find("pthread_atfork") != std::string::npos);
  }
}
