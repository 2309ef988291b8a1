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

}  // namespace

void use_emulation(const test::ParsedKernel& parsed, LoadedKernel& kernel) {
  const char* const folder = std::getenv("KILN_TEST_EMULATED_KERNELS");
  if (folder == nullptr) return;
  static const NoDestructor<Libraries> libraries(open_all(folder));
  kernel.emulated_name = test::record_of(parsed).name;
  for (const test::EmulatedKernels& one : *libraries) {
    if (one.has(kernel.emulated_name)) kernel.emulated = &one;
  }
  if (kernel.emulated == nullptr && !has_seed(parsed.kernel)) {
    throw std::runtime_error(std::string(folder) + " has no " + kernel.emulated_name + " for\n" +
                             print(parsed.kernel) + print(parsed.schedule));
  }
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
  kernel.emulated->run(kernel.emulated_name,
                       {.operands = operands.data(),
                        .sizes = parameters.sizes.data(),
                        .grid = {.points = parameters.points,
                                 .blocks = parameters.blocks,
                                 .threads = kernel.threads(),
                                 .part_points = parameters.part_points},
                        .partials = to_host(parameters.partials),
                        .arrivals = reinterpret_cast<std::uint32_t*>(to_host(parameters.arrivals)),
                        .step = parameters.step,
                        .call = call,
                        .order = order,
                        .is_in_bounds = is_in_bounds});
  return Status::Success;
} catch (const std::exception& error) {
  const std::string shown =
      kernel.text ? "" : print(kernel.grid->kernel()) + print(kernel.grid->schedule());
  std::fprintf(stderr, "fake CUDA driver: %s\n%s\n", error.what(), shown.c_str());
  return Status::LaunchFailed;
}

}  // namespace kiln::fake_cuda
