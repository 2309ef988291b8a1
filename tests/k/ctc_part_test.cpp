// Tests the parts of ctc_cost, and dense labels as sparse ones. Expected values are those of
// Keras' Theano definitions, as plain loops in double, and the figures of its own tests.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/ctc.h"
#include "tests/support/misuse.h"

#include <algorithm>

namespace kiln::test {
namespace {

using testing::throws;
using Numbers = std::vector<double>;

constexpr double kNever = -std::numeric_limits<double>::infinity();

Labels interleaved(const Labels& labels) {
  Labels all{-1};
  for (const std::int64_t label : labels) all.insert(all.end(), {label, -1});
  return all;
}

Labels skips_of(const Labels& states) {
  Labels skips;
  for (std::size_t i = 1; i + 2 < states.size(); i += 2) {
    if (states[i] != states[i + 2]) skips.push_back(static_cast<std::int64_t>(i));
  }
  return skips;
}

struct Reached {
  std::int64_t active;
  Numbers logs;
};

Reached advanced(const Labels& skips, std::int64_t active, const Numbers& current,
                 const Numbers& previous) {
  const auto states = static_cast<std::int64_t>(current.size());
  std::int64_t last = -1;
  for (const std::int64_t skip : skips) {
    if (skip < active) last = std::max(last, skip);
  }
  const std::int64_t next = std::min(std::max(active + 1, last + 3), states);
  double shift = kNever;
  for (std::int64_t i = 0; i < active; ++i) {
    shift = std::max(shift, previous[static_cast<std::size_t>(i)]);
  }
  const auto p = [&](std::int64_t i) {
    if (i < 0 || i >= active) return 0.0;
    return std::exp(previous[static_cast<std::size_t>(i)] - shift);
  };
  Reached reached{next, Numbers(current.size(), 0)};
  for (std::int64_t i = 0; i < next; ++i) {
    double sum = p(i) + p(i - 1);
    if (std::find(skips.begin(), skips.end(), i - 2) != skips.end()) sum += p(i - 2);
    const auto at = static_cast<std::size_t>(i);
    reached.logs[at] = current[at] + std::log(sum) + shift;
  }
  return reached;
}

struct Paths {
  std::vector<Numbers> logs;
  std::vector<std::vector<bool>> mask;
};

/// The path probabilities of scores (steps, classes) and of labels between blanks (the last class).
Paths paths_of(const Array& predict, const Labels& states, double alpha) {
  const auto steps = static_cast<std::size_t>(predict.dims()[0]), count = states.size();
  const std::int64_t classes = predict.dims()[1];
  std::vector<Numbers> emitted(steps, Numbers(count));
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t s = 0; s < count; ++s) {
      const std::int64_t label = states[s] < 0 ? states[s] + classes : states[s];
      const double p = predict.at<float>(static_cast<std::int64_t>(t), label);
      emitted[t][s] = std::log((1 - alpha) * p + alpha / static_cast<double>(count));
    }
  }
  const Labels reversed(states.rbegin(), states.rend());
  const Labels skips = skips_of(states), reversed_skips = skips_of(reversed);
  Reached forward{1, Numbers(count, 0)}, backward = forward;
  Paths paths{std::vector<Numbers>(steps, Numbers(count, 0)),
              std::vector<std::vector<bool>>(steps, std::vector<bool>(count, true))};
  for (std::size_t t = 0; t < steps; ++t) {
    const std::size_t back = steps - 1 - t;
    forward = advanced(skips, forward.active, emitted[t], forward.logs);
    const Numbers current(emitted[back].rbegin(), emitted[back].rend());
    backward = advanced(reversed_skips, backward.active, current, backward.logs);
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t other = count - 1 - s;
      paths.logs[t][s] += forward.logs[s] - emitted[t][s];
      paths.logs[back][s] += backward.logs[other];
      if (static_cast<std::int64_t>(s) >= forward.active) paths.mask[t][s] = false;
      if (static_cast<std::int64_t>(other) >= backward.active) paths.mask[back][s] = false;
    }
  }
  return paths;
}

