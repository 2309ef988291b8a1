// Tests the wrappers of public functions: failed allocations become OutOfMemory, and a Call ends
// with its function.
#include "tests/support/catch.h"

#include "core/k/base/call.h"

#include <kiln/error.h>

namespace kiln::test {
namespace {

constexpr Where kOuter{"outer.cpp", 1}, kInner{"inner.cpp", 2};

/// The text of the OutOfMemory that `work` throws.
template <class Work>
std::string out_of_memory_text(const Work& work) {
  try {
    work();
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("call: std::bad_alloc and std::length_error become OutOfMemory") {
  const auto allocate = [] { throw std::bad_alloc(); };
  const auto grow = [] { std::vector<int>().reserve(std::vector<int>().max_size() + 1); };
  const char* expected = "tile: no memory [outer.cpp:1]";
  CHECK(out_of_memory_text([&] { api_call("tile", kOuter, allocate); }) == expected);
  CHECK(out_of_memory_text([&] { api_call("tile", kOuter, grow); }) == expected);
  CHECK(out_of_memory_text([&] { translate_exceptions("tile", kOuter, allocate); }) == expected);
  CHECK(out_of_memory_text([&] { translate_exceptions("tile", kOuter, grow); }) == expected);
}

TEST_CASE("call: OutOfMemory names the outermost call") {
  const auto allocate = [] { throw std::bad_alloc(); };
  const auto nested = [&] { api_call("tile", kInner, allocate); };
  CHECK(out_of_memory_text([&] { api_call("stack", kOuter, nested); }) ==
        "stack: no memory [outer.cpp:1]");
  CHECK(out_of_memory_text([&] { translate_exceptions("stack", kOuter, nested); }) ==
        "tile: no memory [inner.cpp:2]");
  CHECK(Call::function().empty());
}

TEST_CASE("call: other exceptions and results pass") {
  CHECK_THROWS_AS(api_call("tile", kOuter, [] { throw std::runtime_error("other"); }),
                  std::runtime_error);
  CHECK(api_call("tile", kOuter, [] { return Call::function(); }) == "tile");
  const int x = 0;
  CHECK(&api_call("tile", kOuter, [&]() -> const int& { return x; }) == &x);
}

}  // namespace kiln::test
