// Tests passes by the files in cases; KILN_TEST_WRITE_CASES=1 replaces expectations that fail.
#include "core/passes/pipeline.h"
#include "test_folders.h"
#include "tests/core/passes/case_file.h"
#include "tests/core/passes/check_case.h"
#include "tests/support/build_folder.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

/// In the sources, or where tools/gpu_test has packed them.
std::vector<fs::path> case_files() {
  const fs::path packed = testing::build_folder() + "/pass_cases";
  const fs::path sources = KILN_SOURCE_DIR "/tests/core/passes/cases";
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::exists(packed) ? packed : sources)) {
    if (entry.path().extension() == ".kir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The file's name in messages.
std::string name_of(const fs::path& file) {
  return "tests/core/passes/cases/" + file.filename().string();
}

/// Replaces the case's expectation, here and in its file, if it is not what the passes do.
void update_expectation(PassCase& one, const fs::path& file) {
  const std::optional<std::string> after = actual_after(one, name_of(file));
  if (after == one.after) return;
  const std::string changed = with_expectation(testing::contents_of(file.string()), one, after);
  std::ofstream out(file, std::ios::binary);
  out << changed << std::flush;
  REQUIRE(out.good());
  WARN(name_of(file) << ":" << one.after_begin << ": replaced the expectation");
  one.after = after;
}

TEST_CASE("passes: each case of a file") {
  const bool updates = std::getenv("KILN_TEST_WRITE_CASES") != nullptr;
  for (const fs::path& file : case_files()) {
    DYNAMIC_SECTION(file.filename().string()) {
      for (PassCase& one : read_cases(testing::contents_of(file.string()), name_of(file))) {
        DYNAMIC_SECTION(one.title) {
          INFO(name_of(file) << ":" << one.line << ": " << one.title);
          if (updates) update_expectation(one, file);
          check_case(one, name_of(file));
        }
      }
    }
  }
}

TEST_CASE("passes: each has cases that it changes and that it leaves") {
  std::set<std::string_view> changing, unchanging;
  for (const fs::path& file : case_files()) {
    for (const PassCase& one : read_cases(testing::contents_of(file.string()), name_of(file))) {
      if (one.passes.size() == 1) (one.after ? changing : unchanging).insert(one.passes[0].name);
    }
  }
  for (const passes::Pass& pass : passes::pipeline()) {
    INFO(pass.name);
    CHECK(changing.count(pass.name) == 1);
    CHECK(unchanging.count(pass.name) == 1);
  }
}

}  // namespace
}  // namespace kiln::test
