// The state that all parts of emitting one kernel share: what is computed, and the loops around.
// Loops are in emit_kernel.cpp, stages in emit_stages.cpp, values and memory in emit_memory.cpp,
// tiles in emit_tiles.cpp, prefetches in emit_fetch.cpp and emit_chosen_rows.cpp, streaming stores
// in emit_streams.cpp.
#pragma once

#include "backends/codegen/kernel/kernel.h"
#include "backends/cpu/llvm/emit_context.h"
#include "backends/cpu/llvm/kernel_levels.h"

#include <functional>
#include <map>
#include <optional>

namespace kiln::cpu {

class KernelEmitter {
 public:
  /// `numbers` null: static sizes and constants are parts of the code. Else the code reads the
  /// large ones from KernelArguments::sizes, and run() appends them to `numbers` in that order.
  KernelEmitter(llvm::Module& module, const codegen::Kernel& kernel, const IsaTarget& target,
                std::vector<std::int64_t>* numbers);
  void run();

 private:
  // ---- set up ----
  /// Bytes of the elements that most work is done in: 8 for float64, else 4.
  int widest() const;
  /// Vectors that are worked on together. Reductions along lanes have that many accumulators, so
  /// that additions do not wait for each other; those across rows read that many neighbours.
  int vectors() const;
  void begin_function();
  llvm::Value* size(const ir::Dim& dim);
  /// As a constant, or read from memory: see the constructor.
  llvm::Value* size(std::int64_t value);
  llvm::Value* read_number(std::int64_t value);
  /// A variable in memory that becomes a register; made in the entry block.
  llvm::Value* variable(llvm::Type* type);

  // ---- values that are there ----
  /// Computes those of the list that belong to loops up to `level` and are not there yet. Results
  /// of stages that have not run are left for later.
  void compute(const std::vector<int>& list, int level);
  bool is_ready(int i) const;
  /// Forgets what was computed since `mark`: its block is left.
  void forget(std::size_t mark);

  // ---- loops ----
  using Body = std::function<void(llvm::Value* index)>;
  /// for (i = first; i < last; i += step)
  void loop(llvm::Value* first, llvm::Value* last, std::int64_t step, const Body& body);
  /// Whole vectors, then the rest under a mask.
  /// `count`: last - first where it is static.
  void vector_loop(llvm::Value* first, llvm::Value* last, std::optional<std::int64_t> count,
                   const Body& body);
  void masked_rest(llvm::Value* whole, llvm::Value* last, const Body& body);
  llvm::Value* lane_numbers(llvm::Type* type);
  /// One loop of an axis, lanes included; the body sees index_ set.
  void axis_loop(int axis, const std::function<void()>& body);
  void axis_loop(int axis, llvm::Value* first, llvm::Value* last,
                 std::optional<std::int64_t> count, const std::function<void()>& body);
  void outer_loops(int axis);
  /// The loop of an inner axis whose sums are made in parts; see Parts.
  void loop_in_parts(const std::vector<int>& needed, int axis, const std::function<void()>& point);
  /// `needed`: what the stages of the loops need.
  void inner_loops(const std::vector<int>& needed, int axis, const std::function<void()>& point);

  // ---- tiles ----
  /// The operands that are read across the lanes, and the state of their tiles.
  struct Tiles {
    int axis = -1;  // the outer axis along which their neighbours lie; -1: no tiles
    int rows = 0;   // of a block: indices of that axis, several tiles
    std::vector<bool> tiled;           // of each access: read in tiles, not element by element
    std::vector<llvm::Value*> memory;  // of each access: its transposed tile
    llvm::Value* row = nullptr;        // of the tile, within the loop over its rows
  };
  /// Sets tiles_ where the kernel has loads across its lanes.
  void plan_tiles();
  /// Whether there are whole tiles, or partial ones are faster than elements one by one.
  bool fills_tiles() const;
  /// The loops from the axis of the tiles to that of the lanes.
  void tile_loops();
  /// The loops inside those of the blocks of rows [first, last).
  void loops_in_block(int axis, llvm::Value* first, llvm::Value* last);
  /// The rows of one tile, from `first`, that lie before `last`.
  void tile(llvm::Value* first, llvm::Value* last);
  void read_tile(int access, llvm::Value* rows);
  llvm::Value* row_of_tile(const codegen::Expression& x);