double cost_of(const Array& predict, const Labels& labels) {
  const Paths paths = paths_of(predict, interleaved(labels), 1e-4);
  double sum = 0;
  for (std::size_t t = 0; t < paths.logs.size(); ++t) {
    for (std::size_t s = 0; s < paths.logs[t].size(); ++s) {
      if (paths.mask[t][s]) sum += std::exp(paths.logs[t][s]);
    }
  }
  return -std::log(sum);
}

struct Case {
  std::int64_t steps, classes;
  Labels labels;
};
const Case kCases[] = {
    {1, 2, {0}},           {1, 3, {}},        {2, 3, {0, 0}},
    {4, 3, {0, 1}},        {5, 4, {1, 1}},    {6, 3, {0, 1, 0}},
    {9, 5, {3, 3, 0, 3}},  {3, 4, {2, 1, 0}}, {7, 2, {0, 0, 0}},
    {12, 4, {0, 1, 2, 2}},
};

}  // namespace

std::vector<Row> ctc_part_rows() {
  const Array first = keras_sample(0);
  return {
      {"ctc_interleave_blanks",
       {i32({3}, {4, 0, 2})},
       [](const Tensors& x) { return ctc_interleave_blanks(x[0]); },
       i32({7}, {-1, 4, -1, 0, -1, 2, -1})},
      {"ctc_interleave_blanks one",
       {i32({1}, {5})},
       [](const Tensors& x) { return ctc_interleave_blanks(x[0]); },
       i32({3}, {-1, 5, -1})},
      {"ctc_interleave_blanks nothing",
       {i64({0}, {})},
       [](const Tensors& x) { return ctc_interleave_blanks(x[0]); },
       i64({1}, {-1})},
      {"ctc_create_skip_idxs used",
       {i32({9}, {-1, 4, -1, 4, -1, 2, -1, 3, -1})},
       [](const Tensors& x) {
         return sum(ctc_create_skip_idxs(x[0]) * 2 + cast(sum(x[0]), "int64"));
       },
       Array(std::int64_t{32})},
      {"ctc_label_dense_to_sparse",
       {i32({2, 2}, {1, 2, 3, 4}), i64({2}, {1, 2})},
       [](const Tensors& x) { return to_dense(ctc_label_dense_to_sparse(x[0], x[1])); },
       i32({2, 2}, {1, 0, 3, 4})},
      {"ctc_label_dense_to_sparse float",
       {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i32({2}, {0, 3})},
       [](const Tensors& x) { return to_dense(ctc_label_dense_to_sparse(x[0], x[1])); },
       f32({2, 3}, {0, 0, 0, 4, 5, 6})},
      {"ctc_label_dense_to_sparse no sample",
       {i64({0, 2}, {}), i32({0}, {})},
       [](const Tensors& x) { return to_dense(ctc_label_dense_to_sparse(x[0], x[1])); },
       i64({0, 2}, {})},
      {"ctc_label_dense_to_sparse no label",
       {i64({2, 0}, {}), i32({2}, {0, 0})},
       [](const Tensors& x) { return to_dense(ctc_label_dense_to_sparse(x[0], x[1])); },
       i64({2, 0}, {})},
      // from the first state to the second; then the skip at 1 makes state 3 reachable
      {"ctc_update_log_p active",
       {i64({1}, {1}), f32({5}, {0, 0, 0, 0, 0}), i32({}, {2})},
       [](const Tensors& x) { return ctc_update_log_p(x[0], x[1], x[2], x[1], x[1]).active_next; },
       i32({}, {4})},
      {"ctc_update_log_p active, all reached",
       {i64({0}, {}), f32({3}, {0, 0, 0}), i64({}, {3})},
       [](const Tensors& x) { return ctc_update_log_p(x[0], x[1], x[2], x[1], x[1]).active_next; },
       i64({}, {3})},
      {"ctc_update_log_p",
       {i64({1}, {1}), f32({5}, {9, 9, 9, 9, 9}), i32({}, {2}), f32({5}, {1, 2, 3, 4, 5})},
       [](const Tensors& x) {
         return ctc_update_log_p(x[0], x[1], x[2], x[3], zeros_like(x[3])).log_p_next;
       },
       f32({5}, {1, 2 + std::log(2.f), 3, 4, 9}),
       1e-5},
      {"ctc_update_log_p of large logarithms",
       {i64({0}, {}), f32({3}, {0, 0, 0}), i32({}, {2}), f32({3}, {-5000, -5000, 7})},
       [](const Tensors& x) { return ctc_update_log_p(x[0], x[1], x[2], x[1], x[3]).log_p_next; },
       f32({3}, {-5000, -5000 + std::log(2.f), -5000}),
       1e-6},
      {"ctc_path_probs mask",
       {first, i32({3}, {-1, 0, -1})},
       [](const Tensors& x) {
         return cast(ctc_path_probs(slice(x[0], {0, 0}, {2, 6}), x[1]).mask, "int32");
       },
       i32({2, 3}, {1, 1, 0, 0, 1, 1})},
      // the figures of Keras' Theano backend
      {"ctc_cost",
       {first, i32({5}, {0, 1, 2, 1, 0})},
       [](const Tensors& x) { return ctc_cost(x[0], x[1]); },
       Array(1.73308f),
       1e-4},
      {"ctc_cost second",
       {keras_sample(1), i32({4}, {0, 1, 1, 0})},
       [](const Tensors& x) { return ctc_cost(x[0], x[1]); },
       Array(3.81351f),
       1e-4},
      {"ctc_cost too short",
       {f32({2, 2}, {0.6f, 0.4f, 0.6f, 0.4f}), i32({2}, {0, 0})},
       [](const Tensors& x) { return ctc_cost(x[0], x[1]); },
       Array(kInf)},
      {"ctc_cost slope, too short",
       {f32({2, 2}, {0.6f, 0.4f, 0.6f, 0.4f}), i32({2}, {0, 0})},
       [](const Tensors& x) { return gradients(ctc_cost(x[0], x[1]), {x[0]})[0]; },
       Array::zeros({2, 2})},
      {"ctc_cost no step",
       {f32({0, 2}, {}), i32({1}, {0})},
       [](const Tensors& x) { return ctc_cost(x[0], x[1]); },
       Array(kInf)},
  };
}

