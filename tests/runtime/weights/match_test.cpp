// Tests which tensor belongs to which variable, and the table that is shown when that is unclear.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "runtime/weights/weights_match.h"

#include <kiln/error.h>

#include <algorithm>

using namespace kiln;
using namespace kiln::runtime;

namespace {

using Slots = std::vector<WeightSlot>;

constexpr WeightMatchRules kLoose{.strict = false};

std::string error_of(const Slots& tensors, const Slots& variables, WeightMatchRules rules = {}) {
  return kiln::testing::error_text<ValueError>(
      [&] { match_weights(tensors, variables, rules, "w.st"); });
}

WeightSlot slot(const std::string& name, std::vector<std::int64_t> dims,
                DType dtype = DType::Float32) {
  return {name, dtype, std::move(dims)};
}

std::string nearest(const std::string& name, std::vector<std::string> names) {
  return near_name(name, names);
}

}  // namespace

TEST_CASE("weight matching: equal names are paired in the variables' order") {
  const Slots tensors{slot("a", {2}), slot("b", {}), slot("c", {3, 0})};
  const Slots variables{slot("c", {3, 0}), slot("a", {2}), slot("b", {})};
  const std::vector<WeightPair> pairs = match_weights(tensors, variables, {}, "w.st").pairs;
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[0].tensor == 2);
  CHECK(pairs[0].variable == 0);
  CHECK(pairs[1].tensor == 0);
  CHECK(pairs[2].tensor == 1);
  CHECK(match_weights({}, {}, {}, "w.st").pairs.empty());
}

TEST_CASE("weight matching: the table of differences") {
  const Slots tensors{slot("dense/kernel", {4, 3}), slot("dense/bais", {4}),
                      slot("conv", {8, 3, 5, 5}), slot("other", {7}),
                      slot("half", {1}, DType::Float16)};
  const Slots variables{slot("dense/kernel", {3, 4}), slot("dense/bias", {4}),
                        slot("conv", {5, 5, 3, 8}), slot("gamma", {}), slot("half", {1})};
  CHECK(error_of(tensors, variables) ==
        "load_weights: the 5 tensors of w.st and the 5 variables differ in 7 names\n"
        "  name            file               variable           problem\n"
        "  'dense/kernel'  float32 [4,3]      float32 [3,4]      other shape; fits if transposed by"
        " [1,0]\n"
        "  'conv'          float32 [8,3,5,5]  float32 [5,5,3,8]  other shape; fits if transposed by"
        " [2,3,1,0]\n"
        "  'half'          float16 [1]        float32 [1]        other dtype; strict = false"
        " casts\n"
        "  'dense/bias'    -                  float32 [4]        not in the file; did you mean"
        " 'dense/bais'?\n"
        "  'gamma'         -                  float32 []         not in the file\n"
        "  'dense/bais'    float32 [4]        -                  no variable; did you mean"
        " 'dense/bias'?\n"
        "  'other'         float32 [7]        -                  no variable");
}

TEST_CASE("weight matching: without strict only shapes of equal names must agree") {
  const Slots tensors{slot("a", {2}, DType::Float64), slot("x", {1}), slot("s", {2, 3})};
  const Slots variables{slot("y", {1}), slot("a", {2})};
  const WeightMatch match = match_weights(tensors, variables, kLoose, "w.st");
  REQUIRE(match.pairs.size() == 1);
  CHECK(match.pairs[0].tensor == 0);
  CHECK(match.pairs[0].variable == 1);
  CHECK(match.missing_variables == std::vector<std::size_t>{0});
  CHECK(match.unused_tensors == std::vector<std::size_t>{1, 2});
  CHECK(error_of(tensors, {slot("s", {6})}, kLoose) ==
        "load_weights: the 3 tensors of w.st and the 1 variable differ in 1 name\n"
        "  name      file           variable     problem\n"
        "  's'       float32 [2,3]  float32 [6]  other shape; load_weights with "
        "skip_mismatch = true skips it");
}

