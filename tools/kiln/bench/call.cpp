// Views are made once: a steady call does nothing but call_into.
#include "tools/kiln/bench/call.h"

#include <random>

namespace kiln::bench {
namespace {

struct Call {
  Function function;
  std::vector<Array> inputs, outputs;
  std::vector<ArrayView> input_views;
  std::vector<MutableArrayView> output_views;

  void operator()() const { function.call_into(input_views, output_views); }
};

}  // namespace

Array drawn(const std::vector<std::int64_t>& dims, double low, double high) {
  std::minstd_rand generator(1);
  std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
  Array array = Array::zeros(dims);
  for (float& value : array.as<float>()) value = uniform(generator);
  return array;
}

Array drawn_classes(const std::vector<std::int64_t>& dims, std::int64_t classes) {
  std::minstd_rand generator(2);
  std::uniform_int_distribution<std::int32_t> uniform(0, static_cast<std::int32_t>(classes) - 1);
  Array array = Array::zeros(dims, DType::Int32);
  for (std::int32_t& value : array.as<std::int32_t>()) value = uniform(generator);
  return array;
}

std::function<void()> call_of(const std::vector<Tensor>& placeholders,
                              const std::vector<Tensor>& outputs,
                              const std::vector<UpdateOp>& updates, std::vector<Array> inputs) {
  const auto call = std::make_shared<Call>();
  call->function = function(placeholders, outputs, {.updates = updates});
  call->inputs = std::move(inputs);
  call->outputs = call->function(call->inputs);
  for (const Array& input : call->inputs) {
    call->input_views.push_back({input.dtype(), input.data(), input.dims()});
  }
  for (Array& output : call->outputs) {
    call->output_views.push_back({output.dtype(), output.data(), output.dims()});
  }
  return [call] { (*call)(); };
}

}  // namespace kiln::bench
