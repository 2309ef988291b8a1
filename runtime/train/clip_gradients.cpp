// Clips gradients by their norms, by their common norm, or by their values.
#include <kiln/clip_gradients.h>
#include <kiln/k.h>

#include "core/types/text.h"
#include "runtime/train/widened.h"

#include <cmath>

namespace kiln::optimizers {
namespace {

void require_bound(const char* function, const char* argument, double value, Where where) {
  if (std::isfinite(value) && value > 0) return;
  throw ValueError(function, argument, text(argument, " ", value, " is not positive or not finite"),
                   where);
}

/// Whether any gradient is float64.
bool any_float64(const std::vector<Tensor>& gradients) {
  bool any = false;
  for (const Tensor& g : gradients) any = any || dtype(g) == "float64";
  return any;
}

}  // namespace

Results<Tensor> clip_by_norm(const std::vector<Tensor>& gradients, double norm, Where where) {
  return named_call("clip_by_norm", where, [&] {
    require_bound("clip_by_norm", "norm", norm, where);
    Results<Tensor> clipped;
    for (const Tensor& g : gradients) {
      const Tensor wide = widened(g);
      const Tensor scaled = wide * norm / maximum(sqrt(sum(square(wide))), norm);
      clipped.push_back(cast(scaled, dtype(g)));
    }
    return clipped;
  });
}

Results<Tensor> clip_by_global_norm(const std::vector<Tensor>& gradients, double norm,
                                    Where where) {
  return named_call("clip_by_global_norm", where, [&] {
    require_bound("clip_by_global_norm", "norm", norm, where);
    if (gradients.empty()) return Results<Tensor>();
    const Tensor global = global_norm(gradients, where);
    // The difference is 0, or NaN for a norm that is not finite.
    const Tensor scale = norm / maximum(global, norm) + (global - global);
    Results<Tensor> clipped;
    for (const Tensor& g : gradients) clipped.push_back(g * cast(scale, dtype(g)));
    return clipped;
  });
}

Results<Tensor> clip_by_value(const std::vector<Tensor>& gradients, double value, Where where) {
  return named_call("clip_by_value", where, [&] {
    require_bound("clip_by_value", "value", value, where);
    Results<Tensor> clipped;
    for (const Tensor& g : gradients) clipped.push_back(clip(g, -value, value));
    return clipped;
  });
}

Tensor global_norm(const std::vector<Tensor>& gradients, Where where) {
  return named_call("global_norm", where, [&] {
    if (gradients.empty()) {
      throw ValueError("global_norm", "gradients", "gradients is empty", where);
    }
    const char* wide = any_float64(gradients) ? "float64" : "float32";
    Tensor squares = sum(square(cast(gradients[0], wide)));
    for (std::size_t i = 1; i < gradients.size(); ++i) {
      squares = squares + sum(square(cast(gradients[i], wide)));
    }
    return sqrt(squares);
  });
}

}  // namespace kiln::optimizers
