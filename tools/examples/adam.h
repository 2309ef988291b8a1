// The Adam optimiser as updates of a function.
#pragma once

#include <kiln/k.h>

#include <vector>

/// Updates of `weights` by one Adam step (D. Kingma and J. Ba, "Adam: a method for stochastic
/// optimization", 2015). `rate`: a number, or a scalar tensor where it changes.
inline std::vector<kiln::UpdateOp> adam(const kiln::Tensor& loss,
                                        const std::vector<kiln::Tensor>& weights,
                                        const kiln::Operand& rate) {
  namespace K = kiln;
  using K::Tensor;
  const Tensor count = K::zeros({}), t = count + 1.0;
  const Tensor step = rate * K::sqrt(1.0 - K::pow(0.999, t)) / (1.0 - K::pow(0.9, t));
  std::vector<K::UpdateOp> updates{K::update(count, t)};
  const std::vector<Tensor> gradients = K::gradients(loss, weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor &w = weights[i], &g = gradients[i];
    const Tensor m = K::zeros(K::int_shape(w)), v = K::zeros(K::int_shape(w));
    const Tensor new_m = 0.9 * m + 0.1 * g, new_v = 0.999 * v + 0.001 * K::square(g);
    const Tensor change = step * new_m / (K::sqrt(new_v) + 1e-8);
    updates.insert(updates.end(),
                   {K::update(m, new_m), K::update(v, new_v), K::update_sub(w, change)});
  }
  return updates;
}
