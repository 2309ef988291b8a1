// Checks the options that all optimisers have, and creates them.
#include "runtime/train/optimizer_impl.h"

#include "core/types/text.h"

#include <cmath>

namespace kiln::optimizers {
namespace {

void require_clipping(const CommonOptions& options, Call call) {
  const char* given = nullptr;
  const auto check = [&](const std::optional<double>& bound, const char* argument) {
    if (!bound) return;
    if (given != nullptr) {
      throw ValueError(call.function, argument,
                       text("only one of ", given, " and ", argument, " can be set"), call.where);
    }
    given = argument;
    if (std::isfinite(*bound) && *bound > 0) return;
    throw ValueError(call.function, argument,
                     text(argument, " ", *bound, " is not positive or not finite"), call.where);
  };
  check(options.clipnorm, "clipnorm");
  check(options.clipvalue, "clipvalue");
  check(options.global_clipnorm, "global_clipnorm");
}

void require_rate(const LearningRate& rate, Call call) {
  if (rate.is_number()) return require_not_negative(rate.number(), "learning_rate", call);
  if (rate.schedule()) return;
  throw ValueError(call.function, "learning_rate", "learning_rate is an empty function",
                   call.where);
}

}  // namespace

void require_betas(double beta_1, double beta_2, double epsilon, Call call) {
  require_range(beta_1, 0, 1, true, "beta_1", call);
  require_range(beta_2, 0, 1, true, "beta_2", call);
  require_not_negative(epsilon, "epsilon", call);
}

Tensor decayed_mean(const Tensor& mean, const Tensor& value, double decay) {
  return mean + (value - mean) * (1 - decay);
}

Optimizer make_optimizer(const CommonOptions& options, Rule rule, Call call) {
  require_rate(options.learning_rate, call);
  if (options.weight_decay) require_not_negative(*options.weight_decay, "weight_decay", call);
  require_clipping(options, call);
  const auto impl = std::make_shared<Optimizer::Impl>(options, std::move(rule));
  impl->iterations = variable(0, {.dtype = "int64", .name = options.name + "/iteration"});
  if (options.learning_rate.is_number()) {
    impl->rate =
        variable(options.learning_rate.number(), {.name = options.name + "/learning_rate"});
  }
  return Optimizer(impl);
}

}  // namespace kiln::optimizers
