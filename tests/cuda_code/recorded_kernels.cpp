#include "tests/cuda_code/recorded_kernels.h"

#include "tests/catch.h"
#include "tests/process.h"

#include <algorithm>
#include <filesystem>

namespace kiln::testing {

void RecordedKernels::run(const std::string& command, const std::string& settings) const {
  const std::string fakes = "'" KILN_BINARY_DIR "/lib/cuda_gpu'";
  const Outcome run = run_shell("KILN_TEST_RECORD_KERNELS='" + folder_.folder() +
                                "' KERAS_BACKEND=cuda KILN_CUDA_DRIVER=" + fakes +
                                " KILN_CUDA_LIBRARIES=" + fakes + " " + settings +
                                " '" KILN_BINARY_DIR "/bin/" + command);
  INFO(run.text);
  REQUIRE(run.status == 0);
}

std::vector<test::ParsedKernel> RecordedKernels::read(std::size_t step) const {
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder_.folder())) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<test::ParsedKernel> kernels;
  for (std::size_t i = 0; i < paths.size(); i += step) {
    const std::string record = contents_of(paths[i].string());
    const std::size_t schedule = record.rfind('\n') + 1;
    kernels.push_back({test::parse_kernel(record.substr(0, schedule)),
                       test::parse_schedule(record.substr(schedule))});
    kernels.back().kernel.name = "k" + std::to_string(i);
  }
  return kernels;
}

}  // namespace kiln::testing
