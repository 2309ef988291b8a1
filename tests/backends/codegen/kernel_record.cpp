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

}  // namespace

KernelRecord record_of(const ParsedKernel& parsed) {
  codegen::Kernel kernel = parsed.kernel;
  kernel.name = "k";
  kernel.comes_from.clear();
  KernelRecord record;
  record.text = print(kernel) + print(parsed.schedule);
  std::ostringstream name;
  name << "k" << std::hex << std::hash<std::string>()(code_of(record.text));
  record.name = name.str();
  return record;
}

ParsedKernel read_record(const std::string& text) {
  const std::size_t schedule = text.rfind('\n') + 1;
  ParsedKernel parsed{parse_kernel(text.substr(0, schedule)),
                      parse_schedule(text.substr(schedule))};
  parsed.kernel.name = record_of(parsed).name;
  return parsed;
}

void record_kernels(const std::vector<ParsedKernel>& kernels) {
  const char* const folder = std::getenv("KILN_TEST_RECORD_KERNELS");
  if (folder == nullptr) return;
  for (const ParsedKernel& one : kernels) {
    const KernelRecord record = record_of(one);
    const std::filesystem::path path = std::filesystem::path(folder) / (record.name + ".txt");
    if (!std::filesystem::exists(path)) write_whole(path, record.text);
  }
}

}  // namespace kiln::test
