// Activations by name.
#include <kiln/activation_argument.h>
#include <kiln/k.h>

#include "runtime/train/at_call.h"
#include "runtime/train/by_name.h"

namespace kiln {
namespace {

/// relu6(x + 3) / 6.
Tensor activation_hard_sigmoid(const Tensor& x) { return clip(x / 6.0 + 0.5, 0, 1); }

Tensor activation_hard_silu(const Tensor& x) { return x * activation_hard_sigmoid(x); }

Tensor activation_silu(const Tensor& x) { return x * sigmoid(x); }

/// Self-normalizing networks, Klambauer et al., 2017: 1.0507.. * elu(x, 1.6732..).
Tensor activation_selu(const Tensor& x) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return kScale * elu(x, {.alpha = kAlpha});
}

struct NamedActivation {
  const char* name;
  Tensor (*apply)(const Tensor&);
};

constexpr NamedActivation kActivations[] = {
    {"linear", nullptr},
    {"elu", [](const Tensor& x) { return elu(x); }},
    {"exponential", [](const Tensor& x) { return exp(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"hard_sigmoid", &activation_hard_sigmoid},
    {"hard_silu", &activation_hard_silu},
    {"hard_swish", &activation_hard_silu},
    {"leaky_relu", [](const Tensor& x) { return relu(x, {.alpha = 0.2}); }},
    {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
    {"mish", [](const Tensor& x) { return x * tanh(softplus(x)); }},
    {"relu", [](const Tensor& x) { return relu(x); }},
    {"relu6", [](const Tensor& x) { return relu(x, {.max_value = 6}); }},
    {"selu", &activation_selu},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    {"silu", &activation_silu},
    {"swish", &activation_silu},
    {"softmax", [](const Tensor& x) { return softmax(x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); }},
    {"softsign", [](const Tensor& x) { return softsign(x); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }}};

/// Empty for the identity.
ActivationArgument::Apply applied(const NamedActivation& activation, Where where) {
  if (activation.apply == nullptr) return {};
  return named_function(activation.name, where, activation.apply);
}

ActivationArgument::Apply activation_of(const std::string& name, Where where) {
  return named_call("activation", where, [&]() -> ActivationArgument::Apply {
    return applied(entry_named(kActivations, "activation", "activation", "activation", name, where),
                   where);
  });
}

}  // namespace

ActivationArgument::ActivationArgument(const char* name, Where where)
    : apply_(activation_of(name ? name : "", where)) {}
ActivationArgument::ActivationArgument(const std::string& name, Where where)
    : apply_(activation_of(name, where)) {}

}  // namespace kiln
