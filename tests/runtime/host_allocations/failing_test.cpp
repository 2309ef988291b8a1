// Tests memory exhaustion at every point of a call: an exception, no variable changes, and the next
// call works.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/runtime/host_allocations/counted.h"
#include "tests/process/hosts/sample.h"

#include <cstdlib>
#include <new>
#include <string>

using namespace kiln;
using allocations_test::allocations_of;
using allocations_test::grant;

namespace {

/// Runs `action` with that many allocations; returns whether it failed, which it may only with an
/// Error or bad_alloc.
template <class Action>
bool fails_with(std::int64_t requests, const Action& action) {
  bool failed = false;
  grant(requests);
  try {
    action();
  } catch (const Error&) {
    failed = true;
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  grant(-1);
  return failed;
}

/// Compiles 12 kernels that no other round has; returns whether their results are right.
bool compiles_anew(int round) {
  std::vector<Tensor> inputs, outputs;
  std::vector<Array> fed;
  for (int i = 0; i < 12; ++i) {
    inputs.push_back(placeholder({.shape = {2 + i, 3}}));
    outputs.push_back(abs(inputs.back() + (1 + i / 16.0 + round / 1024.0)));
    fed.push_back(Array::full({2 + i, 3}, 0.25));
  }
  const std::vector<Array> results = function(inputs, outputs, {.backend = "cpu"})(fed);
  for (int i = 0; i < 12; ++i) {
    const float wanted = 0.25F + static_cast<float>(1 + i / 16.0 + round / 1024.0);
    if (results[static_cast<std::size_t>(i)].as<float>()[0] != wanted) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("memory exhaustion: a first call") {
  for (std::int64_t requests = 0;; ++requests) {
    const hosts_test::Sample sample("cpu");
    const Array fed = Array::full({3, 6, 8}, 1);
    const bool failed = fails_with(requests, [&] { sample.f({fed}); });
    REQUIRE(get_value(sample.w).as<float>()[0] == (failed ? 0.125f : 0.0625f));
    REQUIRE(sample.right(3, failed ? 0.125 : 0.0625));
    if (!failed) break;
    REQUIRE(requests < 5'000);
  }
}

TEST_CASE("memory exhaustion: a function is built, compiled and called") {
  REQUIRE(hosts_test::works_on("cpu"));  // its kernels' code is kept from here on
  const std::int64_t all = allocations_of([] { hosts_test::works_on("cpu"); });
  REQUIRE(all > 1'000);
  int failures = 0;
  for (int i = 0; i < 60; ++i) {
    const bool failed = fails_with(all * i / 60 + i % 7, [] { hosts_test::works_on("cpu"); });
    failures += failed;
    INFO(i << " of 60, all: " << all);
    REQUIRE(hosts_test::works_on("cpu"));
  }
  CHECK(failures > 40);
}

TEST_CASE("memory exhaustion: kernels are compiled, also on one of several threads") {
  REQUIRE(compiles_anew(0));
  for (const int threads : {1, 4}) {
    set_threads(threads);
    const int first = 100 * threads;
    const std::int64_t all = allocations_of([&] { compiles_anew(first); });
    int failures = 0;
    for (int i = 1; i <= 60; ++i) {
      INFO(i << " of 60, " << threads << " threads, all: " << all);
      failures += fails_with(all * i / 60 + i % 7, [&] { compiles_anew(first + i); });
      REQUIRE(compiles_anew(first + i));
    }
    CHECK(failures > 40);
  }
  set_threads(1);
}

TEST_CASE("memory exhaustion: the first call of a process") {
  for (int requests = 0; requests < 250; requests += 7) {
    INFO(requests << " requests");
    REQUIRE(kiln::testing::in_new_process("[.first_call]", "KILN_TEST_REQUESTS",
                                          std::to_string(requests).c_str()) == 0);
  }
}

TEST_CASE("child: memory ends in the first call", "[.first_call]") {
  const hosts_test::Sample sample("cpu");
  const Array fed = Array::full({3, 6, 8}, 1);
  const char* requests = std::getenv("KILN_TEST_REQUESTS");
  REQUIRE(requests != nullptr);
  const bool failed = fails_with(std::atoi(requests), [&] { sample.f({fed}); });
  CHECK(sample.right(3, failed ? 0.125 : 0.0625));
}
