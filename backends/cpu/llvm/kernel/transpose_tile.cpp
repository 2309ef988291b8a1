// Transposes a tile by log2(lanes) rounds of shuffles of two vectors each; partial tiles element by
// element where the ISA has no masked loads.
#include "backends/cpu/llvm/kernel/transpose_tile.h"

#include "backends/cpu/llvm/scalar/vector_function.h"

#include <string>

namespace kiln::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Value;

/// Exchanges the off-diagonal quarters of every square of 2 * `distance` vectors and lanes.
void exchange(const Emit& e, std::vector<Value*>& vectors, std::size_t distance) {
  const std::size_t lanes = vectors.size();
  std::vector<int> first, second;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const bool high = (lane & distance) != 0;
    first.push_back(static_cast<int>(high ? lane - distance + lanes : lane));
    second.push_back(static_cast<int>(high ? lane + lanes : lane + distance));
  }
  for (std::size_t i = 0; i < lanes; ++i) {
    if ((i & distance) != 0) continue;
    Value *x = vectors[i], *y = vectors[i + distance];
    vectors[i] = e.b.CreateShuffleVector(x, y, first);
    vectors[i + distance] = e.b.CreateShuffleVector(x, y, second);
  }
}

/// Whether loads under a mask are one instruction.
bool has_masked_loads(const Emit& e, llvm::FixedVectorType* vector) {
  if (e.target.isa == Isa::Avx512) return true;
  return e.target.isa == Isa::Avx2 && vector->getScalarSizeInBits() >= 32;
}

Value* lanes_below(const Emit& e, llvm::FixedVectorType* vector, Value* count) {
  const unsigned lanes = vector->getNumElements();
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) numbers.push_back(lane);
  Value* limit = e.b.CreateVectorSplat(lanes, e.b.CreateTrunc(count, e.b.getInt32Ty()));
  return e.b.CreateICmpSLT(llvm::ConstantDataVector::get(e.b.getContext(), numbers), limit);
}

/// Loads a column; in a partial tile, columns after the last one load the last one again.
Value* load_column(const Emit& e, llvm::FixedVectorType* vector, const TileOperands& tile,
                   std::uint64_t number, Value* mask) {
  const llvm::Align element(vector->getScalarSizeInBits() / 8);
  Value* column = e.b.getInt64(number);
  if (mask) {
    Value* most = e.b.CreateSub(tile.columns, e.b.getInt64(1));
    column = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, column, most);
  }
  Value* offset = e.b.CreateMul(tile.stride, column);
  Value* from = e.b.CreateGEP(vector->getElementType(), tile.from, offset);
  if (!mask) return e.b.CreateAlignedLoad(vector, from, element);
  return e.b.CreateMaskedLoad(vector, from, element, mask, llvm::Constant::getNullValue(vector));
}

/// Prefetches all columns of a tile into the L2 cache: at a stride of a power of two, their lines
/// would evict each other from the L1 cache.
void emit_prefetches(const Emit& e, llvm::FixedVectorType* vector, Value* from, Value* stride) {
  constexpr int kRead = 0, kIntoL2 = 2, kData = 1;
  for (std::uint64_t i = 0; i < vector->getNumElements(); ++i) {
    Value* column = e.b.CreateMul(stride, e.b.getInt64(i));
    Value* line = e.b.CreateGEP(vector->getElementType(), from, column);
    e.b.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()},
                        {line, e.b.getInt32(kRead), e.b.getInt32(kIntoL2), e.b.getInt32(kData)});
  }
}

/// `mask`: the rows that are read; null: a whole tile.
void emit_vectors(const Emit& e, llvm::FixedVectorType* vector, const TileOperands& tile,
                  Value* mask) {
  const std::size_t lanes = vector->getNumElements();
  std::vector<Value*> vectors;
  for (std::size_t i = 0; i < lanes; ++i) {
    vectors.push_back(load_column(e, vector, tile, i, mask));
  }
  for (std::size_t distance = lanes / 2; distance > 0; distance /= 2) {
    exchange(e, vectors, distance);
  }
  for (std::size_t i = 0; i < lanes; ++i) {
    e.b.CreateStore(vectors[i], e.b.CreateConstGEP1_64(vector, tile.to, i));
  }
}