namespace {

const SmoothRow kCtcPartGradients[] = {
    {"ctc_cost",
     {{4, 3}},
     [](const Tensors& x) {
       return ctc_cost(x[0], constant(i32({2}, {0, 1}), {.dtype = "int32"}));
     },
     0.2,
     1},
    {"ctc_cost repeated label",
     {{5, 2}},
     [](const Tensors& x) {
       return ctc_cost(x[0], constant(i32({2}, {0, 0}), {.dtype = "int32"}));
     },
     0.2,
     1},
    {"ctc_path_probs",
     {{4, 3}},
     [](const Tensors& x) {
       const Tensor states = constant(i32({5}, {-1, 0, -1, 1, -1}), {.dtype = "int32"});
       const CtcPathProbs paths = ctc_path_probs(x[0], states, {.alpha = 0.1});
       return switch_(paths.mask, paths.log_probs, zeros_like(paths.log_probs));
     },
     0.2,
     1},
    {"ctc_update_log_p",
     {{5}, {5}},
     [](const Tensors& x) {
       const Tensor skips = constant(Array{1}, {.dtype = "int32"});
       return ctc_update_log_p(skips, zeros_like(x[0]), 3, x[0], x[1]).log_p_next;
     }},
};

}  // namespace

TEST_CASE("CTC cost: values of its parts", "[k]") { run(ctc_part_rows()); }

