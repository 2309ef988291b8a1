// Tests errors of tensors that exceed the host's memory: the error names the function, the tensor
// and the user's lines, no variable changes, and the next call works.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/runtime/host_allocations/counted.h"

#include <kiln/k.h>

#include <cstring>
#include <string>

using namespace kiln;
using allocations_test::reject_larger;
using kiln::testing::error_of;

namespace {

constexpr std::int64_t kCount = std::int64_t{1} << 19;
constexpr std::size_t kTooLarge = std::size_t{1} << 20;

std::string line(int number) { return std::string(__FILE__) + ":" + std::to_string(number); }

/// The whole text of the OutOfMemory of `action` while no allocation of a mebibyte succeeds.
template <class Action>
std::string text_of(const Action& action) {
  release_idle_memory();  // Arrays reuse idle memory without an allocation
  reject_larger(kTooLarge);
  std::string text = error_of<OutOfMemory>(action);
  reject_larger(0);
  return text;
}

/// Doubles `x`, and counts its calls in `calls`.
struct Doubling {
  Doubling() {
    const Tensor x = placeholder({.shape = {None}, .name = "x"});
    made_at = __LINE__ + 1;
    const Tensor y = x * 2.0;
    f = function({x}, {y},
                 {.updates = {update_add(calls, 1.0)}, .name = "doubling", .backend = "cpu"});
  }

  const Variable calls = variable(0.0f, {.name = "calls"});
  int made_at = 0;
  Function f;
};

}  // namespace

TEST_CASE("error texts: a result of a call") {
  const Doubling d;
  const Array fed = Array::full({kCount}, 1);
  const int called_at = __LINE__ + 1;
  const std::string text = text_of([&] { d.f({fed}); });
  CHECK(text ==
        "doubling: no memory for 2097152 bytes of float32[524288]; for outputs[0] "
        "(operator* at " +
            line(d.made_at) + ") [" + line(called_at) + "]");
  CHECK(get_value(d.calls) == Array(0.0f));
  CHECK(d.f({fed})[0] == Array::full({kCount}, 2));
  CHECK(get_value(d.calls) == Array(1.0f));
}

TEST_CASE("error texts: the second result of a call") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const int made_at = __LINE__ + 1;
  const Function f = function({x}, {sum(x), x + 1}, {.name = "pair", .backend = "cpu"});
  const Array fed = Array::full({kCount}, 1);
  CHECK(text_of([&] { f({fed}); }).find("for outputs[1] (operator+ at " + line(made_at)) !=
        std::string::npos);
}

TEST_CASE("error texts: a result that nothing can count") {
  const Tensor x = placeholder({.shape = {None, None}, .name = "x"});
  const int made_at = __LINE__ + 1;
  const Tensor y = dot(transpose(x), x);
  const Function f = function({x}, {y}, {.name = "square", .backend = "cpu"});
  const int called_at = __LINE__ + 1;
  const auto call = [&] { f({Array::zeros({0, std::int64_t{1} << 40})}); };
  CHECK(error_of<OutOfMemory>(call) ==
        "square: no memory for float32[1099511627776,1099511627776], which is more than 2^63 "
        "bytes; for outputs[0] (dot at " +
            line(made_at) + ") [" + line(called_at) + "]");
  CHECK(f({Array::zeros({0, 2})})[0] == Array::zeros({2, 2}));
}

