// Calls the state of an optimiser for its users.
#include "runtime/train/optimizer_impl.h"

#include "core/types/text.h"

namespace kiln::optimizers {

Optimizer::Impl& Optimizer::impl(const char* function, Where where) const {
  if (impl_ == nullptr) throw ValueError(function, "", "the optimiser is empty", where);
  return *impl_;
}

Results<UpdateOp> Optimizer::minimize(const Operand& loss, const std::vector<Tensor>& weights,
                                      Where where) const {
  return named_call("minimize", where, [&] {
    Impl& state = impl("minimize", where);
    state.check(weights, {"minimize", where});
    return state.updates(gradients(loss, weights), weights, {"minimize", where});
  });
}

Results<UpdateOp> Optimizer::updates(const std::vector<Tensor>& gradients,
                                     const std::vector<Tensor>& weights, Where where) const {
  return named_call("updates", where, [&] {
    return impl("updates", where).updates(gradients, weights, {"updates", where});
  });
}

void Optimizer::build(const std::vector<Tensor>& weights, Where where) const {
  named_call("build", where, [&] {
    Impl& state = impl("build", where);
    state.check(weights, {"build", where});
    state.create(weights);
  });
}

Results<Tensor> Optimizer::variables(Where where) const {
  return named_call("variables", where, [&] {
    const Impl& impl = this->impl("variables", where);
    impl.require_complete({"variables", where});
    Results<Tensor> all{impl.iterations};
    if (!impl.rate.empty()) all.push_back(impl.rate);
    if (!impl.state) return all;
    if (!impl.state->shared.empty()) all.push_back(impl.state->shared);
    for (const std::vector<Tensor>& slots : impl.state->slots) {
      all.insert(all.end(), slots.begin(), slots.end());
    }
    return all;
  });
}

Tensor Optimizer::iterations(Where where) const { return impl("iterations", where).iterations; }

double Optimizer::learning_rate(Where where) const {
  return named_call("learning_rate", where, [&] {
    const Tensor rate = impl("learning_rate", where).current_rate({"learning_rate", where});
    return eval(cast(rate, "float64")).item<double>();
  });
}

void Optimizer::set_learning_rate(double rate, Where where) const {
  named_call("set_learning_rate", where, [&] {
    const Impl& impl = this->impl("set_learning_rate", where);
    if (impl.rate.empty()) {
      throw TypeError("set_learning_rate", "rate",
                      text("the learning rate of '", impl.options.name,
                           "' is a schedule or a tensor, which cannot be set"),
                      where);
    }
    require_not_negative(rate, "rate", {"set_learning_rate", where});
    set_value(impl.rate, rate);
  });
}

void Optimizer::exclude_from_weight_decay(const std::vector<Tensor>& weights, Where where) const {
  named_call("exclude_from_weight_decay", where, [&] {
    Impl& impl = this->impl("exclude_from_weight_decay", where);
    if (impl.state) {
      throw ValueError("exclude_from_weight_decay", "weights",
                       text("the state of '", impl.options.name, "' is built already"), where);
    }
    impl.without_decay = weights;
  });
}

std::string Optimizer::name(Where where) const { return impl("name", where).options.name; }

}  // namespace kiln::optimizers
