// The bits of a function's results do not depend on the order of its outputs, the passes, the order
// of transfers or the call.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"

#include <algorithm>
#include <cmath>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

std::string bits_of(const K::Array& array) {
  return {static_cast<const char*>(array.data()), array.bytes()};
}

/// Independent collectives, and those that depend on others.
std::vector<K::Tensor> results_of(const K::Tensor& x) {
  const auto sum = D::all_reduce(K::sin(x));
  const auto rows = D::all_gather(K::cos(x));
  return {sum,
          D::all_reduce(x * 3., {.reduction = D::Reduction::Max}),
          K::sum(rows * rows, {.axis = 0}),
          D::broadcast(sum * x, {.root = 1}),
          D::reduce_scatter(rows) - D::all_reduce(K::exp(x), {.reduction = D::Reduction::Mean}),
          D::all_reduce(K::exp(x))};
}

K::Array operand_of_rank(std::int64_t rank) {
  std::vector<float> elements;
  for (int i = 0; i < 24; ++i) elements.push_back(std::sin(static_cast<float>(17 * rank + i)));
  return K::Array(elements, {4, 6});
}

/// The bits of all results, in the order of results_of.
std::string call_permuted(const K::Tensor& x, const std::vector<K::Tensor>& results,
                          const std::vector<std::size_t>& order, const K::FunctionOptions& options,
                          std::int64_t rank) {
  std::vector<K::Tensor> outputs;
  for (const std::size_t i : order) outputs.push_back(results[i]);
  const auto f = K::function({x}, outputs, options);
  const auto once = f({operand_of_rank(rank)}), twice = f({operand_of_rank(rank)});
  std::vector<std::string> bits(results.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    bits[order[i]] = bits_of(once[i]);
    if (bits_of(once[i]) != bits_of(twice[i])) return "the second call differs";
  }
  std::string all;
  for (const std::string& one : bits) all += one;
  return all;
}

TEST_CASE("order: outputs, passes, calls and orders of transfers do not change bits") {
  std::vector<std::string> digests;
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    fake::Ranks ranks({.ranks = 3, .seed = seed});
    const auto ends = ranks.run([&](std::uint32_t rank) {
      const auto world = D::init(options_of(ranks, rank));
      Faults faults;
      std::string digest;
      for (const char* backend : kBackends) {
        const auto x = K::placeholder({.shape = {4, 6}});
        const auto results = results_of(x);
        std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5};
        const std::string bits = call_permuted(x, results, order, {.backend = backend}, rank);
        do {
          faults.expect(call_permuted(x, results, order, {.backend = backend}, rank) == bits,
                        "another order of outputs");
        } while (std::next_permutation(order.begin() + 3, order.end()));
        std::reverse(order.begin(), order.end());
        faults.expect(call_permuted(x, results, order, {.backend = backend}, rank) == bits,
                      "the reverse order");
        faults.expect(
            call_permuted(x, results, order, {.backend = backend, .optimize = false}, rank) == bits,
            "without passes");
        digest += std::to_string(std::hash<std::string>()(bits));
      }
      return faults.text().empty() ? digest : faults.text();
    });
    for (const auto& end : ends) {
      CHECK(end.status == 0);
      CHECK(!has(end.text, " "));
      digests.push_back(end.text);
    }
  }
  for (std::size_t i = 3; i < digests.size(); ++i) CHECK(digests[i] == digests[i - 3]);
}

TEST_CASE("order: all-reduces that a program makes twice run as one") {
  fake::Ranks ranks({.ranks = 2});
  const std::string ends = run_sessions(ranks, [&](const D::Group& world) {
    const auto transfers = [&](const std::vector<K::Tensor>& outputs) {
      const auto f = K::function({}, outputs, {.backend = "reference"});
      const auto count = [&] {
        const fake::Locked lock(ranks.world());
        return ranks.world().ranks[world.rank()].transfers;
      };
      const auto before = count();
      f();
      return count() - before;
    };
    const auto w = K::variable({1., 2.});
    const auto one = D::all_reduce(w), same = D::all_reduce(w);
    const auto max = D::all_reduce(w, {.reduction = D::Reduction::Max});
    Faults faults;
    const auto of_one = transfers({one});
    faults.expect(transfers({one, same, same + 1.}) == of_one, "equal ones are not merged");
    faults.expect(transfers({one, max}) > of_one, "other ones are merged, too");
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
