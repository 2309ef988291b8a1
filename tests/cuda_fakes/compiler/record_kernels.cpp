// A file gets its name when it is complete.
#include "tests/cuda_fakes/compiler/record_kernels.h"

#include "tests/cuda_fakes/fake_cubin.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace kiln::fake_cuda {
namespace {

struct Record {
  std::string text;  // the kernel's lines, then the schedule's
  std::string code;  // the same without the names of sizes, on which no code depends
};

Record record_of(const test::ParsedKernel& parsed) {
  codegen::Kernel kernel = parsed.kernel;
  kernel.name = "k";
  kernel.comes_from.clear();
  Record record;
  record.text = print(kernel) + print(parsed.schedule);
  std::istringstream lines(record.text);
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with("  n")) record.code += line + "\n";
  }
  return record;
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

void record_kernels(const std::vector<test::ParsedKernel>& kernels) {
  const char* const folder = std::getenv("KILN_TEST_RECORD_KERNELS");
  if (folder == nullptr) return;
  for (const test::ParsedKernel& one : kernels) {
    const Record record = record_of(one);
    std::ostringstream name;
    name << std::hex << checksum(record.code) << ".txt";
    const std::filesystem::path path = std::filesystem::path(folder) / name.str();
    if (!std::filesystem::exists(path)) write_whole(path, record.text);
  }
}

}  // namespace kiln::fake_cuda
