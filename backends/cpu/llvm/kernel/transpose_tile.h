// Transposes square tiles of a matrix in memory, in registers.
#pragma once

#include "backends/cpu/llvm/scalar/emit_context.h"

namespace kiln::cpu {

struct TileOperands {
  llvm::Value* from = nullptr;     // the first element
  llvm::Value* stride = nullptr;   // elements from one column of the result to the next
  llvm::Value* to = nullptr;       // lanes x lanes elements, aligned as a vector
  llvm::Value* rows = nullptr;     // of the result, at most as many as lanes
  llvm::Value* columns = nullptr;  // of the result, likewise; the rest of a row is undefined
  llvm::Value* ahead = nullptr;    // elements to the first one of a tile to prefetch; 0: none
};

/// to[row][column] = from[column * stride + row]. `vector`: lanes of integers, a power of two.
void transpose_tile(const Emit& e, llvm::FixedVectorType* vector, const TileOperands& tile);

}  // namespace kiln::cpu
