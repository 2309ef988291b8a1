// Files are written under a temporary name and renamed when they are complete.
#include "tests/backends/codegen/kernel_record.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace kiln::test {
namespace {

/// The lines without the names of sizes, on which no code depends.
std::string code_of(const std::string& record) {
  std::istringstream lines(record);
  std::string code, line;
  while (std::getline(lines, line)) {
    if (!line.starts_with("  n")) code += line + "\n";
  }
  return code;
}

void write_whole(const std::filesystem::path& path, const std::string& contents) {
  static std::atomic<int> count{0};
  const std::string suffix = "." + std::to_string(::getpid()) + "." + std::to_string(++count);
  const std::string unfinished = path.string() + suffix;
  std::ofstream file(unfinished, std::ios::binary);
  file << contents;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + unfinished);
  std::filesystem::rename(unfinished, path);
}

KernelRecord record_with(const char* prefix, std::string text) {
  KernelRecord record{"", std::move(text)};
  std::ostringstream name;
  name << prefix << std::hex << std::hash<std::string>()(code_of(record.text));
  record.name = name.str();
  return record;
}

/// Names the loop and its kernels.
void rename(codegen::RowLoop& loop, const std::string& name) {
  loop.name = name;
  int number = 0;
  for (codegen::RowLoopStep& step : loop.steps) {
    auto* own = std::get_if<codegen::RowLoopKernel>(&step.work);
    if (own == nullptr) continue;
    own->kernel.name = name + "_k" + std::to_string(number++);
    own->kernel.comes_from.clear();
  }
}

}  // namespace

KernelRecord record_of(const ParsedKernel& parsed) {
  codegen::Kernel kernel = parsed.kernel;
  kernel.name = "k";
  kernel.comes_from.clear();
  return record_with("k", print(kernel) + print(parsed.schedule));
}

KernelRecord record_of(const codegen::RowLoop& loop) {
  codegen::RowLoop plain = loop;
  rename(plain, "l");
  return record_with("l", print_whole(plain));
}

bool is_loop_record(const std::string& text) { return text.starts_with("loop "); }

codegen::RowLoop read_loop_record(const std::string& text) {
  codegen::RowLoop loop = parse_row_loop(text);
  rename(loop, record_of(loop).name);
  return loop;
}

ParsedKernel read_record(const std::string& text) {
  const std::size_t schedule = text.rfind('\n') + 1;
  ParsedKernel parsed{parse_kernel(text.substr(0, schedule)),
                      parse_schedule(text.substr(schedule))};
  parsed.kernel.name = record_of(parsed).name;
  return parsed;
}

void record_kernels(const std::vector<ParsedKernel>& kernels,
                    const std::vector<codegen::RowLoop>& loops) {
  const char* const folder = std::getenv("KILN_TEST_RECORD_KERNELS");
  if (folder == nullptr) return;
  const auto write = [&](const KernelRecord& record) {
    const std::filesystem::path path = std::filesystem::path(folder) / (record.name + ".txt");
    if (!std::filesystem::exists(path)) write_whole(path, record.text);
  };
  for (const ParsedKernel& one : kernels) write(record_of(one));
  for (const codegen::RowLoop& one : loops) write(record_of(one));
}

}  // namespace kiln::test
