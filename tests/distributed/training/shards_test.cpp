// Training in shards has equal bits on any number of ranks that the shards allow.
#include "tests/distributed/training/models.h"
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <algorithm>
#include <cmath>

namespace kiln::testing {
namespace {

struct Training {
  const char* name;
  MakeModel make;
  ModelOptions options;
};

const std::vector<Training> kTrainings = {
    {"dense", dense_model, {}},
    {"dense float64", dense_model, {.dtype = "float64"}},
    {"dense float16", dense_model, {.dtype = "float16"}},
    {"lstm", lstm_model, {}},
    {"convolution", convolution_model, {}},
};

/// The bits of all variables after five steps of each row.
std::string train(const distributed::Group& world, const std::vector<Training>& rows) {
  std::string text;
  for (const Training& row : rows) {
    set_random_seed(3);
    const Model model = row.make(row.options);
    const std::string before = bits_of(model.variables);
    for (int step = 0; step < 5; ++step) model.train(world, step, 24);
    const std::string after = bits_of(model.variables);
    text += std::string(row.name) + (before == after ? " has learned nothing\n" : "\n") + after;
  }
  return text;
}

void check_equal_bits(const std::string& backend, const std::vector<Training>& rows,
                      const std::vector<std::uint32_t>& ranks) {
  const auto run = [&](std::uint32_t count) {
    return texts_of_ranks(count, backend, [&](const auto& world) { return train(world, rows); });
  };
  const std::string expected = run(ranks[0])[0];
  CHECK_THAT(expected, Catch::Matchers::StartsWith(rows[0].name));
  CHECK(expected.find("nothing") == expected.npos);
  for (const std::uint32_t count : ranks) {
    for (const std::string& text : run(count)) {
      INFO(backend << " on " << count << " ranks");
      CHECK(text == expected);
    }
  }
}

TEST_CASE("shards: training has the same bits on 1, 2 and 4 ranks") {
  check_equal_bits("cpu", kTrainings, {kAlone, 1, 2, 4});
  check_equal_bits("reference", kTrainings, {kAlone, 2, 4});
}

TEST_CASE("shards: training has the same bits on 3 and 6 ranks") {
  check_equal_bits("reference", {{"six", dense_model, {.shards = 6}}}, {6, 3});
}

TEST_CASE("shards: one for each rank are rows of the ranks, whose number may be odd") {
  const auto run = [&](std::int64_t shards) {
    const Training row{"three", lstm_model, {.shards = shards}};
    return texts_of_ranks(3, "reference", [&](const auto& world) { return train(world, {row}); });
  };
  const std::vector<std::string> cut = run(3);
  for (const std::string& text : cut) CHECK(text == cut[0]);
  CHECK(cut == run(0));
}

/// The largest difference between elements, relative to the largest element.
double difference(const Array& actual, const Array& expected) {
  double most = 0, largest = 0;
  const auto values = expected.as<float>(), others = actual.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    most = std::max(most, std::abs(others[i] - value));
    largest = std::max(largest, std::abs(value));
  }
  return most / largest;
}

TEST_CASE("shards: mean gradients of equal parts are those of all rows") {
  const std::string text = texts_of_ranks(kAlone, "cpu", [](const distributed::Session&) {
    const Tensor x = placeholder({.shape = {None, 3}}), y = placeholder({.shape = {None, 1}});
    const Tensor w = random_normal_variable({3, 1}, 0, 1, {.seed = 1});
    const Tensor loss = mean(square(tanh(dot(x, w)) - y));
    const Tensor parts =
        distributed::gradients(loss, {w}, {.shards = {.count = 4, .split = {x, y}}})[0];
    const Function f = function({x, y}, {parts, gradients(loss, {w})[0]});
    const auto results = f({rows_of_step(0, 0, 24, {3}), rows_of_step(1, 0, 24, {1})});
    return std::string(difference(results[0], results[1]) < 1e-6 ? "equal" : "different");
  })[0];
  CHECK(text == "equal");
}

TEST_CASE("shards: parts and the whole may use sizes of an input alone") {
  for (const std::uint32_t ranks : {kAlone, 2u, 4u}) {
    const auto texts = texts_of_ranks(ranks, "reference", [](const distributed::Session& world) {
      const Tensor x = placeholder({.shape = {None, 3}}), y = placeholder({.shape = {None, 3}});
      const Tensor rows = sum(ones_like(x)) / 3.;
      const Tensor mean = distributed::all_reduce(
          rows + 0. * sum(y),
          {.reduction = distributed::Reduction::Mean, .shards = {.count = 4, .split = {x, y}}});
      const auto [begin, end] = world.shard(8);
      const Array fed = rows_of_step(0, begin, end, {3});
      const auto results = function({x, y}, {mean, rows})({fed, fed});
      return std::to_string(results[0].item<float>()) + " of " +
             std::to_string(results[1].item<float>() * static_cast<float>(world.size()));
    });
    for (const std::string& text : texts) CHECK(text == "2.000000 of 8.000000");
  }
}

TEST_CASE("shards: the program of a part is compiled once where nothing is drawn") {
  for (const std::string backend : {"cpu", "reference"}) {
    const std::string text = texts_of_ranks(kAlone, backend, [](const distributed::Session&) {
      const FunctionStats stats = lstm_model({.shards = 8}).step.stats();
      return std::to_string(stats.compiles) + " compiled, " + std::to_string(stats.cache_hits) +
             " found";
    })[0];
    CHECK(text == "3 compiled, 7 found");  // the cut, a part, the step; the other parts
  }
}

}  // namespace
}  // namespace kiln::testing
