// Tests the option perf_map of the cpu backend: the names of kernels in /tmp/perf-PID.map.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace K = kiln;
using K::Array, K::Tensor;
using kiln::testing::contents_of, kiln::testing::Scratch;

namespace {

struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
  std::string name;  // of a function; of a mapping, its protection
};

/// The rows of this process's perf map.
std::vector<CodeRange> perf_map() {
  std::istringstream lines(contents_of("/tmp/perf-" + std::to_string(::getpid()) + ".map"));
  std::vector<CodeRange> rows;
  std::uintptr_t begin = 0, bytes = 0;
  for (std::string name; lines >> std::hex >> begin >> bytes >> name;) {
    rows.push_back({begin, begin + bytes, name});
  }
  return rows;
}

std::vector<CodeRange> executable_mappings() {
  std::ifstream lines("/proc/self/maps");
  std::vector<CodeRange> mappings;
  for (std::string line; std::getline(lines, line);) {
    CodeRange one;
    char protection[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &one.begin, &one.end, protection) != 3) continue;
    one.name = protection;
    if (one.name.find('x') != std::string::npos) mappings.push_back(one);
  }
  return mappings;
}

bool is_named(const std::string& name, const std::vector<CodeRange>& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
}

/// The names of the kernels in a dump: "kernel NAME ..." of the plan.
std::vector<std::string> kernels_of(const std::string& plan) {
  std::vector<std::string> names;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("kernel ");
    if (at != std::string::npos) names.push_back(line.substr(at + 7, line.find('(') - at - 7));
  }
  return names;
}

}  // namespace

TEST_CASE("perf map: lists the code of each kernel") {
  CHECK(kiln::testing::in_new_process("[.perf_map]", "KILN_CPU_PERF_MAP", "true") == 0);
}

TEST_CASE("perf map: lists kernels whose code is that of earlier ones") {
  CHECK(kiln::testing::in_new_process("[.shared_code]", "KILN_CPU_PERF_MAP", "1") == 0);
}

TEST_CASE("perf map: is not written by default") {
  CHECK(kiln::testing::in_new_process("[.no_perf_map]", "KILN_CPU_PERF_MAP", "") == 0);
}

TEST_CASE("perf map: values of the option") {
  CHECK(kiln::testing::in_new_process("[.bad_perf_map]", "KILN_CPU_PERF_MAP", "yes") == 0);
}

TEST_CASE("child: compiles kernels for perf", "[.perf_map]") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {K::None, 8}, .name = "x"});
  const Tensor rows = K::sum(K::tanh(x), {.axis = 1});
  const std::vector<Tensor> results{K::cumsum(rows), K::dot(x, K::transpose(x)) * 2.0f};
  // Dumped code is one module, other code several.
  for (const std::string& folder : {scratch.path("dump"), std::string()}) {
    const K::Function f = K::function({x}, results, {.backend = "cpu", .dump = folder});
    f({Array(std::vector<float>(64, 0.5f), {8, 8})});
    if (folder.empty()) f.dump(scratch.path("other"));
    const std::string plan = folder.empty() ? scratch.path("other") : folder;
    const std::vector<std::string> kernels = kernels_of(contents_of(plan + "/52-plan.txt"));
    REQUIRE(kernels.size() >= 2);
    for (const std::string& name : kernels) {
      INFO(name);
      CHECK(is_named(name, perf_map()));
    }
  }
  const std::vector<CodeRange> mappings = executable_mappings();
  for (const CodeRange& row : perf_map()) {
    INFO(row.name);
    CHECK(row.begin < row.end);
    CHECK(std::any_of(mappings.begin(), mappings.end(), [&](const CodeRange& one) {
      return one.begin <= row.begin && row.end <= one.end;
    }));
  }
  std::remove(("/tmp/perf-" + std::to_string(::getpid()) + ".map").c_str());
}

TEST_CASE("child: compiles equal kernels of different names", "[.shared_code]") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {K::None, 8}, .name = "x"});
  const auto name_of_kernel = [&](const Tensor& y, const std::string& folder) {
    const K::Function f = K::function({x}, {y}, {.backend = "cpu"});
    f({Array(std::vector<float>(8, 0.5f), {1, 8})});
    f.dump(scratch.path(folder), K::Stage::Plan);
    return kernels_of(contents_of(scratch.path(folder) + "/52-plan.txt")).at(0);
  };
  std::vector<std::string> names{name_of_kernel(K::tanh(x), "first")};
  const Tensor on_another_line = K::tanh(x);
  names.push_back(name_of_kernel(on_another_line, "second"));
  CHECK(names[0] != names[1]);
  for (const std::string& name : names) {
    INFO(name);
    CHECK(is_named(name, perf_map()));
  }
  std::remove(("/tmp/perf-" + std::to_string(::getpid()) + ".map").c_str());
}

TEST_CASE("child: compiles kernels without perf", "[.no_perf_map]") {
  const Tensor x = K::placeholder({.shape = {2}});
  K::function({x}, {K::tanh(x)}, {.backend = "cpu"})({Array{1.f, 2.f}});
  CHECK(::access(("/tmp/perf-" + std::to_string(::getpid()) + ".map").c_str(), F_OK) != 0);
}

TEST_CASE("child: a value that is none", "[.bad_perf_map]") {
  const Tensor x = K::placeholder({.shape = {2}});
  try {
    static_cast<void>(K::function({x}, {x}, {.backend = "cpu"}));
    FAIL("accepted");
  } catch (const K::Error& error) {
    const std::string text = error.what();
    CHECK(text.find("KILN_CPU_PERF_MAP is 'yes' but must be true or false") != std::string::npos);
  }
}
