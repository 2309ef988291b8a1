// Opens the libraries at the first kernel and never closes them.
#include "tests/backends/cuda_fakes/driver/emulation.h"

#include "core/types/no_destructor.h"
#include "tests/backends/codegen/kernel_record.h"
#include "tests/backends/cuda_fakes/driver/state.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <list>
#include <map>
#include <stdexcept>

namespace kiln::fake_cuda {
namespace {

using Libraries = std::list<test::EmulatedKernels>;

Libraries open_all(const std::string& folder) {
  Libraries libraries;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".so") libraries.emplace_back(entry.path().string());
  }
  return libraries;
}

/// Whether the text has the seed of a draw, which a program may choose anew in each run.
bool has_seed(const codegen::Kernel& kernel) {
  return std::any_of(kernel.expressions.begin(), kernel.expressions.end(),
                     [](const auto& one) { return one.kind == codegen::ExpressionKind::Random; });
}

void use_record(const test::KernelRecord& record, bool may_lack, LoadedKernel& kernel) {
  const char* const folder = std::getenv("KILN_TEST_EMULATED_KERNELS");
  if (folder == nullptr) return;
  static const NoDestructor<Libraries> libraries(open_all(folder));
  kernel.emulated_name = record.name;
  for (const test::EmulatedKernels& one : *libraries) {
    if (one.has(kernel.emulated_name)) kernel.emulated = &one;
  }
  if (kernel.emulated == nullptr && !may_lack) {
    throw std::runtime_error(std::string(folder) + " has no " + kernel.emulated_name + " for\n" +
                             record.text);
  }
}

std::string text_of(const LoadedKernel& kernel) {
  if (kernel.text) return "";
  if (kernel.row_loop) return test::print_whole(kernel.row_loop->loop());
  return print(kernel.grid->kernel()) + print(kernel.grid->schedule());
}

}  // namespace

void use_emulation(const test::ParsedKernel& parsed, LoadedKernel& kernel) {
  use_record(test::record_of(parsed), has_seed(parsed.kernel), kernel);
}

void use_emulation(const codegen::RowLoop& loop, LoadedKernel& kernel) {
  const bool may_lack =
      std::any_of(loop.steps.begin(), loop.steps.end(), [](const codegen::RowLoopStep& step) {
        const auto* own = std::get_if<codegen::RowLoopKernel>(&step.work);
        return own && has_seed(own->kernel);
      });
  use_record(test::record_of(loop), may_lack, kernel);
}

const test::EmulatedKernels* emulation_of(const std::string& text) {
  static NoDestructor<std::map<std::string, test::EmulatedKernels>> known;
  const bool finds_races = std::getenv("KILN_TEST_FIND_RACES") != nullptr;
  const auto found = known->find(text);
  if (found != known->end()) return &found->second;
  return &known->emplace(text, test::emulate_functions(text, finds_races)).first->second;
}

Status run_emulation(const LoadedKernel& kernel, const LaunchParameters& parameters,
                     const std::vector<std::byte*>& operands, codegen::CallBlock* call,
                     test::ThreadOrder order) try {
  const auto is_in_bounds = [](const std::byte* address, std::size_t bytes) {
    return state().device_bytes(to_device(address), bytes) != nullptr;
  };
  kernel.emulated->run(
      kernel.emulated_name,
      {.operands = operands.data(),
       .sizes = parameters.sizes.data(),
       .grid = {.points = parameters.points,
                .blocks = parameters.blocks,
                .threads = kernel.threads(),
                .part_points = kernel.row_loop ? parameters.iterations : parameters.part_points},
       .partials = to_host(parameters.partials),
       .arrivals = reinterpret_cast<std::uint32_t*>(to_host(parameters.arrivals)),
       .step = parameters.step,
       .call = call,
       .order = order,
       .is_in_bounds = is_in_bounds});
  return Status::Success;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fake CUDA driver: %s\n%s\n", error.what(), text_of(kernel).c_str());
  return Status::LaunchFailed;
}

}  // namespace kiln::fake_cuda
