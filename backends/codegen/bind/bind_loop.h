// Strides of a loop's slices and buffers of its carries, for one tuple of sizes.
//
// Example: a loop of 5 iterations over x float32[5, 8]: length 5, and x's slot advances 32 bytes.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"

namespace kiln::codegen {

/// A slot of the body whose address advances by `bytes` in each iteration.
struct LoopMove {
  SlotId slot;
  std::int64_t bytes = 0;
};
struct LoopCarry {
  std::size_t number = 0;
  SlotId argument, result;  // of the body; no argument: nothing reads it
  /// An iteration writes the carry to the address of the body's slot `stack` in that iteration plus
  /// `ahead` bytes. None: the carry is double-buffered in the loop's result and a spare buffer.
  SlotId stack = {};
  std::int64_t ahead = 0;
  bool ends_in_stack = false;  // the last iteration writes to the stack, too, not to the result
};
/// A copy at one end of a carry's stack: of the initial value to its first slice or of the last
/// slice to the loop's result. Slots are the loop's.
struct LoopEndCopy {
  SlotId to, from;
  std::int64_t to_offset = 0, from_offset = 0, bytes = 0;
};

struct LoopBinding {
  explicit LoopBinding(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : slice_bytes(memory),
        moves(memory),
        carries(memory),
        first_copies(memory),
        last_copies(memory) {}

  std::int64_t length = 0;  // iterations
  std::int64_t direction = 1;  // of t: -1 when the loop runs from the last slice
  List<std::int64_t> slice_bytes;  // of each x, then of each y
  List<LoopMove> moves;
  List<LoopCarry> carries;
  List<LoopEndCopy> first_copies, last_copies;  // before and after all iterations
};

/// `sizes`: of the plan that contains `step`. The body is bound separately.
LoopBinding bind_loop(const LoopStep& step, const SlotSizes& sizes, const EvaluateDim& evaluate,
                      std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

}  // namespace kiln::codegen
