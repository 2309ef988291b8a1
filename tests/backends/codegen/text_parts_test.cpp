// Tests that the functions of a program are divided into texts that can be compiled at the same
// time, and with the machine's NVRTC, where there is one, that their machine code is the same.
#include "tests/support/catch.h"
#include "tests/backends/codegen/machines_compiler.h"
#include "tests/backends/codegen/make_kernel.h"

#include "backends/codegen/text/grid_text.h"
#include "core/types/text.h"

#include <elf.h>

#include <cstring>
#include <map>
#include <set>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

/// y = tanh(x) + x, `terms` times.
Kernel long_kernel(int number, int terms) {
  KernelMaker k(text("kernel", number), {64}, 1);
  ExpressionId x = k.load(k.access(k.input(DType::Float32), {1}));
  for (int i = 0; i < terms; ++i) x = k.apply(Op::Add, {k.apply(Op::Tanh, {x}), x});
  k.map({{k.access(k.output(DType::Float32), {1}), x}});
  return k.kernel;
}

/// Kernels of unequal length with their schedules.
struct Program {
  explicit Program(int count, int terms) {
    for (int i = 0; i < count; ++i) kernels.push_back(long_kernel(i, terms * (1 + i % 3)));
    for (const Kernel& kernel : kernels) schedules.push_back(schedule_grid(kernel, {}));
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      scheduled.push_back({kernels[i], schedules[i]});
    }
  }

  std::vector<Kernel> kernels;
  std::vector<GridSchedule> schedules;
  std::vector<ScheduledKernel> scheduled;
};

std::size_t functions_in(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("__global__ void"); at != text.npos;
       at = text.find("__global__ void", at + 1)) {
    ++count;
  }
  return count;
}

/// The machine code of each function of a cubin: its sections .text.<name>.
std::map<std::string, std::string> code_of(const std::string& cubin) {
  Elf64_Ehdr header;
  std::memcpy(&header, cubin.data(), sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), cubin.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  const char* names = cubin.data() + sections[header.e_shstrndx].sh_offset;
  std::map<std::string, std::string> code;
  for (const Elf64_Shdr& section : sections) {
    const std::string name = names + section.sh_name;
    if (name.starts_with(".text.")) {
      code[name.substr(6)] = cubin.substr(section.sh_offset, section.sh_size);
    }
  }
  return code;
}

}  // namespace

TEST_CASE("text parts: each function is in one of them") {
  const Program program(9, 40);
  const std::string whole = grid_text(program.scheduled);
  REQUIRE(whole.size() > 4 * 16384);
  const std::vector<GridTextPart> parts = grid_texts(program.scheduled, {}, 4);
  REQUIRE(parts.size() == 4);
  std::set<std::string> names;
  std::size_t longest = 0;
  for (const GridTextPart& part : parts) {
    CHECK(functions_in(part.text) == part.functions.size());
    for (const std::string& name : part.functions) {
      CHECK(part.text.find(" " + name + "(") != std::string::npos);
      CHECK(names.insert(name).second);
    }
    longest = std::max(longest, part.text.size());
  }
  CHECK(names.size() == program.kernels.size());
  CHECK(longest < whole.size() / 2);
  CHECK(grid_texts(program.scheduled, {}, 1)[0].text == whole);
}

TEST_CASE("text parts: short functions are not divided") {
  const Program program(9, 1);
  const std::vector<GridTextPart> parts = grid_texts(program.scheduled, {}, 8);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].functions.size() == program.kernels.size());
}

TEST_CASE("NVRTC: the machine code of a function does not depend on the division", "[slow]") {
  const auto compiler = machines_compiler();
  if (compiler == nullptr) return;
  const Program program(6, 40);
  const auto whole = code_of(compiler->compile(grid_text(program.scheduled), 90, "a.cu").cubin);
  CHECK(whole.size() == program.kernels.size());
  const std::vector<GridTextPart> parts = grid_texts(program.scheduled, {}, 3);
  REQUIRE(parts.size() == 3);
  for (const GridTextPart& part : parts) {
    const auto code = code_of(compiler->compile(part.text, 90, "b.cu").cubin);
    CHECK(code.size() == part.functions.size());
    for (const std::string& name : part.functions) {
      INFO(name);
      CHECK(code.at(name) == whole.at(name));
    }
  }
}
