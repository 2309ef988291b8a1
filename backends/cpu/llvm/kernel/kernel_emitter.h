// Emits one kernel as LLVM IR: the state that all parts of the emitter share (values computed so
// far and the loops around the insertion point). Loops are in emit_kernel.cpp, stages in
// emit_stages.cpp and emit_minmax.cpp, values and memory in emit_memory.cpp and
// emit_checked_rows.cpp, tiles in emit_tiles.cpp, prefetches in emit_prefetch.cpp and
// emit_gather_prefetch.cpp, streaming stores in emit_streams.cpp and emit_scratch_rows.cpp. The
// schedule (backends/cpu/schedule) decides what is emitted where.
#pragma once

#include "backends/codegen/kernel/kernel.h"
#include "backends/cpu/llvm/scalar/emit_context.h"
#include "backends/cpu/schedule/cpu_schedule.h"

#include <functional>
#include <map>
#include <optional>

namespace kiln::cpu {

class KernelEmitter {
 public:
  /// `parameters` null: static sizes and constants are immediate values. Else the code reads the
  /// large ones from KernelArguments::sizes, and run() appends their values to `parameters` in that
  /// order.
  KernelEmitter(llvm::Module& module, const codegen::Kernel& kernel, const IsaTarget& target,
                std::vector<std::int64_t>* parameters);
  void run();

 private:
  // ---- set up ----
  void begin_function();
  void find_points();
  llvm::Value* size(const ir::Dim& dim);
  /// An immediate value, or a parameter: see the constructor.
  llvm::Value* size(std::int64_t value);
  llvm::Value* read_parameter(std::int64_t value);
  /// Allocates a variable in the entry block; SROA promotes it to a register.
  llvm::Value* variable(llvm::Type* type);

  // ---- computed values ----
  /// Emits the expressions of the list whose loop level is at most `level` and that are not
  /// computed yet. Skips what needs the result of a stage that has not run.
  void compute(const std::vector<int>& list, int level);
  bool is_ready(int i) const;
  /// Forgets values computed since `mark`, when the emitter leaves their block.
  void forget(std::size_t mark);

  // ---- loops ----
  using Body = std::function<void(llvm::Value* index)>;
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
  /// The mask of the lanes below `count`.
  llvm::Value* lanes_before(llvm::Value* count);
  llvm::Value* lane_numbers(llvm::Type* type);
  /// Loops over an axis, by lanes if it is the vector axis; sets index_ for the body.
  void axis_loop(int axis, const std::function<void()>& body);
  void axis_loop(int axis, llvm::Value* first, llvm::Value* last, std::optional<std::int64_t> count,
                 const std::function<void()>& body);
  void outer_loops(int axis);
  /// Loops over an inner axis by parts of sums; see Parts.
  void loop_in_parts(const std::vector<int>& needed, int axis, const std::function<void()>& point);
  /// `needed`: the expressions that the stages of the loops need.
  void inner_loops(const std::vector<int>& needed, int axis, const std::function<void()>& point);

  // ---- tiles ----
  /// The tiles of the current loops; each list has an element for each access.
  struct Tiles {
    std::vector<llvm::Value*> memory;  // the transposed tile
    std::vector<llvm::Value*> ahead;  // TileOperands::ahead
    llvm::Value* row = nullptr;  // index of the row, within the loop over a tile's rows
  };
  /// Emits the loops from the axis of the tiles to the vector axis.
  void tile_loops();
  /// Emits the loops inside a block of rows [first, last).
  void loops_in_block(int axis, llvm::Value* first, llvm::Value* last);
  /// Reads one tile and loops over its rows, from `first`, at most up to `last`.
  void tile(llvm::Value* first, llvm::Value* last);
  void read_tile(int access, llvm::Value* rows);
  /// TileOperands::ahead of a tiled access: 0 where the operand fits the L2 cache.
  llvm::Value* elements_ahead(const codegen::Access& access);
  llvm::Value* row_of_tile(const codegen::Expression& x);

