// Checks of the weights and gradients that optimisers get.
#pragma once

#include <kiln/k.h>

#include <string>
#include <vector>

namespace kiln::optimizers {

/// A call of the user: the function that errors name, and its line.
struct Call {
  const char* function;
  Where where;
};

/// A weight for messages: weights[1] 'kernel'.
std::string shown_weight(const std::vector<Tensor>& weights, std::size_t i);

/// ValueError or TypeError unless there are weights, and all are distinct floating-point variables
/// with distinct names, if any, which gradients may change.
void require_weights(const std::vector<Tensor>& weights, Call call);

/// ValueError or TypeError unless there is a gradient of its dtype and shape for each weight.
void require_gradients(const std::vector<Tensor>& gradients, const std::vector<Tensor>& weights,
                       Call call);

/// A shape for messages: (None, 3).
std::string shown_shape(const std::vector<std::optional<std::int64_t>>& dims);

/// ValueError unless `value` is in [low, high], or with `below_high` in [low, high).
void require_range(double value, double low, double high, bool below_high, const char* argument,
                   Call call);
/// ValueError unless `value` is finite and not negative.
void require_not_negative(double value, const char* argument, Call call);

}  // namespace kiln::optimizers