TEST_CASE("weight matching: skip_mismatch leaves other shapes out, but not all variables") {
  const Slots tensors{slot("head", {8, 3}), slot("b", {2}), slot("a", {1}, DType::Float16)};
  const Slots variables{slot("a", {1}), slot("head", {8, 5}), slot("b", {2})};
  const WeightMatchRules skipping{.strict = false, .skip_mismatch = true};
  const WeightMatch match = match_weights(tensors, variables, skipping, "w.st");
  REQUIRE(match.pairs.size() == 2);
  CHECK(match.pairs[0].tensor == 2);
  CHECK(match.pairs[1].variable == 2);
  CHECK(match.missing_variables == std::vector<std::size_t>{1});
  CHECK(match.unused_tensors == std::vector<std::size_t>{0});
  const WeightMatchRules strict{.skip_mismatch = true};
  CHECK(error_of(tensors, variables, strict).ends_with("other dtype; strict = false casts"));
  CHECK(match_weights(Slots{tensors[0], tensors[1]}, Slots{variables[1], variables[2]}, strict,
                      "w.st")
            .pairs.size() == 1);
  for (const WeightMatchRules& rules : {skipping, strict}) {
    CHECK(error_of({slot("s", {2, 3})}, {slot("s", {6})}, rules) ==
          "load_weights: the 1 tensor of w.st and the 1 variable differ in 1 name\n"
          "  name      file           variable     problem\n"
          "  's'       float32 [2,3]  float32 [6]  other shape");
  }
}

TEST_CASE("weight matching: without strict one variable must be in the file") {
  CHECK(error_of({slot("model/a", {2})}, {slot("a", {2})}, kLoose) ==
        "load_weights: the 1 tensor of w.st and the 1 variable differ in 2 names\n"
        "  name       file         variable     problem\n"
        "  'a'        -            float32 [2]  not in the file; did you mean 'model/a'?\n"
        "  'model/a'  float32 [2]  -            no variable; did you mean 'a'?");
  CHECK(error_of({}, {slot("a", {2})}, kLoose).ends_with("not in the file"));
  CHECK(match_weights(Slots{slot("a", {2})}, {}, kLoose, "w.st").unused_tensors.size() == 1);
}

TEST_CASE("weight matching: a dtype that Kiln does not have") {
  const Slots tensors{{"a", DType::Float32, {2}, "F8_E4M3"}, slot("b", {1})};
  CHECK(match_weights(tensors, Slots{slot("b", {1})}, kLoose, "w.st").pairs.size() == 1);
  CHECK(error_of(tensors, {slot("a", {2})}, kLoose) ==
        "load_weights: the 2 tensors of w.st and the 1 variable differ in 1 name\n"
        "  name      file         variable     problem\n"
        "  'a'       F8_E4M3 [2]  float32 [2]  a dtype that Kiln does not have");
}

TEST_CASE("weight matching: a long table is cut") {
  Slots variables;
  for (int i = 0; i < 100; ++i) variables.push_back(slot("v" + std::to_string(i), {1}));
  const std::string message = error_of({}, variables);
  CHECK(std::count(message.begin(), message.end(), '\n') == 22);
  CHECK(message.ends_with("\n  and 80 more"));
}

TEST_CASE("weight matching: near-miss names") {
  CHECK(nearest("kernel", {"bias", "kernal"}) == "kernal");
  CHECK(nearest("kernel", {"bias", "gamma"}).empty());
  CHECK(nearest("dense/kernel", {"kernel", "dense/kernal"}) == "kernel");
  CHECK(nearest("kernel", {"model/dense/kernel"}) == "model/dense/kernel");
  CHECK(nearest("dense_1/bias", {"dense_3/kernel", "dense_2/bias"}) == "dense_2/bias");
  CHECK(nearest("a", {"b"}).empty());
  CHECK(nearest("", {"b", ""}).empty());
  CHECK(nearest("x", {}).empty());
  CHECK(nearest(std::string(1000, 'a'), {std::string(1000, 'a')}).empty());
}

TEST_CASE("weight matching: many unknown names are compared in bounded time") {
  Slots tensors, variables;
  for (int i = 0; i < 20000; ++i) {
    tensors.push_back(slot(std::string(150, 't') + std::to_string(i), {1}));
    variables.push_back(slot(std::string(150, 'v') + std::to_string(i), {1}));
  }
  CHECK(error_of(tensors, variables).ends_with("\n  and 39980 more"));
}