TEST_CASE("CTC cost: gradients of its parts", "[k]") {
  for (const SmoothRow& row : kCtcPartGradients) run(row);
}

TEST_CASE("ctc_path_probs: the values of the definition", "[k]") {
  const Tensor y = placeholder({.ndim = 2}), labels = placeholder({.ndim = 1, .dtype = "int64"});
  for (const double alpha : {1e-4, 0.25}) {
    const CtcPathProbs paths = ctc_path_probs(y, labels, {.alpha = alpha});
    const Function f =
        function({y, labels}, {paths.log_probs, paths.mask}, {.backend = tested_backend()});
    for (const Case& one : kCases) {
      INFO(one.steps << " steps, " << one.classes << " classes, " << one.labels.size()
                     << " labels, alpha " << alpha);
      const Array predict = random_scores({one.steps, one.classes}, 3);
      const Labels states = interleaved(one.labels);
      const std::vector<Array> found = f({predict, Array(states)});
      const Paths expected = paths_of(predict, states, alpha);
      for (std::size_t t = 0; t < expected.logs.size(); ++t) {
        for (std::size_t s = 0; s < states.size(); ++s) {
          const auto row = static_cast<std::int64_t>(t), at = static_cast<std::int64_t>(s);
          const bool is_there = expected.mask[t][s];
          CHECK(found[1].at<bool>(row, at) == is_there);
          if (!is_there) continue;
          CHECK(found[0].at<float>(row, at) == Approx(expected.logs[t][s]).epsilon(1e-4));
        }
      }
    }
  }
}

TEST_CASE("ctc_cost: the values of the definition, in every float dtype", "[k]") {
  struct Precision {
    const char* dtype;
    double tolerance;
  };
  const Precision rows[] = {
      {"float64", 1e-7}, {"float32", 1e-5}, {"float16", 4e-3}, {"bfloat16", 4e-2}};
  for (const Precision& row : rows) {
    const Tensor y = placeholder({.ndim = 2, .dtype = row.dtype});
    const Tensor labels = placeholder({.ndim = 1, .dtype = "int16"});
    const Function f = function({y, labels}, {ctc_cost(y, labels)}, {.backend = tested_backend()});
    for (const Case& one : kCases) {
      INFO(one.steps << " steps, " << one.classes << " classes, " << one.labels.size()
                     << " labels, " << row.dtype);
      const Array predict = random_scores({one.steps, one.classes}, 4);
      const Array cost = f({predict, Array(one.labels).astype(DType::Int16)})[0];
      CHECK(dtype_name(cost.dtype()) == row.dtype);
      const Array expected = Array(cost_of(predict, one.labels)).astype(cost.dtype());
      CHECK(difference(cost, expected, row.tolerance) == "");
    }
  }
}

TEST_CASE("ctc_cost: the true cost less the logarithm of the steps", "[k]") {
  const Array scores = random_scores({5, 3}, 5);
  Array p = scores;
  for (std::int64_t t = 0; t < 5; ++t) {
    const auto row = p.as<float>().subspan(static_cast<std::size_t>(t) * 3, 3);
    const std::vector<double> own = normalised(row);
    for (std::size_t i = 0; i < 3; ++i) row[i] = static_cast<float>(own[i]);
  }
  const double cost = -std::log(by_alignments(scores.as<float>(), 5, 3)[{1, 0}]);
  CHECK(cost_of(p, {1, 0}) == Approx(cost - std::log(5)).epsilon(1e-3));
}