TEST_CASE("error texts: copies of inputs") {
  const Doubling d;
  const std::string input = "; for inputs[0] (x float32[";
  SECTION("of memory that is not aligned") {
    std::vector<std::byte> bytes(kCount * sizeof(float) + 1);
    std::vector<float> result(kCount);
    const std::vector<std::int64_t> dims{kCount};
    const ArrayView view{DType::Float32, bytes.data() + 1, dims};
    const MutableArrayView out{DType::Float32, result.data(), dims};
    const auto call = [&] { d.f.call_into({&view, 1}, {&out, 1}); };
    const std::string text = text_of(call);
    CHECK_THAT(text, Catch::Matchers::StartsWith(
                         "doubling: no memory for 2097152 bytes of float32[524288]" + input));
    CHECK(get_value(d.calls) == Array(0.0f));
    CHECK_NOTHROW(call());
  }
  SECTION("cast to the dtype of the placeholder") {
    const Array fed = Array::full({kCount}, 1, DType::Int8);
    const std::string text = text_of([&] { d.f({fed}); });
    CHECK_THAT(text, Catch::Matchers::StartsWith(
                         "doubling: no memory for 2097152 bytes of float32[524288]" + input));
    CHECK_NOTHROW(d.f({fed}));
  }
}

TEST_CASE("error texts: bools other than 0 and 1") {
  const Tensor x = placeholder({.shape = {None}, .dtype = DType::Bool, .name = "x"});
  const Function f = function({x}, {any(x)}, {.name = "f", .backend = "cpu"});
  const std::vector<unsigned char> sevens(4 * kCount, 7);
  const std::vector<std::int64_t> dims{4 * kCount};
  const ArrayView view{DType::Bool, sevens.data(), dims};
  bool result = false;
  const MutableArrayView out{DType::Bool, &result, {}};
  const auto call = [&] { f.call_into({&view, 1}, {&out, 1}); };
  CHECK_THAT(text_of(call),
             Catch::Matchers::StartsWith("f: no memory for 2097152 bytes of bools of 0 and 1; for "
                                         "inputs[0] (x bool["));
  CHECK_NOTHROW(call());
  CHECK(result);
}

TEST_CASE("error texts: variables") {
  SECTION("created") {
    const int at = __LINE__ + 1;
    CHECK(text_of([] { zeros({1024, 512}); }) ==
          "zeros: no memory for 2097152 bytes of float32[1024,512] [" + line(at) + "]");
    CHECK_THAT(text_of([] { random_normal_variable({1024, 512}, 0, 1); }),
               Catch::Matchers::StartsWith(
                   "random_normal_variable: no memory for 2097152 bytes of float32[1024,512] ["));
  }
  SECTION("read from a backend") {
    const int made_at = __LINE__ + 1;
    const Variable w = variable(Array::full({kCount}, 1), {.name = "w"});
    const Function f = function({}, {}, {.updates = {update(w, w * 2.0)}, .backend = "cpu"});
    f();
    const int read_at = __LINE__ + 1;
    CHECK(text_of([&] { get_value(w); }) ==
          "get_value: no memory for 2097152 bytes of float32[524288]; for variable 'w', 2097152 "
          "bytes of float32[524288] (variable at " +
              line(made_at) + ") [" + line(read_at) + "]");
    CHECK(get_value(w) == Array::full({kCount}, 2));
  }
}

TEST_CASE("error texts: temporary tensors on the host, with inputs and outputs") {
  const int made_at = __LINE__ + 1;
  const Tensor x = placeholder({.shape = {None, 64}, .name = "x"});
  const Tensor squares = dot(x, transpose(x)), y = x + sum(dot(squares, squares));
  const Function f = function({x}, {y}, {.name = "f", .backend = "cpu"});
  f({Array::full({2, 64}, 1)});
  const std::string text = text_of([&] { f({Array::full({512, 64}, 1)}); });
  INFO(text);
  CHECK(text.starts_with("f: no memory for "));
  const auto has = [&](const std::string& part) { return text.find(part) != text.npos; };
  CHECK(has(" bytes of temporary tensors; the largest: 1048576 bytes of float32[512,512] (dot at " +
            line(made_at + 1) + "), "));
  CHECK(has(", 131072 bytes of float32[512,64] (input x at " + line(made_at) + ")"));
  CHECK(has(", 131072 bytes of float32[512,64] (operator+ at " + line(made_at + 1) + ")"));
  CHECK_NOTHROW(f({Array::full({2, 64}, 1)}));
  CHECK_NOTHROW(f({Array::full({512, 64}, 1)}));
}
