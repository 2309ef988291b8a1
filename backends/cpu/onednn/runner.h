// One primitive that many threads run at once: each run borrows a set of the library's memory
// objects and points them at its buffers. A set is made when a thread first needs it; after that
// nothing here allocates.
#pragma once

#include "backends/cpu/onednn/library.h"

#include <array>
#include <atomic>

namespace kiln::cpu {

struct RunnerArgument {
  int id;  // DNNL_ARG_SRC ...
  Layout layout;
};

class Runner {
 public:
  static constexpr std::size_t kMostArguments = 5;
  // Buffers in the order of the arguments.
  using Buffers = std::array<void*, kMostArguments>;

  // Adds the scratchpad as the last argument where the primitive wants one.
  Runner(const Handle<dnnl_primitive_desc_t>& desc, std::vector<RunnerArgument> arguments);

  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
  // With one OpenMP thread. `scratch` is read when scratch_bytes() is not 0.
  dnnl_status_t run(Buffers buffers, void* scratch) const noexcept;

 private:
  struct alignas(64) Set {
    std::atomic<bool> taken{false};
    Handle<dnnl_stream_t> stream;
    std::array<Handle<dnnl_memory_t>, kMostArguments> memories;
    std::array<dnnl_exec_arg_t, kMostArguments> arguments;
    Buffers buffers{};
  };
  Set& take() const noexcept;
  void fill(Set& set) const;
  dnnl_status_t run_with(Set& set, const Buffers& buffers) const;

  std::vector<RunnerArgument> arguments_;
  std::size_t scratch_bytes_ = 0;
  Handle<dnnl_primitive_t> primitive_;
  mutable std::array<Set, 32> sets_;
};

}  // namespace kiln::cpu
