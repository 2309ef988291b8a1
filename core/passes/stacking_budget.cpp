// The proportions are far from those of weight gradients, whose operands have up to 1.2 times the
// bytes of the residuals that the loop reads (LSTM, GRU, layer-norm LSTM).
#include "core/passes/stacking_budget.h"

#include <algorithm>

namespace kiln::passes {
namespace {

constexpr double kUnknownSize = 64;
constexpr double kMaxOfStacked = 4;          // times the bytes of inputs and outputs
constexpr double kMaxBytes = 16 << 20;       // over all steps
constexpr double kMinTrafficSaved = 16;      // times the bytes that are stacked

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
  left_ = kMaxOfStacked * stacked;
  if (!parts.length.is_static()) return;
  const auto steps = static_cast<double>(std::max<std::int64_t>(parts.length.value(), 1));
  left_ = std::max(left_, kMaxBytes / steps);
}

bool StackingBudget::take(double bytes, double traffic) {
  const double charged = std::max(bytes - traffic / kMinTrafficSaved, 0.0);
  if (charged > left_) return false;
  left_ -= charged;
  return true;
}

}  // namespace kiln::passes
