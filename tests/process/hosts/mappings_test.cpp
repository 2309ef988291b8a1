// Tests that the number of functions is not limited by the kernel's bound on a process's mappings
// (vm.max_map_count): a compiled function takes no mapping of its own.
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <vector>

using namespace kiln;

namespace {

std::ptrdiff_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

/// f(x) = exp(x * factor) + factor, with code and constants that no other function has.
std::vector<Function> functions_from(int first, int count) {
  const Tensor x = placeholder({.shape = {None}});
  std::vector<Function> functions;
  for (int i = first; i < first + count; ++i) {
    const double factor = 1.0 / (i + 1);
    functions.push_back(function({x}, {exp(x * factor) + factor}, {.backend = "cpu"}));
  }
  return functions;
}

bool all_right(const std::vector<Function>& functions, int first) {
  const Array fed = Array::full({3}, 0.0);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const double factor = 1.0 / (first + static_cast<int>(i) + 1);
    const Array y = functions[i]({fed})[0];
    if (std::abs(y.as<float>()[2] - static_cast<float>(1 + factor)) > 1e-6f) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("memory mappings: two thousand functions alive at once take less than 200", "[slow]") {
  REQUIRE(all_right(functions_from(0, 4), 0));  // what the first function of a process maps
  const std::ptrdiff_t before = mappings();
  std::vector<std::ptrdiff_t> rounds;
  int next = 4;
  for (const int count : {2'000, 200, 200}) {
    std::vector<Function> functions = functions_from(next, count);
    REQUIRE(all_right(functions, next));
    CHECK(mappings() - before < 200);
    next += count;
    functions.clear();
    rounds.push_back(mappings());
  }
  CAPTURE(before, rounds[0], rounds[1], rounds[2]);
  CHECK(rounds[0] - before < 100);
  // The allocator may split or release a thread's heap meanwhile: a few mappings, not one for each
  // of 400 functions.
  CHECK(rounds[2] - rounds[0] < 20);
}
