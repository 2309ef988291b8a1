// Emits loops over row blocks (RowBlocks): lanes of a vector are points of several short rows.
#include "backends/cpu/llvm/kernel/kernel_emitter.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
using namespace codegen;
using llvm::Value;

void KernelEmitter::row_block_loops() {
  const int axis = row_axis();
  Value* first = axis == 0 ? begin_ : b_.getInt64(0);
  Value* last = axis == 0 ? end_ : size(kernel_.axes[at(axis)]);
  std::fill(index_.begin() + axis, index_.end(), b_.getInt64(0));
  load_repeated_rows();
  const int rows = schedule_.row_blocks.rows;
  Value* blocks = b_.CreateSDiv(b_.CreateSub(last, first), b_.getInt64(at(rows)));
  Value* whole = b_.CreateAdd(first, b_.CreateMul(blocks, b_.getInt64(at(rows))));
  loop(first, whole, rows, [&](Value* row) { row_block(row, nullptr); });
  llvm::LLVMContext& context = e_.module.getContext();
  auto* rest = llvm::BasicBlock::Create(context, "rest", function_);
  auto* after = llvm::BasicBlock::Create(context, "after", function_);
  b_.CreateCondBr(b_.CreateICmpSLT(whole, last), rest, after);
  b_.SetInsertPoint(rest);
  row_block(whole, b_.CreateMul(b_.CreateSub(last, whole), b_.getInt64(at(row_length()))));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  repeated_rows_.clear();
}

void KernelEmitter::row_block(Value* row, Value* points) {
  index_[at(row_axis())] = row;
  width_ = lanes_;
  for (block_vector_ = 0; block_vector_ < schedule_.row_blocks.vectors; ++block_vector_) {
    if (points) mask_ = lanes_before(b_.CreateSub(points, b_.getInt64(at(first_point()))));
    const std::size_t mark = computed_.size();
    compute(levels_.needed_everywhere(), kernel_.outer);
    outer_loops(kernel_.outer);
    forget(mark);
  }
  block_vector_ = -1;
  width_ = 1;
  mask_ = nullptr;
}

int MemoryEmitter::row_length() const {
  std::int64_t length = 1;
  for (int axis = row_axis() + 1; axis <= kernel_.vector_axis; ++axis) {
    length *= kernel_.axes[at(axis)].value();
  }
  return static_cast<int>(length);
}

int MemoryEmitter::index_of_point(int axis, int point) const {
  if (axis == row_axis()) return point / row_length();
  std::int64_t inside = 1;
  for (int later = axis + 1; later <= kernel_.vector_axis; ++later) {
    inside *= kernel_.axes[at(later)].value();
  }
  return static_cast<int>(point / inside % kernel_.axes[at(axis)].value());
}

int MemoryEmitter::index_of_lane(int axis, int lane) const {
  return in_row_block() ? index_of_point(axis, first_point() + lane) : lane;
}

std::vector<int> MemoryEmitter::indices_of_lanes(int axis) const {
  std::vector<int> indices;
  for (int lane = 0; lane < lanes_; ++lane) indices.push_back(index_of_lane(axis, lane));
  return indices;
}

Value* MemoryEmitter::constant_lanes(const std::vector<int>& numbers) {
  std::vector<llvm::Constant*> lanes;
  for (const int number : numbers) lanes.push_back(b_.getInt64(at(number)));
  return llvm::ConstantVector::get(lanes);
}

Value* MemoryEmitter::offsets_in_block(const Access& access) {
  Value* offsets = llvm::Constant::getNullValue(
      llvm::FixedVectorType::get(b_.getInt64Ty(), static_cast<unsigned>(lanes_)));
  for (int axis = row_axis(); axis <= kernel_.vector_axis; ++axis) {
    const ir::Dim& stride = access.strides[at(axis)];
    if (stride == ir::Dim(0)) continue;
    Value* along = b_.CreateMul(constant_lanes(indices_of_lanes(axis)),
                                b_.CreateVectorSplat(at(lanes_), size(stride)));
    offsets = b_.CreateAdd(offsets, along);
  }
  return offsets;
}