TEST_CASE("ctc_create_skip_idxs: blanks that may be skipped", "[k]") {
  const Tensor y = placeholder({.ndim = 1, .dtype = "int32"});
  const Function f = function({y}, {ctc_create_skip_idxs(y)}, {.backend = tested_backend()});
  CHECK(f({i32({9}, {-1, 4, -1, 4, -1, 2, -1, 3, -1})})[0] == i64({2}, {3, 5}));
  CHECK(f({i32({3}, {-1, 4, -1})})[0] == i64({0}, {}));
  CHECK(f({i32({1}, {-1})})[0] == i64({0}, {}));
  CHECK(f({i32({5}, {-1, 4, -1, 2, -1})})[0] == i64({1}, {1}));
  for (const char* dtype : {"int8", "int16", "int32", "int64"}) {
    const Tensor labels = constant({4, 2}, {.dtype = dtype});
    const Tensor states = ctc_interleave_blanks(labels);
    CHECK(kiln::dtype(states) == dtype);
    CHECK(eval(ctc_create_skip_idxs(states)) == i64({1}, {1}));
  }
}

TEST_CASE("CTC cost: its parts in a loop of the user", "[k]") {
  // ctc_update_log_p, called per step, is the forward half of ctc_path_probs.
  const Labels states = interleaved({0, 1});
  const Array predict = random_scores({4, 3}, 6);
  const Tensor y = placeholder({.shape = {4, 3}});
  const Tensor labels = constant(Array(states), {.dtype = "int64"});
  const Tensor skips = ctc_create_skip_idxs(labels);
  const Tensor emitted = log(gather(transpose(y), constant({2, 0, 2, 1, 2}, {.dtype = "int32"})));
  const Tensor none = zeros({5});
  CtcStep step{constant(1, {.dtype = "int32"}), none};
  for (int t = 0; t < 4; ++t) {
    step = ctc_update_log_p(skips, none, step.active_next, transpose(emitted)[t], step.log_p_next);
  }
  const std::vector<Array> found = evaluate({y}, {step.active_next, step.log_p_next}, {predict});
  Reached expected{1, Numbers(5, 0)};
  for (std::int64_t t = 0; t < 4; ++t) {
    Numbers current;
    for (const std::int64_t label : states) {
      current.push_back(std::log(predict.at<float>(t, label < 0 ? 2 : label)));
    }
    expected = advanced(skips_of(states), expected.active, current, expected.logs);
  }
  CHECK(found[0] == Array(static_cast<std::int32_t>(expected.active)));
  for (std::size_t s = 0; s < 5; ++s) {
    CHECK(found[1].as<float>()[s] == Approx(expected.logs[s]).epsilon(1e-5));
  }
}

TEST_CASE("data-dependent shapes: none in the body of a loop", "[k]") {
  const Tensor x = placeholder({.shape = {4, 5}, .dtype = "int32", .name = "x"});
  const Tensor counts = map_fn([](const Tensor& row) { return sum(ctc_create_skip_idxs(row)); }, x,
                               {.dtype = "int64"});
  const std::string message = testing::error_text<Error>([&] { function({x}, {counts}); });
  CHECK(message.substr(0, message.find(" (made at ")) ==
        "function: a size of ctc_create_skip_idxs depends on values inside a loop step or a "
        "branch, which is not supported");
}

