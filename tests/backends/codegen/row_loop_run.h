// Runs launches of loops that are one kernel, block after block, by the interpreter of kernels: the
// meaning of row_loop_text without its text.
#pragma once

#include "backends/codegen/grid/row_loop.h"
#include "tests/backends/codegen/grid_interpreter.h"

#include <memory>
#include <optional>

namespace kiln::test {

/// That of the driver API.
using LoopAddress = unsigned long long;

/// The arguments of a launch.
struct RowLoopCall {
  /// In the order of codegen::RowLoop's parameters: addresses in a space of the caller's.
  const LoopAddress* pointers = nullptr;
  const std::int64_t* numbers = nullptr;
  std::byte* (*to_host)(LoopAddress address) = nullptr;
  std::int64_t rows = 0, length = 0, blocks = 0;
  std::int32_t step = 0;
  codegen::CallBlock* call = nullptr;
  ThreadOrder order = ThreadOrder::Ascending;
};

/// A loop that is prepared for many launches.
class RowLoopRun {
 public:
  explicit RowLoopRun(codegen::RowLoop loop);
  const codegen::RowLoop& loop() const { return loop_; }
  std::int64_t pointers() const { return pointers_; }
  std::int64_t numbers() const { return numbers_; }

  /// The address of a tensor in iteration `t`; empty: in shared memory.
  std::optional<LoopAddress> global_address(int tensor, std::int64_t t,
                                            const RowLoopCall& call) const;
  /// Kernel::sizes of a step among the numbers.
  const std::int64_t* sizes(std::size_t step, const RowLoopCall& call) const {
    return call.numbers + first_sizes_[step];
  }
  /// Runs the blocks in their order, each with shared memory of any contents.
  void run(const RowLoopCall& call) const;

 private:
  void run_block(std::int64_t first, const RowLoopCall& call) const;
  std::byte* address(int tensor, std::int64_t t, std::int64_t first, std::byte* shared,
                     const RowLoopCall& call) const;
  std::optional<LoopAddress> next_carry(std::size_t carry, std::int64_t t,
                                        const RowLoopCall& call) const;

  codegen::RowLoop loop_;
  std::vector<std::unique_ptr<GridKernel>> kernels_;  // of each step; null: a copy
  std::vector<std::int64_t> given_;  // of each tensor: its pointer and number
  std::vector<std::int64_t> moves_;
  std::vector<std::int64_t> carry_pointers_, carry_moves_;
  std::vector<std::int64_t> first_sizes_;  // of each step
  std::int64_t pointers_ = 0, numbers_ = 0;
};

}  // namespace kiln::test