Value* MemoryEmitter::offset_in_row(const Access& access, int point) {
  Value* offset = b_.getInt64(0);
  for (int axis = row_axis() + 1; axis <= kernel_.vector_axis; ++axis) {
    Value* index = b_.getInt64(at(index_of_point(axis, point)));
    offset = b_.CreateAdd(offset, b_.CreateMul(index, size(access.strides[at(axis)])));
  }
  return offset;
}

void MemoryEmitter::load_repeated_rows() {
  for (const Expression& x : kernel_.expressions) {
    if (x.kind != ExpressionKind::Load) continue;
    const Access& access = kernel_.accesses[x.access];
    const auto first = access.strides.begin() + row_axis();
    const bool varies = std::any_of(first + 1, access.strides.end(),
                                    [](const ir::Dim& stride) { return stride != ir::Dim(0); });
    const bool repeats = !access.dynamic && *first == ir::Dim(0) && varies;
    if (!repeats || kernel_.operands[access.operand].written) continue;
    repeated_rows_[x.access] = load_row(access, x.dtype);
  }
}

Value* MemoryEmitter::load_row(const Access& access, DType dtype) {
  const int length = row_length();
  llvm::Type* element = e_.memory_type(dtype);
  Value* first = b_.CreateGEP(element, buffers_[access.operand], scalar_offset(access));
  Value* row =
      llvm::PoisonValue::get(llvm::FixedVectorType::get(element, static_cast<unsigned>(length)));
  for (int point = 0; point < length; ++point) {
    Value* from = b_.CreateGEP(element, first, offset_in_row(access, point));
    Value* loaded = b_.CreateAlignedLoad(element, from, alignment(dtype));
    row = b_.CreateInsertElement(row, loaded, at(point));
  }
  return row;
}

Value* MemoryEmitter::load_in_block(const Expression& x) {
  const Access& access = kernel_.accesses[x.access];
  if (const auto found = repeated_rows_.find(x.access); found != repeated_rows_.end()) {
    std::vector<int> points;
    for (int lane = 0; lane < lanes_; ++lane)
      points.push_back((first_point() + lane) % row_length());
    return b_.CreateShuffleVector(found->second, points);
  }
  const auto first = access.strides.begin() + row_axis();
  if (mask_ || access.dynamic || !first->is_one()) return nullptr;
  if (std::all_of(first + 1, access.strides.end(),
                  [](const ir::Dim& stride) { return stride == ir::Dim(0); })) {
    return b_.CreateShuffleVector(load_column(access, x.dtype, 0), indices_of_lanes(row_axis()));
  }
  return known_offsets(access) ? nullptr : load_planes(access, x.dtype);
}

Value* MemoryEmitter::load_column(const Access& access, DType dtype, int point) {
  llvm::Type* element = e_.memory_type(dtype);
  auto* type =
      llvm::FixedVectorType::get(element, static_cast<unsigned>(schedule_.row_blocks.rows));
  Value* offset = b_.CreateAdd(scalar_offset(access), offset_in_row(access, point));
  Value* from = b_.CreateGEP(element, buffers_[access.operand], offset);
  return b_.CreateAlignedLoad(type, from, alignment(dtype));
}

Value* MemoryEmitter::load_planes(const Access& access, DType dtype) {
  const std::vector<int> rows = indices_of_lanes(row_axis());
  Value* all = nullptr;
  for (int point = 0; point < row_length(); ++point) {
    std::vector<int> chosen, joined;
    for (int lane = 0; lane < lanes_; ++lane) {
      const bool is_here = (first_point() + lane) % row_length() == point;
      chosen.push_back(is_here ? rows[at(lane)] : -1);
      joined.push_back(is_here ? lane + lanes_ : lane);
    }
    Value* here = b_.CreateShuffleVector(load_column(access, dtype, point), chosen);
    all = all ? b_.CreateShuffleVector(all, here, joined) : here;
  }
  return all;
}

}  // namespace kiln::cpu