TEST_CASE("CTC cost: misuse of its parts", "[k]") {
  const auto of = [](const Shape& shape, const char* dtype) {
    return placeholder({.shape = shape, .dtype = dtype, .name = "p"});
  };
  const Tensor y = of({2, 5, 4}, "float32"), labels = of({2, 3}, "int32");
  const Tensor flat = of({2}, "int32"), vector = of({7}, "float32"), scalar = of({}, "int32");
  testing::run({
      {throws<TypeError>(), [&] { ctc_interleave_blanks(vector); },
       "ctc_interleave_blanks: Y is not integer (Y float32[7])"},
      {throws<TypeError>(), [&] { ctc_interleave_blanks(of({3}, "uint8")); },
       "ctc_interleave_blanks: Y is unsigned and cannot hold -1 (Y uint8[3])"},
      {throws<TypeError>(), [&] { ctc_interleave_blanks(of({3}, "bool")); },
       "ctc_interleave_blanks: Y is not integer (Y bool[3])"},
      {throws<ValueError>(), [&] { ctc_interleave_blanks(scalar); },
       "ctc_interleave_blanks: Y has rank 0, not 1 (Y int32[])"},
      {throws<ValueError>(), [&] { ctc_interleave_blanks(Tensor()); },
       "ctc_interleave_blanks: Y is an empty tensor"},
      {throws<ValueError>(), [&] { ctc_create_skip_idxs(labels); },
       "ctc_create_skip_idxs: Y has rank 2, not 1 (Y int32[2,3])"},
      {throws<ValueError>(), [&] { ctc_update_log_p(flat, labels, scalar, vector, vector); },
       "ctc_update_log_p: log_p_curr, log_p_prev and zeros are not vectors of floating point "
       "(log_p_curr float32[7], log_p_prev float32[7], zeros int32[2,3])"},
      {throws<ValueError>(), [&] { ctc_update_log_p(flat, vector, flat, vector, vector); },
       "ctc_update_log_p: active has rank 1, not 0 (active int32[2])"},
      {throws<TypeError>(), [&] { ctc_update_log_p(vector, vector, scalar, vector, vector); },
       "ctc_update_log_p: skip_idxs is not integer (skip_idxs float32[7])"},
      {throws<ValueError>(), [&] { ctc_path_probs(y, flat); },
       "ctc_path_probs: predict has rank 3, not 2 (predict float32[2,5,4])"},
      {throws<TypeError>(), [&] { ctc_path_probs(labels, flat); },
       "ctc_path_probs: predict is not floating point (predict int32[2,3])"},
      {throws<ValueError>(), [&] { ctc_path_probs(of({2, 5}, "float32"), labels); },
       "ctc_path_probs: Y has rank 2, not 1 (Y int32[2,3])"},
      {throws<ValueError>(), [&] { ctc_cost(vector, flat); },
       "ctc_cost: predict has rank 1, not 2 (predict float32[7])"},
      {throws<TypeError>(), [&] { ctc_cost(of({2, 5}, "float32"), vector); },
       "ctc_cost: Y is not integer (Y float32[7])"},
      {throws<ValueError>(), [&] { ctc_label_dense_to_sparse(flat, flat); },
       "ctc_label_dense_to_sparse: labels are not a matrix "
       "(labels int32[2], label_lengths int32[2])"},
      {throws<ValueError>(), [&] { ctc_label_dense_to_sparse(labels, labels); },
       "ctc_label_dense_to_sparse: label_lengths has rank 2, not 1 (label_lengths int32[2,3])"},
      {throws<ValueError>(), [&] { ctc_label_dense_to_sparse(labels, of({3}, "int32")); },
       "ctc_label_dense_to_sparse: batch sizes differ (labels int32[2,3], label_lengths int32[3])"},
      {throws<TypeError>(), [&] { ctc_label_dense_to_sparse(labels, of({2}, "bool")); },
       "ctc_label_dense_to_sparse: label_lengths is bool, not a number (label_lengths bool[2])"},
  });
}

TEST_CASE("ctc_cost: labels out of range are errors of the call", "[k]") {
  const Tensor y = placeholder({.shape = {2, 3}}),
               labels = placeholder({.ndim = 1, .dtype = "int32"});
  const Function f = function({y, labels}, {ctc_cost(y, labels)}, {.backend = tested_backend()});
  const auto message = [&](const Array& given) {
    const std::string all =
        testing::error_text<ValueError>([&] { f({Array::full({2, 3}, 0.3), given}); });
    return all.substr(0, all.find(" at "));
  };
  CHECK(message(Array{3}) ==
        "function: index 3 is outside of an axis of size 3 (op gather of ctc_cost");
  CHECK(message(Array{-4}) ==
        "function: index -1 is outside of an axis of size 3 (op gather of ctc_cost");
  CHECK(message(Array{2}) == "no error");
}

}  // namespace kiln::test
