// Counts which epilogues, claims, library calls, carry stacks and guards the cpu backend makes of
// random programs and templates, from their dumps. A kind that never occurs fails the test.
#include "tests/support/catch.h"

#include "backends/codegen/claims/claim.h"
#include "tests/backends/random_programs/coverage_counts.h"
#include "tests/backends/random_programs/coverage_templates.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

using namespace kiln;
using namespace kiln::testing;

namespace {

using kiln::testing::has;

/// The lines of the dump's files whose names begin with `prefix`, without indentation.
std::vector<std::string> dumped_lines(const Scratch& dump, const std::string& prefix) {
  std::vector<std::string> lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dump.folder())) {
    if (entry.path().filename().string().rfind(prefix, 0) != 0) continue;
    std::istringstream text(contents_of(entry.path().string()));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
    }
  }
  return lines;
}

/// The epilogue in a plan's line of a matmul or convolution; empty for other lines.
std::string epilogue_of(const std::string& line) {
  const bool is_matmul = line.rfind("matmul %", 0) == 0;
  if (!is_matmul && line.rfind("convolution %", 0) != 0) return "";
  const std::string step = line.substr(0, line.find('#'));
  const bool bias = has(step, " + %"), relu = has(step, ", relu");
  if (has(step, ", relu up to ")) return "bounded relu";
  const std::string of = is_matmul ? "of a matmul" : "of a convolution";
  if (bias && relu) return "bias and relu " + of;
  if (bias || relu) return (bias ? "bias " : "relu ") + of;
  return "none " + of;
}

/// Patterns of the stacks that hold carries of loops, as plans print them.
const char* const kCarryStacks[] = {
    "carry [0-9]+ in %[0-9]+ before(,|;)",
    "carry [0-9]+ in %[0-9]+ after(,|;)",
    "carry [0-9]+ in %[0-9]+ before in %[0-9]+ after(,|;)",
};

void count_library_calls(const Program& program, Counts& counts, Origin origin) {
  const Scratch dump;
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    set_value(program.variables[i], program.starts[i]);
  }
  const Function f =
      function(program.inputs, program.outputs, {.updates = program.updates, .backend = "cpu"});
  f(program.feeds);
  f.dump(dump.folder(), Stage::Claims | Stage::Kernels | Stage::Plan | Stage::MemoryPlan);
  for (const std::string& line : dumped_lines(dump, "51-kernels")) {
    if (!has(line, " when v")) continue;
    const bool stores = line.rfind("store v", 0) == 0 || line.rfind("add v", 0) == 0;
    counts.add("guard", stores ? "of a store" : "of a load", origin);
  }
  for (const std::string& line : dumped_lines(dump, "52-plan")) {
    for (const char* stacks : kCarryStacks) {
      if (std::regex_search(line, std::regex(stacks))) counts.add("carry", stacks, origin);
    }
    if (has(line, " x float32(%")) counts.add("narrow", "weights", origin);
    const std::string epilogue = epilogue_of(line);
    if (!epilogue.empty()) counts.add("epilogue", epilogue, origin);
  }
  for (const std::string& line : dumped_lines(dump, "50-claims")) {
    for (const codegen::Claim& claim : codegen::claims()) {
      if (line.rfind(std::string(claim.name) + ": taken", 0) == 0) {
        counts.add("claim", claim.name, origin);
      }
    }
  }
  for (const std::string& line : dumped_lines(dump, "50-claims-sizes")) {
    const bool is_convolution = has(line, ": convolution in ");
    if (!is_convolution && !has(line, " matmul")) continue;
    const std::string of = is_convolution ? "of a convolution" : "of a matmul";
    for (const char* library :
         {"oneDNN", "native GEMM", "native loops", "native loops by panels"}) {
      if (has(line, std::string(" by ") + library)) {
        counts.add("library", std::string(library) + " " + of, origin);
      }
    }
  }
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

}  // namespace

TEST_CASE("coverage: every epilogue, library call, carry stack and guard of cpu occurs") {
  Counts counts;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    clear_session();
    set_random_seed(static_cast<std::int64_t>(seed));
    const Program program = random_program(seed);
    INFO("seed " << seed << ": " << program.text);
    count_library_calls(program, counts, Origin::Drawn);
  }
  for (const Template& one : coverage_templates()) {
    clear_session();
    INFO("template: " << one.name);
    count_library_calls(one.make(), counts, Origin::Template);
  }
  for (const char* of : {"of a matmul", "of a convolution"}) {
    for (const char* epilogue : {"none ", "bias ", "relu ", "bias and relu "}) {
      counts.report("epilogue", std::string(epilogue) + of);
    }
  }
  counts.report("narrow", "weights");
  counts.report("epilogue", "bounded relu");
  for (const char* stacks : kCarryStacks) counts.report("carry", stacks);
  for (const codegen::Claim& claim : codegen::claims()) counts.report("claim", claim.name);
  for (const char* of : {"of a load", "of a store"}) counts.report("guard", of);
  counts.report("library", "oneDNN of a matmul");
  counts.report("library", "oneDNN of a convolution");
  counts.report("library", "native GEMM of a matmul");
  counts.report("library", "native loops of a convolution", has_avx2());
  const bool uses_avx2 = has_avx2() && !__builtin_cpu_supports("avx512dq");
  counts.report("library", "native GEMM of a convolution", uses_avx2);
  counts.report("library", "native loops by panels of a convolution", uses_avx2);
}
