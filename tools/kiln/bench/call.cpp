// Views are made once: a steady call does nothing but call_into, or operator().
#include "tools/kiln/bench/call.h"

#include <algorithm>
#include <array>
#include <deque>
#include <random>

namespace kiln::bench {
namespace {

/// The number of drawn elements, after which they repeat; a prime, so that rows of a matrix differ.
constexpr std::size_t kDrawn = 1000003;

struct Call {
  Function function;
  std::vector<Array> inputs, outputs;
  std::vector<ArrayView> input_views;
  std::vector<MutableArrayView> output_views;

  void into() const { function.call_into(input_views, output_views); }
  void give_arrays() const { function(inputs); }
};

template <class Element, class Draw>
Array filled(const std::vector<std::int64_t>& dims, DType dtype, const Draw& draw) {
  Array array = Array::zeros(dims, dtype);
  const auto values = array.as<Element>();
  const std::size_t count = std::min(values.size(), kDrawn);
  std::generate_n(values.begin(), count, draw);
  for (std::size_t i = count; i < values.size(); ++i) values[i] = values[i - kDrawn];
  return array;
}

/// Calls the function once, for the shapes of its outputs.
std::shared_ptr<Call> prepared_call(Function function, std::vector<Array> inputs) {
  const auto call = std::make_shared<Call>();
  call->function = std::move(function);
  call->inputs = std::move(inputs);
  call->outputs = call->function(call->inputs);
  for (const Array& input : call->inputs) {
    call->input_views.push_back({input.dtype(), input.data(), input.dims()});
  }
  for (Array& output : call->outputs) {
    call->output_views.push_back({output.dtype(), output.data(), output.dims()});
  }
  return call;
}

/// Calls whose results but the first are inputs of the next call, in two sets of buffers that take
/// turns.
class GrowingCall {
 public:
  GrowingCall(Function function, std::vector<Array> first, std::int64_t steps)
      : function_(std::move(function)), first_(std::move(first)), steps_(steps) {
    std::vector<Array> inputs = first_;
    std::vector<std::vector<Array>> results;
    for (std::int64_t i = 0; i < steps; ++i) results.push_back(next(inputs));
    buffers_[0] = results.back();
    for (const Array& last : results.back()) {
      buffers_[1].push_back(Array::zeros(last.dims(), last.dtype()));
    }
    for (const std::vector<Array>& arrays : results) {
      std::vector<std::vector<std::int64_t>>& dims = dims_.emplace_back();
      for (const Array& array : arrays) dims.push_back(array.dims());
    }
    add_views();
  }

  void into() const {
    for (const Views& step : views_) function_.call_into(step.inputs, step.outputs);
  }
  void give_arrays() const {
    std::vector<Array> inputs = first_;
    for (std::int64_t i = 0; i < steps_; ++i) next(inputs);
  }
  FunctionStats stats() const { return function_.stats(); }

 private:
  struct Views {
    std::vector<ArrayView> inputs;
    std::vector<MutableArrayView> outputs;
  };

  /// Calls the function; the results but the first replace the inputs but the first.
  std::vector<Array> next(std::vector<Array>& inputs) const {
    std::vector<Array> results = function_(inputs);
    std::copy(results.begin() + 1, results.end(), inputs.begin() + 1);
    return results;
  }

  void add_views() {
    std::vector<ArrayView> inputs;
    for (const Array& array : first_) inputs.push_back({array.dtype(), array.data(), array.dims()});
    for (const auto& dims : dims_) {
      std::vector<Array>& buffers = buffers_[views_.size() % 2];
      Views& step = views_.emplace_back(Views{.inputs = inputs, .outputs = {}});
      for (std::size_t i = 0; i < dims.size(); ++i) {
        step.outputs.push_back({buffers[i].dtype(), buffers[i].data(), dims[i]});
        if (i != 0) inputs[i] = {buffers[i].dtype(), buffers[i].data(), dims[i]};
      }
    }
  }

  Function function_;
  std::vector<Array> first_;
  std::int64_t steps_;
  std::array<std::vector<Array>, 2> buffers_;  // of the size of the last results
  std::deque<std::vector<std::vector<std::int64_t>>> dims_;  // by step and result
  std::vector<Views> views_;
};

Work work_of(const std::vector<Tensor>& placeholders, const std::vector<Tensor>& outputs,
             const std::vector<UpdateOp>& updates, std::vector<Array> inputs) {
  const auto call =
      prepared_call(function(placeholders, outputs, {.updates = updates}), std::move(inputs));
  return {[call] { call->into(); }, [call] { call->give_arrays(); },
          [call] { return call->function.stats(); }};
}

}  // namespace

Array drawn(const std::vector<std::int64_t>& dims, double low, double high) {
  std::minstd_rand generator(1);
  std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
  return filled<float>(dims, DType::Float32, [&] { return uniform(generator); });
}

Array drawn_classes(const std::vector<std::int64_t>& dims, std::int64_t classes) {
  std::minstd_rand generator(2);
  std::uniform_int_distribution<std::int32_t> uniform(0, static_cast<std::int32_t>(classes) - 1);
  return filled<std::int32_t>(dims, DType::Int32, [&] { return uniform(generator); });
}

Work rotating_work(const Function& function, const std::vector<std::vector<Array>>& feeds) {
  std::vector<std::shared_ptr<Call>> calls;
  for (const std::vector<Array>& inputs : feeds) calls.push_back(prepared_call(function, inputs));
  return {[calls] {
            for (const auto& call : calls) call->into();
          },
          [calls] {
            for (const auto& call : calls) call->give_arrays();
          },
          [function] { return function.stats(); }};
}

Work growing_work(const Function& function, const std::vector<Array>& first, std::int64_t steps) {
  const auto call = std::make_shared<GrowingCall>(function, first, steps);
  return {[call] { call->into(); }, [call] { call->give_arrays(); },
          [call] { return call->stats(); }};
}

Tensor WorkBuilder::input(Array value) {
  if (memory_ == Memory::Device) return variable(value, {.dtype = value.dtype()});
  const std::vector<std::int64_t> dims = value.dims();
  return placeholder_for(std::move(value), dims);
}

Tensor WorkBuilder::placeholder_for(Array value, const Shape& shape) {
  placeholders_.push_back(placeholder({.shape = shape, .dtype = value.dtype()}));
  values_.push_back(std::move(value));
  return placeholders_.back();
}

Work WorkBuilder::work(const std::vector<Tensor>& outputs,
                       const std::vector<UpdateOp>& updates) const {
  if (memory_ == Memory::Host) return work_of(placeholders_, outputs, updates, values_);
  std::vector<UpdateOp> all = updates;
  for (const Tensor& output : outputs) {
    all.push_back(update(zeros(int_shape(output), {.dtype = dtype(output)}), output));
  }
  return work_of(placeholders_, {}, all, values_);
}

}  // namespace kiln::bench