  // ---- stages ----
  void run_stages(StageGroup group);
  void store_all(const codegen::Stage& stage);
  /// Sums of many float32 numbers are added up in parts of a few hundred each, so that their error
  /// does not grow with their number: `length` indices of `axis` make a part.
  struct Parts {
    int axis = -1;
    std::int64_t length = 0;
    struct Sum {
      llvm::Value *part = nullptr, *whole = nullptr;
      llvm::Type* type = nullptr;
    };
    std::vector<Sum> sums;
  };
  /// Which axis it is, when there are so many numbers; none else.
  Parts parts_of_sums() const;
  bool is_long_sum(const codegen::Stage& stage) const;
  /// The type of an accumulator: lanes of outer points, or parts of one point.
  llvm::Type* accumulator_type(llvm::Type* scalar) const;
  DType dtype_of(int expression) const {
    return kernel_.expressions[static_cast<std::size_t>(expression)].dtype; }
  /// What a stage combines into, as a variable; null for a Map.
  llvm::Value* accumulator(const codegen::Stage& stage);
  void combine(std::size_t s, llvm::Value* sum);
  /// Of a Running stage with lanes along its points: log2(lanes) rounds combine each lane with
  /// those before it, then with `sum`, which holds in every lane what ran before this vector.
  void run_along_lanes(std::size_t s, llvm::Value* sum);
  llvm::Value* total(std::size_t s, llvm::Value* sum);
  /// old combined with the value at this point. Products are added in one rounding where that is
  /// what the machine does best.
  llvm::Value* combined(const codegen::Stage& stage, DType dtype, llvm::Value* old);
  llvm::Value* apply(codegen::Combiner combiner, DType dtype, llvm::Value* x, llvm::Value* y);
  /// All lanes combined, halves first: the order depends on the number of lanes alone.
  llvm::Value* folded(codegen::Combiner combiner, DType dtype, llvm::Value* x);
  /// ArgMax: the best value and its place in every lane, then over the lanes.
  void choose(std::size_t s, const codegen::Stage& stage, const std::vector<int>& needed);
  /// The place of the best lane.
  llvm::Value* best_lane(DType dtype, llvm::Value* values, llvm::Value* indices);
  /// Larger, NaN largest; of equals the earlier one; a place that is not set is the last.
  llvm::Value* is_better(DType dtype, llvm::Value* x, llvm::Value* here, llvm::Value* old,
      llvm::Value* old_place);

  // ---- values ----
  llvm::Value* splat_constant(DType dtype, std::uint64_t bits, llvm::Type* type);
  llvm::Value* constant(const codegen::Expression& x);
  bool in_vector() const { return width_ > 1; }
  llvm::Value* spread(llvm::Value* x);
  /// The value with lanes, where the code around has them.
  llvm::Value* in_lanes(int expression);
  llvm::Value* axis_index(int axis);
  llvm::Value* value_of(const codegen::Expression& x);
  /// Whether a float is divided by one that belongs to a loop further out.
  bool divides_by_invariant(const codegen::Expression& x) const;

  // ---- memory ----
  struct Place {
    llvm::Value* pointer = nullptr;  // of the first lane, or of each lane
    bool together = false;     // lanes are neighbours
    llvm::Value* allowed = nullptr;  // lanes (or the scalar) that may be touched; null: all
    llvm::Value* guard = nullptr;    // of neighbours: whether any may be touched; null: yes
  };
  /// Element offset of the scalar part: all but what differs between lanes.
  llvm::Value* scalar_offset(const codegen::Access& access);
  Place place(int number);
  llvm::Value* same_shape(llvm::Value* scalar, llvm::Value* like);
  /// Notes indices that are outside where `when` (null: always) holds; gives where it holds and
  /// they are not.
  llvm::Value* checked_index(int number, const codegen::Access& access, llvm::Value* index,
                             llvm::Value* when);
  void report(int number, llvm::Value* limit, llvm::Value* index, llvm::Value* bad);
  llvm::Align alignment(DType dtype) const { return llvm::Align(dtype_bytes(dtype)); }
  llvm::Value* load(const codegen::Expression& x);
  /// One element; a place of zeros stands in where the access is not allowed.
  llvm::Value* load_scalar(const Place& from, llvm::Type* element, DType dtype);
  /// One element for all lanes that are allowed, 0 for the others.
  llvm::Value* load_for_lanes(const Place& from, llvm::Type* element, DType dtype);
  /// The mask by a copy that LLVM cannot look through. LLVM 22 loads without a mask for AVX2 where
  /// it finds while it selects instructions that no lane of a register is allowed.
  llvm::Value* opaque(llvm::Value* mask, DType dtype);
  /// Neighbours, 0 where they are not allowed, one register at a time.
  llvm::Value* masked_load(llvm::Value* pointer, llvm::VectorType* type, llvm::Value* allowed,
                           DType dtype);
  /// Neighbours, 0 where they are not allowed. Without an instruction for that, LLVM makes a branch
  /// per lane, so that vectors of which all lanes are allowed take a path of their own.
  llvm::Value* load_together(llvm::Value* pointer, llvm::Type* type, llvm::Value* allowed,
                             DType dtype);
  bool has_masked_loads(DType dtype) const;
  /// Memory that holds a 0 of that type.
  llvm::Value* zeros(llvm::Type* type);
  void store(const codegen::Store& one);
  void make_streaming(llvm::StoreInst* store);
  llvm::Value* load_at(const Place& from, bool vector, llvm::Value* allowed, DType dtype);
  void store_scalar(llvm::Value* raw, const Place& to, llvm::Type* element, DType dtype);
  llvm::Value* random(const codegen::Expression& x);

