// BatchNormalization over the rows of all ranks beside one process with all rows.
#include "tests/distributed/training/training_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace kiln::testing {
namespace {

namespace D = distributed;
namespace L = layers;

struct Net {
  Tensor x = placeholder({.shape = {None, 3}, .name = "x"});
  Tensor y = placeholder({.shape = {None, 2}, .name = "y"});
  L::Dense first{3, {.kernel_initializer = initializers::RandomNormal({.seed = 1})}};
  L::BatchNormalization norm{{.momentum = 0.9, .synchronized = true}};
  L::Dense last{2, {.kernel_initializer = initializers::RandomNormal({.seed = 2})}};
  Tensor normed = norm(first(x));
  Tensor out = last(tanh(normed));
  Tensor rows = sum(ones_like(x)) / 3.;
  std::vector<Tensor> weights = L::trainable_weights({first, norm, last});
};

/// The elements of all arrays, a line for each array.
std::string printed(const std::vector<Array>& arrays) {
  std::ostringstream out;
  out.precision(9);
  for (const Array& array : arrays) {
    for (const float element : array.as<float>()) out << element << " ";
    out << "\n";
  }
  return out.str();
}

/// Rows of this rank of 12: 1, 2, 3 and 6, or all.
std::pair<std::int64_t, std::int64_t> own_rows(const D::Group& world) {
  if (world.size() == 1) return {0, 12};
  const std::int64_t begins[] = {0, 1, 3, 6, 12};
  return {begins[world.rank()], begins[world.rank() + 1]};
}

/// The gradients of the mean loss of all rows, then moving averages and own outputs of a step.
std::string step(const D::Group& world) {
  const Net net;
  const Tensor loss = mean(square(net.out - net.y));
  std::vector<Tensor> results = D::gradients(loss, net.weights, {.weight = net.rows});
  results.push_back(net.normed);
  const Function train = function({net.x, net.y, learning_phase()}, results,
                                  {.updates = L::updates({net.norm}), .name = "train"});
  const auto [begin, end] = own_rows(world);
  std::vector<Array> arrays =
      train({rows_of_step(0, begin, end, {3}), rows_of_step(1, begin, end, {2}), true});
  for (const Tensor& weight : L::weights({net.norm})) {
    arrays.insert(arrays.begin(), get_value(weight));
  }
  return printed(arrays);
}

std::vector<std::vector<double>> parsed(const std::string& text) {
  std::vector<std::vector<double>> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream elements(line);
    lines.emplace_back();
    for (double element = 0; elements >> element;) lines.back().push_back(element);
  }
  return lines;
}

/// The largest difference of elements; infinity for other sizes.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST_CASE("batch normalisation: uneven ranks compute what one process does with all rows") {
  for (const std::string backend : {"cpu", "reference"}) {
    const std::vector<std::string> alone = texts_of_ranks(kAlone, backend, step);
    const std::vector<std::vector<double>> expected = parsed(alone[0]);
    REQUIRE(expected.size() == 11);
    std::vector<double> outputs;  // of all ranks
    for (const std::string& text : texts_of_ranks(4, backend, step)) {
      std::vector<std::vector<double>> lines = parsed(text);
      INFO(backend << "\n" << text << "instead of\n" << alone[0]);
      REQUIRE(lines.size() == expected.size());
      outputs.insert(outputs.end(), lines.back().begin(), lines.back().end());
      for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        CHECK(difference(lines[i], expected[i]) < 1e-5);
      }
    }
    CHECK(difference(outputs, expected.back()) < 1e-5);
  }
}

TEST_CASE("batch normalisation: only functions that train have collectives") {
  const Scratch scratch;
  const auto texts = texts_of_ranks(2, "reference", [&](const D::Session& world) {
    const auto dumped = [&](const std::string& name, const std::vector<Tensor>& inputs,
                            const FunctionOptions& options, const Tensor& out) {
      FunctionOptions with_dump = options;
      with_dump.dump = scratch.path(name + std::to_string(world.rank()));
      with_dump.dump_stages = Stage::Collectives;
      static_cast<void>(function(inputs, {out}, with_dump));
      return contents_of(scratch.path(name + std::to_string(world.rank())) + "/41-collectives.txt");
    };
    const Net net;
    const std::string trained =
        dumped("train", {net.x, learning_phase()}, {.updates = L::updates({net.norm})}, net.out);
    const auto rows = std::count(trained.begin(), trained.end(), '\n') - 1;
    const Tensor x = placeholder({.shape = {None, 3}});
    return std::to_string(rows) + " collectives, " +
           (dumped("test", {x}, {}, net.norm(x, {.training = false})).empty() ? "none" : "some");
  });
  for (const std::string& text : texts) CHECK(text == "3 collectives, none");
}

}  // namespace
}  // namespace kiln::testing
