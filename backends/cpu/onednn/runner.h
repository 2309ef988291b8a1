// Runs one oneDNN primitive from many threads at once. Each run acquires a set of memory objects
// and points them at its buffers; a set is created when it is first needed, after which no run
// allocates here.
#pragma once

#include "backends/cpu/onednn/library.h"

#include <array>
#include <atomic>

namespace kiln::cpu {

struct RunnerArgument {
  int id;  // DNNL_ARG_SRC ...
  Layout layout;
};

/// Any number of threads may run one object; with more than 32 at once, some wait.
class Runner {
 public:
  static constexpr std::size_t kMaxArguments = 5;
  /// Buffers in the order of the arguments.
  using Buffers = std::array<void*, kMaxArguments>;

  /// Adds the scratchpad as the last argument where the primitive has one. Throws LibraryFailure.
  Runner(const Handle<dnnl_primitive_desc_t>& desc, std::vector<RunnerArgument> arguments);

  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
  /// Runs with one OpenMP thread. `scratch` is used when scratch_bytes() is not 0.
  dnnl_status_t run(Buffers buffers, void* scratch) const noexcept;

 private:
  struct alignas(64) ArgumentSet {
    std::atomic<bool> in_use{false};
    Handle<dnnl_stream_t> stream;
    std::array<Handle<dnnl_memory_t>, kMaxArguments> memories;
    std::array<dnnl_exec_arg_t, kMaxArguments> arguments;
    Buffers buffers{};
  };
  ArgumentSet& acquire() const noexcept;
  void fill(ArgumentSet& set) const;
  dnnl_status_t run_with(ArgumentSet& set, const Buffers& buffers) const;

  std::vector<RunnerArgument> arguments_;
  std::size_t scratch_bytes_ = 0;
  Handle<dnnl_primitive_t> primitive_;
  mutable std::array<ArgumentSet, 32> sets_;
};

}  // namespace kiln::cpu
