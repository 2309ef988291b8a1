// The limits are far above what weight gradients need: their operands have up to 1.2 times the
// bytes of the residuals that the loop reads (LSTM, GRU, layer-norm LSTM).
#include "core/passes/stacking_budget.h"

#include <algorithm>

namespace kiln::passes {
namespace {

constexpr double kUnknownSize = 64;
constexpr double kMaxStackedRatio = 4;   // times the bytes of the loop's inputs and outputs
constexpr double kMaxBytes = 16 << 20;   // over all steps
constexpr double kFreeTrafficRatio = 16;  // traffic saved per byte that is stacked for free

}  // namespace

double nominal_bytes(const ir::Type& type) {
  auto bytes = static_cast<double>(dtype_bytes(type.dtype));
  for (const ir::Dim& dim : type.dims) {
    bytes *= dim.is_static() ? static_cast<double>(dim.value()) : kUnknownSize;
  }
  return bytes;
}

StackingBudget::StackingBudget(const ScanParts& parts) {
  double stacked = 0;
  for (const ir::Value& slice : parts.slices) stacked += nominal_bytes(slice.type());
  for (const ir::Value& y : parts.ys) stacked += nominal_bytes(y.type());
  left_ = kMaxStackedRatio * stacked;
  if (!parts.length.is_static()) return;
  const auto steps = static_cast<double>(std::max<std::int64_t>(parts.length.value(), 1));
  left_ = std::max(left_, kMaxBytes / steps);
}

bool StackingBudget::take(double bytes, double traffic) {
  const double charged = std::max(bytes - traffic / kFreeTrafficRatio, 0.0);
  if (charged > left_) return false;
  left_ -= charged;
  return true;
}

}  // namespace kiln::passes
