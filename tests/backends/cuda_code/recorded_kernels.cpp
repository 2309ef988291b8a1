// The fakes write a file for each kernel.
#include "tests/backends/cuda_code/recorded_kernels.h"

#include "tests/support/catch.h"
#include "tests/backends/codegen/kernel_record.h"
#include "tests/support/process.h"
#include "test_folders.h"

#include <algorithm>
#include <filesystem>

namespace kiln::testing {

void run_on_fakes(const RecordedProgram& program, const std::string& settings) {
  const std::string fakes = "'" KILN_BINARY_DIR "/lib/cuda_gpu'";
  // Without its mark, the program makes its environment anew from these variables.
  const std::string command =
      "env -u KILN_TEST_ENVIRONMENT KILN_TEST_BACKEND=cuda"
      " KILN_TEST_CUDA_DRIVER=" +
      fakes + " KILN_TEST_CUDA_LIBRARIES=" + fakes + " " + program.settings + " " + settings +
      " '" KILN_BINARY_DIR "/bin/" + program.name + "' " + program.filter;
  const Outcome run = run_shell(command);
  INFO(command << "\n" << run.text);
  REQUIRE(run.status == 0);
}

RecordedKernels record_kernels(const std::vector<RecordedProgram>& programs) {
  const Scratch folder;
  for (const RecordedProgram& one : programs) {
    const std::size_t before = folder.files();
    run_on_fakes(one, "KILN_TEST_RECORD_KERNELS='" + folder.folder() + "'");
    INFO(one.name);
    CHECK(folder.files() > before);  // each has kernels that no other has
  }
  RecordedKernels recorded;
  for (const auto& entry : std::filesystem::directory_iterator(folder.folder())) {
    const std::string text = contents_of(entry.path().string());
    const bool is_loop = test::is_loop_record(text);
    if (is_loop) recorded.loops.push_back(test::read_loop_record(text));
    if (!is_loop) recorded.kernels.push_back(test::read_record(text));
    CHECK((is_loop ? recorded.loops.back().name : recorded.kernels.back().kernel.name) ==
          entry.path().stem().string());
  }
  std::ranges::sort(recorded.kernels, {}, [](const auto& one) { return one.kernel.name; });
  std::ranges::sort(recorded.loops, {}, [](const auto& one) { return one.name; });
  return recorded;
}

std::vector<RecordedProgram> all_programs() {
  const std::string plain = "'~[slow]~[.]~[concurrency]'";
  return {{"test_ops", plain},
          {"test_k", plain},
          {"test_passes", plain},
          {"test_rewrite", plain},
          {"test_random_programs", "'[seeds]'", "KILN_RANDOM_PROGRAMS=0:300"},
          {"test_models", "'[cuda]'"}};
}

}  // namespace kiln::testing
