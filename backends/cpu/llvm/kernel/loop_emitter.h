// Emits values of expressions (emit_values.cpp) and loops over lanes and points (emit_loops.cpp).
#pragma once

#include "backends/cpu/llvm/kernel/memory_emitter.h"

#include <functional>
#include <optional>

namespace kiln::cpu {

class LoopEmitter : protected MemoryEmitter {
 protected:
  using MemoryEmitter::MemoryEmitter;
  using Body = std::function<void(llvm::Value* index)>;
  /// The parts of the sums of the current loops (SumParts); axis -1: no sum is long.
  struct Parts {
    int axis = -1;
    struct Sum {
      llvm::Value *part = nullptr, *whole = nullptr;
      llvm::Type* type = nullptr;
    };
    std::vector<Sum> sums;
  };

  /// Emits the expressions of the list whose loop level is at most `level` and that are not
  /// computed yet. Skips what needs the result of a stage that has not run.
  void compute(const std::vector<ExpressionId>& list, int level);
  bool is_ready(ExpressionId i) const;
  /// Forgets values computed since `mark`, when the emitter leaves their block.
  void forget(std::size_t mark);
  llvm::Value* splat_constant(DType dtype, std::uint64_t bits, llvm::Type* type);
  llvm::Value* constant(const codegen::Expression& x);
  /// The value, as a vector in vector loops.
  llvm::Value* in_lanes(ExpressionId expression);
  llvm::Value* axis_index(int axis);
  llvm::Value* value_of(ExpressionId expression);
  /// The value of an Apply.
  llvm::Value* applied(ExpressionId expression);
  llvm::Value* random(const codegen::Expression& x);
  void prefetch_gathered_rows(int axis);
  void prefetch_row_ahead(const GatherPrefetch& prefetch);
  /// for (i = first; i < last; i += step)
  void loop(llvm::Value* first, llvm::Value* last, std::int64_t step, const Body& body);
  /// Loops over whole vectors, then runs the body once for the rest under a mask. `count`: last -
  /// first where it is static; or the static extent of the axis, if first is a multiple of lanes_
  /// and last is another or that extent.
  void vector_loop(llvm::Value* first, llvm::Value* last, std::optional<std::int64_t> count,
                   const Body& body);
  void masked_rest(llvm::Value* whole, llvm::Value* last, const Body& body);
  /// Runs the body one register of lanes at a time, under a mask. Leaves width_ and mask_ set.
  void masked_loop(llvm::Value* first, llvm::Value* last, const Body& body);
  /// Loops over an axis, by lanes if it is the vector axis; sets index_ for the body.
  void axis_loop(int axis, const std::function<void()>& body);
  void axis_loop(int axis, llvm::Value* first, llvm::Value* last, std::optional<std::int64_t> count,
                 const std::function<void()>& body);
  /// Loops over an inner axis by parts of sums; see Parts.
  void loop_in_parts(const std::vector<ExpressionId>& needed, int axis,
                     const std::function<void()>& point);
  /// `needed`: the expressions that the stages of the loops need.
  void inner_loops(const std::vector<ExpressionId>& needed, int axis,
                   const std::function<void()>& point);
  /// Loops over the inner axis from the first whole cache line of the row on; before, under a mask.
  void loop_from_line(const std::function<void()>& body);

  IdVector<StageId, llvm::Value*> results_ = IdVector<StageId, llvm::Value*>(
      kernel_.stages.size());  // of each stage; null: not at this point
  std::vector<ExpressionId> computed_;  // that have values, in the order of their computation
  Parts parts_;  // of the current loops
};

}  // namespace kiln::cpu
