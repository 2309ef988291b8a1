// Emits loads of lanes at small constant distances: a few contiguous vectors, whose elements are
// shuffled, in place of a gather.
#include "backends/cpu/llvm/kernel/memory_emitter.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
using namespace codegen;
using llvm::Value;

namespace {

/// Vectors from the first to the last element of the lanes; a gather is faster than more of them.
constexpr std::int64_t kMaxWindows = 8;

}  // namespace

std::optional<std::vector<std::int64_t>> MemoryEmitter::known_offsets(const Access& access) const {
  std::vector<std::int64_t> offsets(at(lanes_));
  const int first = in_row_block() ? row_axis() : kernel_.vector_axis;
  for (int axis = first; axis <= kernel_.vector_axis; ++axis) {
    const ir::Dim& stride = access.strides[at(axis)];
    const std::int64_t most = kMaxWindows * lanes_;
    if (!stride.is_static() || stride.value() > most || stride.value() < -most) return std::nullopt;
    for (int lane = 0; lane < lanes_; ++lane) {
      offsets[at(lane)] += stride.value() * index_of_lane(axis, lane);
    }
  }
  return offsets;
}

Value* MemoryEmitter::load_windows(const Expression& x) {
  const Access& access = kernel_.accesses[x.access];
  const bool is_plain = !access.dynamic && !access.when && !uses_scratch(access.operand);
  if (mask_ || !in_vector() || !is_plain || !varies_in_lanes(access)) return nullptr;
  if (has_neighbours_in_lanes(access)) return nullptr;
  const auto offsets = known_offsets(access);
  if (!offsets) return nullptr;
  const auto [least, most] = std::minmax_element(offsets->begin(), offsets->end());
  const std::int64_t span = *most - *least + 1, count = (span + lanes_ - 1) / lanes_;
  if (span < lanes_ || count > kMaxWindows) return nullptr;
  llvm::Type* element = e_.memory_type(x.dtype);
  auto* type = llvm::FixedVectorType::get(element, at(lanes_));
  Value* first = b_.CreateGEP(element, buffers_[access.operand], scalar_offset(access));
  Value* all = nullptr;
  for (std::int64_t window = 0; window < count; ++window) {
    // The last window ends at the last lane: memory beyond it may not be the operand's.
    const std::int64_t begin = *least + std::min(window * lanes_, span - lanes_);
    Value* from = b_.CreateConstGEP1_64(element, first, static_cast<std::uint64_t>(begin));
    Value* here = b_.CreateAlignedLoad(type, from, alignment(x.dtype));
    std::vector<int> chosen;
    for (int lane = 0; lane < lanes_; ++lane) {
      const std::int64_t offset = (*offsets)[at(lane)];
      const bool is_here = (offset - *least) / lanes_ == window;
      const int before = all ? lane : -1;
      chosen.push_back(is_here ? static_cast<int>(offset - begin) + (all ? lanes_ : 0) : before);
    }
    all = all ? b_.CreateShuffleVector(all, here, chosen) : b_.CreateShuffleVector(here, chosen);
  }
  return all;
}

}  // namespace kiln::cpu
