// Tests numbers that are no DType, as they come from a file or from uninitialised memory: functions
// that take a dtype throw a TypeError.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include <kiln/k.h>

#include <array>
#include <functional>
#include <sstream>

using namespace kiln;
using kiln::testing::error_text;

TEST_CASE("unknown dtype: a type error of Array") {
  const std::array<float, 2> elements{1, 2};
  for (const int number : {13, 99, 255}) {
    const auto wrong = static_cast<DType>(number);
    const std::string expected = "Array: dtype DType(" + std::to_string(number) + ") is not known";
    const std::function<void()> calls[] = {[&] { Array::zeros({2}, wrong); },
                                           [&] { Array::zeros({0}, wrong); },
                                           [&] { Array::full({2}, 1, wrong); },
                                           [&] { Array::copy_of(elements.data(), {2}, wrong); },
                                           [&] { Array::view(elements.data(), {2}, wrong); },
                                           [&] { Array{1.f}.astype(wrong); },
                                           [&] { Array{true}.astype(wrong); }};
    for (const auto& call : calls) CHECK(error_text<TypeError>(call) == expected);
    std::ostringstream out;
    out << wrong;
    CHECK(out.str() == "DType(" + std::to_string(number) + ")");
  }
}

TEST_CASE("unknown dtype: a type error of K functions, which name it") {
  const auto wrong = static_cast<DType>(99);
  const Tensor x = placeholder({.shape = {2}, .dtype = "float32", .name = "x"});
  struct Row {
    const char* function;
    std::function<void()> call;
  };
  const Row rows[] = {{"cast", [&] { cast(x, wrong); }},
                      {"zeros", [&] { zeros({2}, {.dtype = wrong}); }},
                      {"placeholder", [&] { placeholder({.shape = {2}, .dtype = wrong}); }},
                      {"constant", [&] { constant(1, {.dtype = wrong}); }},
                      {"random_uniform", [&] { random_uniform({2}, {.dtype = wrong}); }},
                      {"ones_like", [&] { ones_like(x, {.dtype = wrong}); }}};
  for (const Row& row : rows) {
    INFO(row.function);
    const std::string error = error_text<TypeError>(row.call);
    CHECK(error.find(row.function) == 0);
    CHECK(error.find("dtype 'DType(99)' is not known") != std::string::npos);
  }
  CHECK(dtype_name(wrong) == "invalid");
}

TEST_CASE("unknown dtype: a type error of calls with views") {
  const Tensor x = placeholder({.shape = {2}, .dtype = "float32", .name = "x"});
  const Function f = function({x}, {x * 2}, {.name = "f", .backend = "reference"});
  const std::vector<std::int64_t> dims{2};
  std::array<float, 2> in{1, 2}, out{};
  const auto wrong = static_cast<DType>(99);
  const ArrayView good[] = {{DType::Float32, in.data(), dims}}, bad[] = {{wrong, in.data(), dims}};
  const MutableArrayView to[] = {{DType::Float32, out.data(), dims}};
  const MutableArrayView bad_to[] = {{wrong, out.data(), dims}};
  CHECK(error_text<TypeError>([&] { f.call_into(bad, to); }) ==
        "f: inputs[0] (x float32[2]) was fed a view of dtype DType(99)");
  CHECK(error_text<TypeError>([&] { f.call_into(good, bad_to); }) ==
        "f: outputs[0] is float32[2] but the view is DType(99)[2]");
  f.call_into(good, to);
  CHECK(out == std::array<float, 2>{2, 4});
}
