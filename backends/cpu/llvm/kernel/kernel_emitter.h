// Emits one kernel as LLVM IR: the loop nest in emit_kernel.cpp, tiles in emit_tiles.cpp, blocks of
// short rows in emit_row_blocks.cpp, loops with streaming stores in emit_streams.cpp.
#pragma once

#include "backends/cpu/llvm/kernel/stage_emitter.h"

namespace kiln::cpu {

class KernelEmitter : private StageEmitter {
 public:
  /// `parameters`: see FunctionFrame; complete after run().
  KernelEmitter(llvm::Module& module, const codegen::Kernel& kernel, const IsaTarget& target,
                std::vector<std::int64_t>* parameters)
      : StageEmitter(module, kernel, target, parameters) {}
  void run();

 private:
  void outer_loops(int axis);
  /// Emits the loop over the rows of blocks.
  void row_block_loops();
  /// Emits the vectors of the block that begins with `row`; of its first `points`, null: of all.
  void row_block(llvm::Value* row, llvm::Value* points);
  /// Emits the loops from the axis of the tiles to the vector axis.
  void tile_loops();
  /// Emits the loops inside a block of rows [first, last).
  void loops_in_block(int axis, llvm::Value* first, llvm::Value* last);
  /// Reads one tile and loops over its rows, from `first`, at most up to `last`.
  void tile(llvm::Value* first, llvm::Value* last);
  void read_tile(AccessId id, llvm::Value* rows);
  /// TileOperands::ahead of a tiled access: 0 where the operand fits the L2 cache.
  llvm::Value* elements_ahead(const codegen::Access& access);
  /// Emits all loops twice: with streaming stores, and with plain ones where may_stream() is false.
  void streaming_loops();
  /// Whether at run time every streamed operand is aligned for streaming stores, none is another
  /// operand that is read (lines of such an operand are in the caches already), and the call is one
  /// for which streaming is faster (StreamSchedule::alone).
  llvm::Value* may_stream();
};

}  // namespace kiln::cpu
