// Emits loads, stores and prefetches of lanes at the insertion point: addresses in emit_memory.cpp,
// checked rows in emit_checked_rows.cpp, prefetches in emit_prefetch.cpp, scratch rows in
// emit_scratch_rows.cpp, lanes of several rows in emit_row_blocks.cpp,
// lanes at constant distances in emit_windows.cpp.
#pragma once

#include "backends/cpu/llvm/kernel/function_frame.h"
#include "backends/cpu/schedule/cpu_schedule.h"

#include <map>
#include <optional>

namespace kiln::cpu {

/// The nearest cache that a prefetch fills, as LLVM numbers them. Lines of rows that a power of two
/// separates share a set of the L1 cache and would evict each other.
enum class Locality : unsigned { L2 = 2, L1 = 3 };

class MemoryEmitter : protected FunctionFrame {
 protected:
  struct Address {
    llvm::Value* pointer = nullptr;  // to the first lane's element, or one per lane
    bool contiguous = false;  // lanes are neighbours
    llvm::Value* allowed = nullptr;  // mask of lanes (or the scalar) to access; null: all
    llvm::Value* guard = nullptr;  // if contiguous: whether to access any lane; null: yes
  };
  // Bounds checks once per row (emit_checked_rows.cpp).
  struct CheckedRow {
    llvm::Value* base = nullptr;  // the row's first element; a vector of zeros if out of range
    llvm::Value* mask = nullptr;  // of offsets in the row: all ones; 0 if the row is out of range
  };
  /// The tiles of the current loops.
  struct Tiles {
    IdVector<AccessId, llvm::Value*> memory;  // the transposed tile
    IdVector<AccessId, llvm::Value*> ahead;  // TileOperands::ahead
    llvm::Value* row = nullptr;  // index of the row, within the loop over a tile's rows
  };

  /// See FunctionFrame. Schedules the kernel.
  MemoryEmitter(llvm::Module& module, const codegen::Kernel& kernel, const IsaTarget& target,
                std::vector<std::int64_t>* parameters);
  /// The mask of the lanes below `count`.
  llvm::Value* lanes_before(llvm::Value* count);
  llvm::Value* lane_numbers(llvm::Type* type);
  bool in_vector() const { return width_ > 1; }
  llvm::Value* splat(llvm::Value* x);
  llvm::Value* same_shape(llvm::Value* scalar, llvm::Value* like);
  /// Whether lanes of the current vector access different elements; whether those are neighbours.
  bool varies_in_lanes(const codegen::Access& access) const;
  bool has_neighbours_in_lanes(const codegen::Access& access) const;
  /// The element offset of the first lane, without a dynamic index.
  llvm::Value* scalar_offset(const codegen::Access& access);
  /// Returns the address in the scratch row if the current loops use it, else in memory.
  Address address_of(AccessId id);
  Address address_in_memory(AccessId id);
  /// Emits the bounds check of a dynamic index: reports lanes that are out of range where `when`
  /// (null: always) holds, and returns the mask of lanes that are in range where it holds.
  llvm::Value* checked_index(AccessId id, const codegen::Access& access, llvm::Value* index,
                             llvm::Value* when);
  void report(AccessId id, llvm::Value* limit, llvm::Value* index, llvm::Value* bad);
  /// Checks the dynamic indices of the list's loads that the loop of axis `level` - 1 chooses
  /// (before all loops: level 0) and computes their rows, for the loops inside. REQUIRES: the
  /// loads run for every point of the loops inside.
  void check_rows(const std::vector<ExpressionId>& list, int level);
  /// The address in a checked row. REQUIRES: checked_rows_[id].base.
  Address address_in_row(AccessId id);
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
  /// Whether the current loops use the scratch row in place of the operand.
  bool uses_scratch(OperandId operand) const {
    return is_streaming_ && operand && operand == schedule_.streams.scratch_operand;
  }
  /// Whether the current loops store the operand's final values.
  bool stores_final_row(OperandId operand) const {
    return uses_scratch(operand) && group_ == schedule_.groups.back().first;
  }
  Address address_in_scratch(const codegen::Access& access);
  llvm::Value* bytes_to_next_row(const codegen::Access& access, const PrefetchSite& site);
  /// Prefetches the elements of the next row at the position of `pointer` in this one.
  void prefetch_next_row(AccessId id, llvm::Value* pointer, bool to_write);
  void prefetch_lines(llvm::Value* first, std::int64_t bytes, bool to_write,
                      Locality locality = Locality::L1);
  llvm::Value* row_of_tile(const codegen::Expression& x);

  /// The element offsets of the lanes from the first point, if strides are static and small.
  std::optional<std::vector<std::int64_t>> known_offsets(const codegen::Access& access) const;
  /// The elements in memory of a load whose lanes are at small constant distances; null: it has to
  /// gather them.
  llvm::Value* load_windows(const codegen::Expression& x);

  // Row blocks (emit_row_blocks.cpp).
  bool in_row_block() const { return block_vector_ >= 0; }
  /// The axis along which rows follow each other; those after it are in the row.
  int row_axis() const { return kernel_.vector_axis - schedule_.row_blocks.axes; }
  int row_length() const;
  /// The point of the block at lane 0 of the current vector.
  int first_point() const { return block_vector_ * lanes_; }
  /// The index along the axis of a point of the block, or of a lane of the current vector, from the
  /// first point or lane.
  int index_of_point(int axis, int point) const;
  int index_of_lane(int axis, int lane) const;
  std::vector<int> indices_of_lanes(int axis) const;
  llvm::Value* constant_lanes(const std::vector<int>& numbers);  // int64
  /// The element offsets of the lanes from the block's first point.
  llvm::Value* offsets_in_block(const codegen::Access& access);
  /// Loads the operands that are the same in all rows, before the loop over rows.
  void load_repeated_rows();
  llvm::Value* load_row(const codegen::Access& access, DType dtype);
  /// The elements in memory of a load whose lanes are no neighbours; null: it has to gather them.
  llvm::Value* load_in_block(const codegen::Expression& x);
  /// Loads a point of the row for all rows of the block, which are neighbours.
  llvm::Value* load_column(const codegen::Access& access, DType dtype, int point);
  /// Loads columns, each of them contiguous, and interleaves them.
  llvm::Value* load_planes(const codegen::Access& access, DType dtype);
  /// The element offset of a point of the row from its first one.
  llvm::Value* offset_in_row(const codegen::Access& access, int point);

  const CpuDescription cpu_;
  const CpuSchedule schedule_;
  const KernelLevels levels_;
  int lanes_;  // of the current loops
  int width_ = 1;  // lanes of values at the insertion point: lanes_, or 1 outside of vector loops
  llvm::Value* mask_ = nullptr;  // of lanes to compute; null: all
  IdVector<ExpressionId, llvm::Value*> values_;  // null: not computed
  std::vector<llvm::Value*> index_;  // along each axis
  IdVector<AccessId, CheckedRow> checked_rows_;  // no base: checked at every point
  Tiles tiles_;
  int block_vector_ = -1;  // the vector of the row block; -1: no such block
  std::map<AccessId, llvm::Value*> repeated_rows_;  // one row, as it is in memory
  bool is_streaming_ = false;  // in the current loops
  StageId group_{0};  // the first stage of the current loops

 private:
  std::map<llvm::Type*, llvm::Value*> zeros_;
  llvm::Value* scratch_row_ = nullptr;
};

}  // namespace kiln::cpu