/// for (i = 0; i < count; ++i) body(i), with a count of at least 1.
template <class Body>
void repeat(const Emit& e, Value* count, const Body& body) {
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  BasicBlock* before = e.b.GetInsertBlock();
  BasicBlock* inside = BasicBlock::Create(e.b.getContext(), "inside", function);
  BasicBlock* after = BasicBlock::Create(e.b.getContext(), "after", function);
  e.b.CreateBr(inside);
  e.b.SetInsertPoint(inside);
  llvm::PHINode* index = e.b.CreatePHI(e.b.getInt64Ty(), 2);
  index->addIncoming(e.b.getInt64(0), before);
  body(index);
  Value* next = e.b.CreateAdd(index, e.b.getInt64(1));
  index->addIncoming(next, e.b.GetInsertBlock());
  e.b.CreateCondBr(e.b.CreateICmpSLT(next, count), inside, after);
  e.b.SetInsertPoint(after);
}

void emit_elements(const Emit& e, llvm::FixedVectorType* vector, const TileOperands& tile) {
  llvm::Type* element = vector->getElementType();
  repeat(e, tile.columns, [&](Value* column) {
    Value* from = e.b.CreateGEP(element, tile.from, e.b.CreateMul(tile.stride, column));
    repeat(e, tile.rows, [&](Value* row) {
      Value* lanes = e.b.getInt64(vector->getNumElements());
      Value* to = e.b.CreateGEP(element, tile.to, e.b.CreateAdd(e.b.CreateMul(row, lanes), column));
      e.b.CreateStore(e.b.CreateLoad(element, e.b.CreateGEP(element, from, row)), to);
    });
  });
}

void emit_function(const Emit& e, llvm::FixedVectorType* vector, llvm::Function* function) {
  const TileOperands tile{function->getArg(0), function->getArg(1), function->getArg(2),
                          function->getArg(3), function->getArg(4), function->getArg(5)};
  Value* lanes = e.b.getInt64(vector->getNumElements());
  BasicBlock* prefetches = BasicBlock::Create(e.b.getContext(), "prefetches", function);
  BasicBlock* after = BasicBlock::Create(e.b.getContext(), "after", function);
  BasicBlock* whole = BasicBlock::Create(e.b.getContext(), "whole", function);
  BasicBlock* partial = BasicBlock::Create(e.b.getContext(), "partial", function);
  e.b.CreateCondBr(e.b.CreateICmpEQ(tile.ahead, e.b.getInt64(0)), after, prefetches);
  e.b.SetInsertPoint(prefetches);
  Value* ahead = e.b.CreateGEP(vector->getElementType(), tile.from, tile.ahead);
  emit_prefetches(e, vector, ahead, tile.stride);
  e.b.CreateBr(after);
  e.b.SetInsertPoint(after);
  Value* is_whole =
      e.b.CreateAnd(e.b.CreateICmpEQ(tile.rows, lanes), e.b.CreateICmpEQ(tile.columns, lanes));
  e.b.CreateCondBr(is_whole, whole, partial);
  e.b.SetInsertPoint(whole);
  emit_vectors(e, vector, tile, nullptr);
  e.b.CreateRetVoid();
  e.b.SetInsertPoint(partial);
  if (has_masked_loads(e, vector)) {
    emit_vectors(e, vector, tile, lanes_below(e, vector, tile.rows));
  } else {
    emit_elements(e, vector, tile);
  }
  e.b.CreateRetVoid();
}

}  // namespace

void transpose_tile(const Emit& e, llvm::FixedVectorType* vector, const TileOperands& tile) {
  const std::string name = "kiln_tile_" + std::to_string(vector->getNumElements()) + "_" +
                           std::to_string(vector->getScalarSizeInBits());
  llvm::Function* function = e.module.getFunction(name);
  if (!function) {
    llvm::Type *pointer = e.b.getPtrTy(), *integer = e.b.getInt64Ty();
    auto* type = llvm::FunctionType::get(
        e.b.getVoidTy(), {pointer, integer, pointer, integer, integer, integer}, false);
    function = add_function(e, name, type);
    llvm::IRBuilder<> b(BasicBlock::Create(e.b.getContext(), "entry", function));
    emit_function(Emit{b, e.module, e.target}, vector, function);
  }
  e.b.CreateCall(function, {tile.from, tile.stride, tile.to, tile.rows, tile.columns, tile.ahead});
}

}  // namespace kiln::cpu
