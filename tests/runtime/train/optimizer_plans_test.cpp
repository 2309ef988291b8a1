// Tests that the plan of a training step computes the updates of all weights in one parallel
// region, after the scalars of the step and the norm of all gradients.
#include "tests/support/catch.h"
#include "tests/support/plan_text.h"
#include "tests/support/scratch.h"

#include <kiln/train.h>

#include <functional>

namespace kiln {
namespace {

using optimizers::Optimizer;

/// Options that all optimisers have; unset ones keep their defaults.
struct Extra {
  std::optional<double> weight_decay = {}, clipvalue = {}, global_clipnorm = {};
};

struct PlanRow {
  const char* name;
  std::function<Optimizer(const Extra&)> make;
};

template <class Options>
Options with(const Extra& extra, Options options) {
  if (extra.weight_decay) options.weight_decay = extra.weight_decay;
  options.clipvalue = extra.clipvalue;
  options.global_clipnorm = extra.global_clipnorm;
  return options;
}

/// The plan of a step along gradients that are inputs, one for each size.
testing::PlanText plan_of(const Optimizer& optimizer, const std::vector<std::int64_t>& sizes) {
  std::vector<Tensor> weights, slopes;
  for (const std::int64_t size : sizes) {
    weights.push_back(zeros({size}));
    slopes.push_back(placeholder({.shape = {size}}));
  }
  const testing::Scratch scratch;
  function(slopes, {}, {.updates = optimizer.updates(slopes, weights)})
      .dump(scratch.folder(), Stage::Plan);
  return testing::PlanText(scratch.path("52-plan.txt"));
}

void check_plan(const testing::PlanText& plan, std::size_t weights) {
  std::size_t tensors = 0;
  for (std::size_t i = 0; i < plan.results.size(); ++i) {
    if (plan.types[i].find("[]") != std::string::npos) continue;  // the step's number, u_product
    ++tensors;
    INFO("result " << i << " at " << plan.results[i]);
    CHECK(plan.writes(plan.region, i));
    CHECK_FALSE(plan.writes(plan.before, i));
  }
  CHECK(tensors >= weights);
}

/// So many weights of one size that they need several kernels, and weights of two other sizes.
std::vector<std::int64_t> many_sizes() {
  std::vector<std::int64_t> sizes(24, 8);
  sizes.insert(sizes.end(), {9, 9, 40});
  return sizes;
}

}  // namespace

TEST_CASE("optimizer plans: all updates of tensors are in one region") {
  using namespace optimizers;
  const std::vector<PlanRow> rows{
      {"SGD", [](const Extra& e) { return SGD(with(e, SGDOptions())); }},
      {"momentum", [](const Extra& e) { return SGD(with(e, SGDOptions{.momentum = 0.9})); }},
      {"Nesterov",
       [](const Extra& e) { return SGD(with(e, SGDOptions{.momentum = 0.9, .nesterov = true})); }},
      {"RMSprop", [](const Extra& e) { return RMSprop(with(e, RMSpropOptions())); }},
      {"RMSprop, centered",
       [](const Extra& e) {
         return RMSprop(with(e, RMSpropOptions{.momentum = 0.9, .centered = true}));
       }},
      {"Adagrad", [](const Extra& e) { return Adagrad(with(e, AdagradOptions())); }},
      {"Adadelta", [](const Extra& e) { return Adadelta(with(e, AdadeltaOptions())); }},
      {"Adam", [](const Extra& e) { return Adam(with(e, AdamOptions())); }},
      {"AMSGrad", [](const Extra& e) { return Adam(with(e, AdamOptions{.amsgrad = true})); }},
      {"AdamW", [](const Extra& e) { return AdamW(with(e, AdamWOptions())); }},
      {"Adamax", [](const Extra& e) { return Adamax(with(e, AdamaxOptions())); }},
      {"Nadam", [](const Extra& e) { return Nadam(with(e, NadamOptions())); }},
  };
  const std::vector<std::int64_t> sizes = many_sizes();
  for (const PlanRow& row : rows) {
    for (const Extra& extra : {Extra{}, Extra{.weight_decay = 0.1, .clipvalue = 1},
                               Extra{.weight_decay = 0.1, .global_clipnorm = 1}}) {
      INFO(row.name << (extra.weight_decay ? ", weight_decay" : "")
                    << (extra.clipvalue ? ", clipvalue" : "")
                    << (extra.global_clipnorm ? ", global_clipnorm" : ""));
      check_plan(plan_of(row.make(extra), sizes), sizes.size());
    }
  }
}

}  // namespace kiln
