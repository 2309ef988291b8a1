// vpermd chooses, for each lane, an element of a register. With AVX-512 a register holds the table
// twice, since the instruction reads four bits of an index.
#include "backends/cpu/llvm/scalar/vector_lookup.h"

#include "core/types/at.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>
#include <vector>

namespace kiln::cpu {
namespace {

using codegen::formulas::kLookupEntries;
using codegen::formulas::LookupTable;
using llvm::Value;

/// Lane numbers [first, first + count); -1 (no lane) from `limit` on.
std::vector<int> numbers(int first, int count, int limit) {
  std::vector<int> lanes(at(count));
  std::iota(lanes.begin(), lanes.end(), first);
  for (int& lane : lanes) lane = lane < limit ? lane : -1;
  return lanes;
}

int lanes_of(Value* x) {
  return static_cast<int>(llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements());
}

Value* register_of(const Emit& e, const LookupTable& table, int lanes) {
  std::vector<llvm::Constant*> entries;
  for (int i = 0; i < lanes; ++i) entries.push_back(e.b.getInt32(table[at(i) % kLookupEntries]));
  return llvm::ConstantVector::get(entries);
}

}  // namespace

Value* emit_lookup(const Emit& e, Value* index, const LookupTable& table) {
  if (!index->getType()->isVectorTy()) {
    Value* lane = e.b.CreateVectorSplat(kLookupEntries, index);
    return e.b.CreateExtractElement(emit_lookup(e, lane, table), std::uint64_t{0});
  }
  const bool is_wide = e.target.isa == Isa::Avx512;
  const auto permute =
      is_wide ? llvm::Intrinsic::x86_avx512_permvar_si_512 : llvm::Intrinsic::x86_avx2_permd;
  const int width = is_wide ? 16 : 8, lanes = lanes_of(index);
  Value* entries = register_of(e, table, width);
  std::vector<Value*> found;
  for (int first = 0; first < lanes; first += width) {
    Value* part =
        lanes == width ? index : e.b.CreateShuffleVector(index, numbers(first, width, lanes));
    found.push_back(e.b.CreateIntrinsic(permute, {}, {entries, part}));
  }
  Value* all = llvm::concatenateVectors(e.b, found);
  if (lanes_of(all) == lanes) return all;
  return e.b.CreateShuffleVector(all, numbers(0, lanes, lanes));
}

}  // namespace kiln::cpu