  // ---- streaming stores (emit_streams.cpp) ----
  /// Sets streamed_ where the kernel stores many elements that it does not read.
  void find_streamed();
  bool is_streamed(int operand) const;
  bool streams() const { return !streamed_.empty(); }
  /// All loops twice: with streaming stores, and with plain ones for where may_stream() is false.
  void streaming_loops();
  /// Whether every streamed operand begins at a multiple of the width of a streaming store, and
  /// none is written over an operand: its lines are in the caches already.
  llvm::Value* may_stream();

  // ---- rows ahead ----
  /// An access in the loops of the stages that begin with `group`.
  struct Touch {
    std::size_t group = 0;
    int access = -1;
    bool operator==(const Touch&) const = default;
  };
  /// Whether several loops go over one row after the other.
  bool goes_over_rows_again() const;
  std::vector<int> accesses_of(StageGroup group) const;
  /// The first access of the group to neighbours of that operand; -1: there is none.
  int access_to_prefetch(StageGroup group, std::size_t operand) const;
  /// Sets prefetched_: for each operand, of the loops that touch it the one that prefetches the
  /// fewest operands, the first of equals.
  void plan_prefetches();
  /// Null: not worth it.
  llvm::Value* bytes_to_next_row(const codegen::Access& access, std::int64_t element);
  /// What lies in the next row where `pointer`, the first of neighbours, lies in this one.
  void fetch_next_row(int access, llvm::Value* pointer, bool to_write);
  void fetch_lines(llvm::Value* first, std::int64_t bytes, bool to_write);
  /// Of the operands whose rows an index of this loop chooses: the rows some iterations ahead.
  void fetch_chosen_rows(int axis);
  /// Whether an index that belongs to the loop of `axis` chooses a row of a large table.
  bool is_far_row(const codegen::Access& access, int axis) const;
  /// The expressions of that loop that give the value of `expression` at another of its indices, in
  /// order; none where that may fail or needs a stage.
  std::optional<std::vector<int>> recomputed_ahead(int expression, int axis) const;
  void fetch_row_ahead(const codegen::Access& access, int axis,
                       const std::vector<int>& recomputed);

  const codegen::Kernel& kernel_;
  std::vector<std::int64_t>* numbers_;
  llvm::Instruction* size_array_ = nullptr;
  std::vector<llvm::Value*> read_numbers_;
  llvm::IRBuilder<> b_;
  Emit e_;
  int lanes_ = 1;
  bool lanes_are_outer_ = false;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value *begin_ = nullptr, *end_ = nullptr, *fault_ = nullptr, *seed_ = nullptr,
        *counter_ = nullptr;
  std::vector<llvm::Value*> buffers_, sizes_;
  std::map<llvm::Type*, llvm::Value*> zeros_;
  KernelLevels levels_;
  std::vector<StageGroup> groups_;
  // While emitting: what is computed, and the loops around.
  std::vector<llvm::Value*> values_, index_, results_;
  std::vector<int> computed_;
  int width_ = 1;
  llvm::Value* mask_ = nullptr;
  std::vector<bool> streamed_;  // of each operand; empty: none is
  bool is_streaming_ = false;    // in the loops that are being emitted
  std::size_t group_ = 0;       // the first stage of the loops that are being emitted
  std::vector<Touch> prefetched_;  // of each operand: where its next row is prefetched
  Tiles tiles_;
  Parts parts_;  // of the loops that are being emitted
};

}  // namespace kiln::cpu
