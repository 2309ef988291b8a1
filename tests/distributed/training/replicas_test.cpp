// Updates that keep the variables of all ranks equal, and updates that do not.
#include "tests/distributed/training/training_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/while_loop.h"

#include <kiln/k.h>

#include <optional>

namespace kiln::testing {
namespace {

namespace D = distributed;

struct Tensors {
  D::Group half;  // of this rank alone
  Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
  Tensor unnamed = placeholder({.shape = {2}});
  Tensor w = variable({1.f, 2.f}, {.name = "w"});
  Tensor v = variable({3.f, 4.f}, {.name = "v"});
  Tensor own = variable({5.f, 6.f}, {.name = "own", .per_rank = true});
  Tensor rows = variable({7.f, 8.f}, {.name = "rows", .per_rank = true});
};

/// Folds v three times over the carry (a, b), whose b becomes a, and whose a becomes `next`.
Tensor folded(const Tensors& g, const Tensor& next) {
  const Tensor steps = zeros({3, 1}), carry = stack({g.v, g.v});
  const auto step = [&](const Tensor& pair, const Tensor&) {
    return stack({next, gather(pair, constant(0, {.dtype = "int32"}))});
  };
  return gather(foldl(step, steps, {.initializer = carry}), constant(1, {.dtype = "int32"}));
}

/// Adds v to w until the sum is `limit`.
Tensor until_large(const Tensors& g, const Tensor& limit) {
  const auto step = [&](const Tensor&, const Tensor& h) {
    const Tensor next = h + g.v;
    return std::pair(sum(next) < limit, next);
  };
  return while_loop(sum(g.w) < limit, g.w, step) * 1;
}

struct Update {
  const char* name;
  Tensor (*value)(const Tensors& g);  // the new value of w
  const char* cause;  // null: accepted
};

const Update kUpdates[] = {
    {"a constant and variables", [](const Tensors& g) { return g.w * 2 + g.v; }, nullptr},
    {"an input", [](const Tensors& g) { return g.w + sum(g.x, {.axis = 0}); },
     "'x' (replicas_test.cpp:N)"},
    {"an unnamed input", [](const Tensors& g) { return g.w + g.unnamed; },
     "an unnamed placeholder (replicas_test.cpp:N)"},
    {"a sum of an input over ranks",
     [](const Tensors& g) { return g.w + D::all_reduce(sum(g.x, {.axis = 0})); }, nullptr},
    {"the largest of all ranks",
     [](const Tensors& g) { return D::all_reduce(g.unnamed, {.reduction = D::Reduction::Max}); },
     nullptr},
    {"all ranks' inputs",
     [](const Tensors& g) { return sum(D::all_gather(reshape(g.unnamed, {1, 2})), {.axis = 0}); },
     nullptr},
    {"the root's input", [](const Tensors& g) { return D::broadcast(g.unnamed); }, nullptr},
    {"a rank's part of a sum",
     [](const Tensors& g) {
       const auto ranks = static_cast<std::size_t>(D::world().size());
       return g.w + D::reduce_scatter(concatenate(std::vector<Tensor>(ranks, g.v)));
     },
     "the rank's own part of reduce_scatter (replicas_test.cpp:N)"},
    {"a sum over a part of the ranks",
     [](const Tensors& g) { return g.w + D::all_reduce(g.unnamed, {.group = g.half}); },
     "the rank's own part of all_reduce (replicas_test.cpp:N)"},
    {"a draw", [](const Tensors& g) { return g.w + random_uniform({2}); },
     "a draw of random_uniform (replicas_test.cpp:N)"},
    {"dropout", [](const Tensors& g) { return dropout(g.w, 0.5); },
     "a draw of dropout (replicas_test.cpp:N)"},
    {"a sum of draws", [](const Tensors& g) { return D::all_reduce(dropout(g.w, 0.5)); }, nullptr},
    {"a variable of the rank", [](const Tensors& g) { return g.w + g.own; },
     "the per_rank variable 'own' (replicas_test.cpp:N)"},
    {"the number of rows", [](const Tensors& g) { return g.w + cast(shape(g.x), "float32")[0]; },
     "a size in shape (replicas_test.cpp:N)"},
    {"a count of ones", [](const Tensors& g) { return g.w + sum(ones_like(g.x)); },
     "a size in ones_like (replicas_test.cpp:N)"},
    {"a step of equal values", [](const Tensors& g) { return folded(g, g.v); }, nullptr},
    {"a carry that differs after two steps", [](const Tensors& g) { return folded(g, g.unnamed); },
     "an unnamed placeholder (replicas_test.cpp:N)"},
    {"steps for each row",
     [](const Tensors& g) {
       const auto add = [&](const Tensor& sum, const Tensor&) { return sum + g.v; };
       return foldl(add, zeros_like(g.x), {.initializer = g.w});
     },
     "a size in foldl (replicas_test.cpp:N)"},
    {"a loop that ends by equal values", [](const Tensors& g) { return until_large(g, sum(g.v)); },
     nullptr},
    {"a loop that ends by values that differ",
     [](const Tensors& g) { return until_large(g, sum(g.x)); }, "'x' (replicas_test.cpp:N)"},
    {"a branch by an equal condition",
     [](const Tensors& g) {
       return switch_(sum(g.v) > 0, [&] { return g.w + 1; }, [&] { return g.w - 1; });
     },
     nullptr},
    {"a branch by a condition that differs",
     [](const Tensors& g) {
       return switch_(sum(g.x) > 0, [&] { return g.w + 1; }, [&] { return g.w - 1; });
     },
     "'x' (replicas_test.cpp:N)"},
    {"a branch with an input",
     [](const Tensors& g) {
       return switch_(sum(g.v) > 0, [&] { return g.w + g.unnamed; }, [&] { return g.w * 1; });
     },
     "an unnamed placeholder (replicas_test.cpp:N)"},
    {"the learning phase", [](const Tensors& g) { return in_train_phase(g.w + 1, g.w); }, nullptr},
    {"a mean gradient",
     [](const Tensors& g) {
       return g.w - D::gradients(sum(dot(g.x, reshape(g.w, {2, 1}))), {g.w})[0];
     },
     nullptr},
    {"a rank's gradient",
     [](const Tensors& g) {
       return g.w - gradients(sum(dot(g.x, reshape(g.w, {2, 1}))), {g.w})[0];
     },
     "'x' (replicas_test.cpp:N)"},
};

std::string expected_of(const Update& row, const char* target) {
  if (row.cause == nullptr) return "accepted";
  return "the new value of '" + std::string(target) +
         "' (replicas_test.cpp:N) differs between ranks, because it depends on " + row.cause +
         " without a collective of all ranks; use K::distributed::gradients, or make the "
         "variable per_rank";
}

/// Compares all rows; "accepts" those of a variable that is per_rank, and in one process.
std::string faults(const D::Session& world) {
  std::string lines;
  const D::Group half = world.split(world.rank());
  for (const Update& row : kUpdates) {
    for (const bool is_per_rank : {false, true}) {
      const Tensors g{.half = half};
      const Tensor& target = is_per_rank ? g.rows : g.w;
      const std::string text = error_of([&] {
        static_cast<void>(function({g.x, g.unnamed, learning_phase()}, {},
                                   {.updates = {update(target, row.value(g))}}));
      });
      const bool is_accepted = is_per_rank || world.size() == 1;
      const std::string expected = is_accepted ? "accepted" : expected_of(row, "w");
      if (text != expected) lines += std::string(row.name) + ": " + text + "\n";
    }
  }
  return lines;
}

/// The errors of updates of variables that an optimiser and a metric made.
std::string errors_of_states(const D::Session&) {
  const Tensors g{.half = D::world()};
  const auto momentum = optimizers::SGD({.momentum = 0.9});
  const Tensor loss = sum(dot(g.x, reshape(g.w, {2, 1})));
  const auto mean = metrics::Mean({.name = "mean"});
  const auto error = [&](const std::vector<UpdateOp>& updates) {
    return error_of([&] { static_cast<void>(function({g.x}, {}, {.updates = updates})); }) + "\n";
  };
  const Tensor all = D::all_reduce(sum(g.x)), rows = D::all_reduce(sum(ones_like(g.x)));
  return error(momentum.updates(gradients(loss, {g.w}), {g.w})) + error(mean.updates(g.x)) +
         error(mean.updates(all / rows, {.sample_weight = rows}));
}

TEST_CASE("replicas: the states of optimisers and metrics are told to use collectives") {
  const std::string cause =
      " differs between ranks, because it depends on 'x' "
      "(replicas_test.cpp:N) without a collective of all ranks; use "
      "K::distributed::gradients, or all_reduce\n";
  for (const std::string& text : texts_of_ranks(2, "reference", errors_of_states)) {
    CHECK(text == "the new value of 'SGD/w_momentum' (replicas_test.cpp:N)" + cause +
                      "the new value of 'mean/total' (replicas_test.cpp:N)" + cause + "accepted\n");
  }
}

TEST_CASE("replicas: updates are accepted if all ranks compute the same") {
  for (const std::uint32_t ranks : {2u, 1u}) {
    for (const std::string& text : texts_of_ranks(ranks, "reference", faults)) CHECK(text == "");
  }
}

}  // namespace
}  // namespace kiln::testing
