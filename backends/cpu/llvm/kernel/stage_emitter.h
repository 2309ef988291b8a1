// Emits stages: emit_stages.cpp, and reductions of MinMaxForm::KeepsSigns in emit_minmax.cpp.
#pragma once

#include "backends/cpu/llvm/kernel/loop_emitter.h"

namespace kiln::cpu {

class StageEmitter : protected LoopEmitter {
 protected:
  using LoopEmitter::LoopEmitter;
  /// Runs the stages of the group at an outer point, and sets the results of its reductions.
  void run_stages(StageGroup group);

 private:
  // Reductions of MinMaxForm::KeepsSigns (emit_minmax.cpp).
  struct MinMax {
    llvm::Value *best = nullptr, *sign = nullptr, *nan = nullptr;  // variables
    llvm::Type *all = nullptr, *half = nullptr;  // types of sign and nan
  };
  void store_all(const codegen::Stage& stage);
  /// The type of an accumulator: lanes of outer points, or parts of one point.
  llvm::Type* accumulator_type(llvm::Type* scalar) const;
  /// Allocates and initialises the accumulator of a stage; null for a Map.
  llvm::Value* accumulator(const codegen::Stage& stage);
  void combine(StageId s, llvm::Value* sum);
  /// Prefix scan of a Running stage whose points are lanes: log2(lanes) rounds combine each lane
  /// with the lanes before it, then with `sum`, which holds the total of all earlier vectors in
  /// every lane.
  void scan_lanes(StageId s, llvm::Value* sum);
  llvm::Value* total(StageId s, llvm::Value* sum);
  /// Combines `old` with the value at this point; a sum of products uses fused multiply-add where
  /// the ISA has it.
  llvm::Value* combined(StageId s, DType dtype, llvm::Value* old);
  /// apply() by the stage's combiner; a maximum that need not propagate NaN takes one instruction.
  llvm::Value* joined(StageId s, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* apply(codegen::Combiner combiner, DType dtype, llvm::Value* x, llvm::Value* y);
  /// Reduces all lanes, upper half with lower half first: the order depends only on the number of
  /// lanes.
  llvm::Value* folded(StageId s, DType dtype, llvm::Value* x);
  MinMax begin_minmax(const codegen::Stage& stage, llvm::Value* best);
  void combine_minmax(const codegen::Stage& stage, const MinMax& so_far);
  llvm::Value* end_minmax(StageId s, const MinMax& so_far);
  /// Emits ArgMax: keeps the best value and its index in every lane, then reduces the lanes.
  void emit_arg_max(StageId s, const codegen::Stage& stage,
                    const std::vector<ExpressionId>& needed);
  /// Reduces the lanes to the index of the best value.
  llvm::Value* best_lane(DType dtype, llvm::Value* values, llvm::Value* indices);
  /// Whether x is better than `old`: larger, with NaN largest, or equal with a smaller index. An
  /// index that is not set is the largest number.
  llvm::Value* is_better(DType dtype, llvm::Value* x, llvm::Value* here, llvm::Value* old,
                         llvm::Value* old_index);

  IdVector<StageId, MinMax> minmax_ = IdVector<StageId, MinMax>(
      kernel_.stages.size());  // of each stage; empty where emit_minmax does not combine it
};

}  // namespace kiln::cpu