  // ---- stages ----
  void run_stages(StageGroup group);
  void store_all(const codegen::Stage& stage);
  /// The parts of the sums of the current loops (SumParts); axis -1: no sum is long.
  struct Parts {
    int axis = -1;
    struct Sum {
      llvm::Value *part = nullptr, *whole = nullptr;
      llvm::Type* type = nullptr;
    };
    std::vector<Sum> sums;
  };
  /// The type of an accumulator: lanes of outer points, or parts of one point.
  llvm::Type* accumulator_type(llvm::Type* scalar) const;
  DType dtype_of(int expression) const {
    return kernel_.expressions[static_cast<std::size_t>(expression)].dtype;
  }
  /// Allocates and initialises the accumulator of a stage; null for a Map.
  llvm::Value* accumulator(const codegen::Stage& stage);
  void combine(std::size_t s, llvm::Value* sum);
  /// Prefix scan of a Running stage whose points are lanes: log2(lanes) rounds combine each lane
  /// with the lanes before it, then with `sum`, which holds the total of all earlier vectors in
  /// every lane.
  void scan_lanes(std::size_t s, llvm::Value* sum);
  llvm::Value* total(std::size_t s, llvm::Value* sum);
  /// Combines `old` with the value at this point; a sum of products uses fused multiply-add where
  /// the ISA has it.
  llvm::Value* combined(std::size_t s, DType dtype, llvm::Value* old);
  /// apply() by the stage's combiner; a maximum that need not propagate NaN takes one instruction.
  llvm::Value* joined(std::size_t s, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* apply(codegen::Combiner combiner, DType dtype, llvm::Value* x, llvm::Value* y);
  /// Reduces all lanes, upper half with lower half first: the order depends only on the number of
  /// lanes.
  llvm::Value* folded(std::size_t s, DType dtype, llvm::Value* x);
  // Reductions of MinMaxForm::KeepsSigns (emit_minmax.cpp).
  struct MinMax {
    llvm::Value *best = nullptr, *sign = nullptr, *nan = nullptr;  // variables
    llvm::Type *all = nullptr, *half = nullptr;  // types of sign and nan
  };
  MinMax begin_minmax(const codegen::Stage& stage, llvm::Value* best);
  void combine_minmax(const codegen::Stage& stage, const MinMax& so_far);
  llvm::Value* end_minmax(std::size_t s, const MinMax& so_far);
  /// Emits ArgMax: keeps the best value and its index in every lane, then reduces the lanes.
  void emit_arg_max(std::size_t s, const codegen::Stage& stage, const std::vector<int>& needed);
  /// Reduces the lanes to the index of the best value.
  llvm::Value* best_lane(DType dtype, llvm::Value* values, llvm::Value* indices);
  /// Whether x is better than `old`: larger, with NaN largest, or equal with a smaller index. An
  /// index that is not set is the largest number.
  llvm::Value* is_better(DType dtype, llvm::Value* x, llvm::Value* here, llvm::Value* old,
                         llvm::Value* old_index);

  // ---- values ----
  llvm::Value* splat_constant(DType dtype, std::uint64_t bits, llvm::Type* type);
  llvm::Value* constant(const codegen::Expression& x);
  bool in_vector() const { return width_ > 1; }
  llvm::Value* splat(llvm::Value* x);
  /// The value, as a vector in vector loops.
  llvm::Value* in_lanes(int expression);
  llvm::Value* axis_index(int axis);
  llvm::Value* value_of(int expression);
  /// The value of an Apply.
  llvm::Value* applied(int expression);

  // ---- memory ----
  struct Address {
    llvm::Value* pointer = nullptr;  // to the first lane's element, or one per lane
    bool contiguous = false;  // lanes are neighbours
    llvm::Value* allowed = nullptr;  // mask of lanes (or the scalar) to access; null: all
    llvm::Value* guard = nullptr;  // if contiguous: whether to access any lane; null: yes
  };
  /// The element offset of the first lane, without a dynamic index.
  llvm::Value* scalar_offset(const codegen::Access& access);
  /// Returns the address in the scratch row if the current loops use it, else in memory.
  Address address_of(int number);
  Address address_in_memory(int number);
  llvm::Value* same_shape(llvm::Value* scalar, llvm::Value* like);
  /// Emits the bounds check of a dynamic index: reports lanes that are out of range where `when`
  /// (null: always) holds, and returns the mask of lanes that are in range where it holds.
  llvm::Value* checked_index(int number, const codegen::Access& access, llvm::Value* index,
                             llvm::Value* when);
  void report(int number, llvm::Value* limit, llvm::Value* index, llvm::Value* bad);
  // Bounds checks once per row (emit_checked_rows.cpp).
  struct CheckedRow {
    llvm::Value* base = nullptr;  // the row's first element; a vector of zeros if out of range
    llvm::Value* mask = nullptr;  // of offsets in the row: all ones; 0 if the row is out of range
  };
  /// Checks the dynamic indices of the list's loads that the loop of axis `level` - 1 chooses
  /// (before all loops: level 0) and computes their rows, for the loops inside. REQUIRES: the
  /// loads run for every point of the loops inside.
  void check_rows(const std::vector<int>& list, int level);
  /// The address in a checked row. REQUIRES: checked_rows_[number].base.
  Address address_in_row(int number);
  llvm::Align alignment(DType dtype) const { return llvm::Align(dtype_bytes(dtype)); }
  llvm::Value* load(const codegen::Expression& x);
  /// Loads one element; where the access is not allowed, a zero from the stack.
  llvm::Value* load_scalar(const Address& from, llvm::Type* element, DType dtype);
  /// Loads one element for all lanes that are allowed; 0 for the others.
  llvm::Value* load_for_lanes(const Address& from, llvm::Type* element, DType dtype);
  /// Hides the mask from LLVM behind an empty inline assembly. Otherwise LLVM 22 loads without a
  /// mask for AVX2 where instruction selection finds that no lane of a register is allowed.
  llvm::Value* opaque(llvm::Value* mask, DType dtype);
  /// Loads contiguous lanes under a mask, one register at a time; 0 where not allowed.
  llvm::Value* masked_load(llvm::Value* pointer, llvm::VectorType* type, llvm::Value* allowed,
                           DType dtype);
  /// Loads contiguous lanes; 0 where not allowed. Without a masked load LLVM emits a branch per
  /// lane, so that vectors of which all lanes are allowed take a path of their own.
  llvm::Value* load_contiguous(llvm::Value* pointer, llvm::Type* type, llvm::Value* allowed,
                               DType dtype);
  bool has_masked_loads(DType dtype) const;
  /// The address of a zero of the type, on the stack.
  llvm::Value* zeros(llvm::Type* type);
  void store(const codegen::Store& one);
  void make_streaming(llvm::StoreInst* store);
  llvm::Value* load_at(const Address& from, bool vector, llvm::Value* allowed, DType dtype);
  void store_scalar(llvm::Value* raw, const Address& to, llvm::Type* element, DType dtype);
  llvm::Value* random(const codegen::Expression& x);

  // ---- streaming stores (emit_streams.cpp) ----
  /// Emits all loops twice: with streaming stores, and with plain ones where may_stream() is false.
  void streaming_loops();
  /// Whether at run time every streamed operand is aligned for streaming stores, none is another
  /// operand that is read (lines of such an operand are in the caches already), and the call is one
  /// for which streaming is faster (StreamSchedule::alone).
  llvm::Value* may_stream();

  // ---- scratch rows (emit_scratch_rows.cpp) ----
  /// Whether the current loops use the scratch row in place of the operand.
  bool uses_scratch(int operand) const {
    return is_streaming_ && operand >= 0 && operand == schedule_.streams.scratch_operand;
  }
  /// Whether the current loops store the operand's final values.
  bool stores_final_row(int operand) const {
    return uses_scratch(operand) && group_ == schedule_.groups.back().first;
  }
  Address address_in_scratch(const codegen::Access& access);
  /// Loops over the inner axis from the first whole cache line of the row on; before, under a mask.
  void loop_from_line(const std::function<void()>& body);

  // ---- prefetches (emit_prefetch.cpp, emit_gather_prefetch.cpp) ----
  llvm::Value* bytes_to_next_row(const codegen::Access& access, const PrefetchSite& site);
  /// Prefetches the elements of the next row at the position of `pointer` in this one.
  void prefetch_next_row(int access, llvm::Value* pointer, bool to_write);
  void prefetch_lines(llvm::Value* first, std::int64_t bytes, bool to_write);
  void prefetch_gathered_rows(int axis);
  void prefetch_row_ahead(const GatherPrefetch& prefetch);

  const codegen::Kernel& kernel_;
  std::vector<std::int64_t>* parameters_;
  llvm::Instruction* size_array_ = nullptr;
  std::vector<llvm::Value*> read_parameters_;
  llvm::IRBuilder<> b_;
  Emit e_;
  const CpuDescription cpu_;
  const CpuSchedule schedule_;
  int lanes_;  // of the current loops
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value *begin_ = nullptr, *end_ = nullptr, *out_of_range_ = nullptr, *seed_ = nullptr,
              *counter_ = nullptr;
  /// Whether no axis is empty; null: known, or of no interest. An index that no inner axis changes
  /// is loaded before their loops, and must not be reported if these are empty.
  llvm::Value* has_points_ = nullptr;
  std::vector<llvm::Value*> buffers_, sizes_;
  std::map<llvm::Type*, llvm::Value*> zeros_;
  KernelLevels levels_;
  // The state at the insertion point: computed values, and the loops around.
  std::vector<llvm::Value*> values_, index_, results_;
  std::vector<int> computed_;
  std::vector<CheckedRow> checked_rows_;  // of each access; no base: checked at every point
  int width_ = 1;
  llvm::Value* mask_ = nullptr;
  llvm::Value* scratch_row_ = nullptr;
  bool is_streaming_ = false;  // in the current loops
  std::size_t group_ = 0;  // the first stage of the current loops
  Tiles tiles_;
  std::vector<MinMax> minmax_;  // of each stage; empty where emit_minmax does not combine it
  Parts parts_;  // of the current loops
};

}  // namespace kiln::cpu
