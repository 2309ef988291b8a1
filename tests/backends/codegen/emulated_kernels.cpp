// The text calls the emulation through plain function pointers, so that the fibres and the watch of
// the running launch are static variables.
#include "tests/backends/codegen/emulated_kernels.h"

#include "tests/backends/codegen/block_fibres.h"
#include "tests/backends/codegen/emulated_text.h"
#include "tests/backends/codegen/host_compiler.h"

#include <dlfcn.h>

#include <stdexcept>

namespace kiln::test {
namespace {

using codegen::ScheduledKernel;

/// The watch and the block of the running launch.
MemoryWatch* g_watch = nullptr;
std::int64_t g_block_number = 0;

ThreadProgress progress() {
  ThreadProgress now = BlockFibres::progress();
  now.block = g_block_number;
  return now;
}

bool note_global(const void* address, std::int64_t bytes, bool is_store) {
  return g_watch->check_global(
      static_cast<const std::byte*>(address), static_cast<std::size_t>(bytes),
      is_store ? MemoryWatch::Access::Store : MemoryWatch::Access::Load, progress());
}

void note_shared(const void* address, std::int64_t bytes, bool is_store) {
  g_watch->check_shared(static_cast<const std::byte*>(address), static_cast<std::size_t>(bytes),
                        is_store ? MemoryWatch::Access::Store : MemoryWatch::Access::Load,
                        progress());
}

void note_atomic(const void* address) { g_watch->note_atomic(address, progress()); }

void* find(const std::shared_ptr<void>& library, const std::string& name) {
  void* const found = ::dlsym(library.get(), name.c_str());
  if (found == nullptr) throw std::runtime_error("the emulated text has no " + name);
  return found;
}

template <class T>
T& variable(const std::shared_ptr<void>& library, const std::string& name) {
  return *static_cast<T*>(find(library, name));
}

std::shared_ptr<void> open_library(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  return {library, [](void* handle) { ::dlclose(handle); }};
}

}  // namespace

EmulatedKernels::EmulatedKernels(std::span<const ScheduledKernel> kernels,
                                 std::span<const codegen::RowLoop> loops) {
  open(compile_library(emulated_text(kernels, loops)));
}

EmulatedKernels::EmulatedKernels(const std::string& library) { open(open_library(library)); }

void EmulatedKernels::open(std::shared_ptr<void> library) {
  library_ = std::move(library);
  variable<EmulatedFunctions>(library_, "emulation") = {BlockFibres::wait_for_block,
                                                        BlockFibres::wait_for_warp,
                                                        BlockFibres::exchange,
                                                        BlockFibres::ballot,
                                                        note_global,
                                                        note_shared,
                                                        note_atomic};
}

bool EmulatedKernels::has(const std::string& kernel) const {
  return ::dlsym(library_.get(), ("run_" + kernel).c_str()) != nullptr;
}

void EmulatedKernels::run(const std::string& kernel, const EmulatedLaunch& launch) const {
  const auto run_thread = reinterpret_cast<EmulatedThread>(find(library_, "run_" + kernel));
  const auto poison = reinterpret_cast<void (*)()>(find(library_, "poison_" + kernel));
  const auto index = [&](const char* name) -> std::uint32_t& {
    return variable<std::uint32_t>(library_, name);
  };
  const auto first = variable<const std::uint32_t>(library_, "first_block_" + kernel);
  index("gridDim") = static_cast<std::uint32_t>(launch.grid.blocks) + 2 * first;
  index("blockDim") = static_cast<std::uint32_t>(launch.grid.threads);
  std::uint32_t& thread = index("threadIdx");
  MemoryWatch watch(launch.is_in_bounds, finds_races_);
  void* const memory = ::dlsym(library_.get(), ("memory_" + kernel).c_str());
  if (memory != nullptr) {
    std::int64_t bytes = 0;
    const std::byte* const begin = reinterpret_cast<EmulatedMemory>(memory)(&bytes);
    watch.set_shared(begin, static_cast<std::size_t>(bytes));
  }
  g_watch = &watch;
  BlockFibres fibres(launch.grid.threads);
  for (std::int64_t turn = 0; turn < launch.grid.blocks; ++turn) {
    g_block_number = thread_at(launch.order, turn, launch.grid.blocks);
    index("blockIdx") = static_cast<std::uint32_t>(g_block_number) + first;
    poison();
    watch.begin_block();
    fibres.run(
        launch.order,
        [&] {
          run_thread(launch.operands, launch.sizes, launch.grid.points, launch.grid.part_points,
                     launch.partials, launch.arrivals, launch.step, launch.call);
        },
        [&](std::int64_t next) { thread = static_cast<std::uint32_t>(next); });
    if (!watch.error().empty()) throw std::runtime_error(kernel + ": " + watch.error());
  }
}

}  // namespace kiln::test
