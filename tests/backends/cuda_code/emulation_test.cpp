// Runs other test programs once more, with the CUDA text of their kernels run by the host: checks
// bounds, data races and barriers of every launch; those tests check the results.
#include "tests/support/catch.h"
#include "tests/backends/codegen/emulated_text.h"
#include "tests/backends/codegen/host_compiler.h"
#include "tests/backends/cuda_code/recorded_kernels.h"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace kiln;
using namespace kiln::testing;
using kiln::test::ParsedKernel;

namespace {

constexpr std::size_t kOfLibrary = 100;  // kernels

void compile(std::span<const ParsedKernel> kernels, std::span<const codegen::RowLoop> loops,
             const std::string& library) {
  std::vector<codegen::ScheduledKernel> scheduled;
  for (const ParsedKernel& one : kernels) scheduled.push_back({one.kernel, one.schedule});
  test::compile_to_file(test::emulated_text(scheduled, loops), library);
}

/// Compiles them into libraries of the folder, by all processors. Errors end the test program.
void compile_all(std::span<const ParsedKernel> kernels, std::span<const codegen::RowLoop> loops,
                 const Scratch& folder) {
  std::atomic<std::size_t> next{0}, next_loop{0};
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t begin; (begin = next.fetch_add(kOfLibrary)) < kernels.size();) {
        const std::size_t count = std::min(kOfLibrary, kernels.size() - begin);
        compile(kernels.subspan(begin, count), {}, folder.path(std::to_string(begin) + ".so"));
      }
      for (std::size_t one; (one = next_loop.fetch_add(1)) < loops.size();) {
        compile({}, loops.subspan(one, 1), folder.path(loops[one].name + ".so"));
      }
    });
  }
}

void run_emulated(const std::vector<RecordedProgram>& programs) {
  const RecordedKernels recorded = record_kernels(programs);
  WARN(recorded.kernels.size() << " kernels, " << recorded.loops.size() << " loops");
  CHECK(!recorded.loops.empty());
  const Scratch folder;
  compile_all(recorded.kernels, recorded.loops, folder);
  for (const RecordedProgram& one : programs) {
    run_on_fakes(one, "KILN_TEST_EMULATED_KERNELS='" + folder.folder() + "'");
  }
}

}  // namespace

TEST_CASE("CUDA text of random programs has no race and stays in bounds", "[slow]") {
  run_emulated({{"test_random_programs", "'[seeds]'", "KILN_RANDOM_PROGRAMS=0:20"}});
}

TEST_CASE("CUDA text of all tests has no race and stays in bounds", "[matrix]") {
  run_emulated(all_programs());
}
