// Tests which types convert implicitly to those of public arguments and results. A conversion that
// nobody wants makes a wrong program compile: 1.5 as a count, a comparison as a bool.
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <string>
#include <vector>

namespace {

using namespace kiln;

enum Unscoped { kThree = 3 };

/// The values that are tried, by a letter.
template <class To>
std::string accepted() {
  std::string letters;
  const auto add = [&](bool converts, const char* letter) { letters += converts ? letter : ""; };
  add(std::is_convertible_v<bool, To>, "b");
  add(std::is_convertible_v<char, To>, "c");
  add(std::is_convertible_v<std::int8_t, To>, "1");
  add(std::is_convertible_v<int, To>, "4");
  add(std::is_convertible_v<std::int64_t, To>, "8");
  add(std::is_convertible_v<std::size_t, To>, "u");
  add(std::is_convertible_v<Unscoped, To>, "e");
  add(std::is_convertible_v<float, To>, "f");
  add(std::is_convertible_v<double, To>, "d");
  add(std::is_convertible_v<std::nullptr_t, To>, "0");
  add(std::is_convertible_v<int*, To>, "*");
  add(std::is_convertible_v<const char*, To>, "s");
  add(std::is_convertible_v<std::string, To>, "S");
  add(std::is_convertible_v<NoneType, To>, "N");
  add(std::is_convertible_v<DType, To>, "D");
  add(std::is_convertible_v<Tensor, To>, "T");
  add(std::is_convertible_v<Variable, To>, "V");
  add(std::is_convertible_v<Operand, To>, "O");
  add(std::is_convertible_v<UpdateOp, To>, "U");
  add(std::is_convertible_v<Array, To>, "A");
  add(std::is_convertible_v<SparseArray, To>, "P");
  add(std::is_convertible_v<Function, To>, "F");
  add(std::is_convertible_v<std::optional<std::int64_t>, To>, "o");
  add(std::is_convertible_v<std::vector<std::int64_t>, To>, "v");
  add(std::is_convertible_v<std::vector<float>, To>, "w");
  add(std::is_convertible_v<std::vector<Tensor>, To>, "t");
  return letters;
}

}  // namespace

TEST_CASE("conversions: only those that are meant", "[k]") {
  // Whole numbers
  CHECK(accepted<WholeNumber>() == "148ue");
  CHECK(accepted<Seed>() == "148ue");
  CHECK(accepted<Index>() == "148ue");
  CHECK(accepted<Steps>() == "148uev");
  CHECK(accepted<Axes>() == "148ueNv");
  CHECK(accepted<ShapeEntry>() == "148ueNTVo");
  CHECK(accepted<std::optional<WholeNumber>>() == "148ueo");
  CHECK(accepted<Sides>().empty());
  CHECK(accepted<Flag>() == "b");
  CHECK(accepted<StringArgument>() == "sS");
  CHECK(accepted<std::optional<StringArgument>>() == "sS");
  // Operands
  CHECK(accepted<Operand>() == "b148ufdTVO");
  CHECK(accepted<OptionalOperand>() == "b148ufdNTVO");
  CHECK(accepted<Branch>() == "b148ufdTVO");
  CHECK(accepted<Shape>() == "TVv");
  CHECK(accepted<DTypeArgument>() == "sSND");
  CHECK(accepted<NoneType>() == "N");
  CHECK(accepted<Where>().empty());
  // Tensors and host values
  CHECK(accepted<Tensor>() == "TV");
  CHECK(accepted<Variable>() == "V");
  CHECK(accepted<UpdateOp>() == "U");
  CHECK(accepted<Array>() == "b148ufdAvw");
  CHECK(accepted<SparseArray>() == "P");
  CHECK(accepted<Feed>() == "b148ufdAPvw");
  CHECK(accepted<Function>() == "F");
}

TEST_CASE("conversions: a null pointer is no string", "[k]") {
  const char* const null = std::vector<const char*>(1).front();
  CHECK_THROWS_AS(name_scope(null), ValueError);
  CHECK_THROWS_WITH(placeholder({.ndim = 1, .name = null}),
                    Catch::Matchers::StartsWith("a string is a null pointer [" __FILE__ ":"));
  CHECK(StringArgument(std::string("same")) == "same");
}

TEST_CASE("conversions: only variables are assigned to", "[k]") {
  CHECK(std::is_assignable_v<Tensor&, Tensor>);
  CHECK_FALSE(std::is_assignable_v<Tensor, Tensor>);
  CHECK_FALSE(std::is_assignable_v<Tensor, const Tensor&>);
  CHECK(std::is_nothrow_move_assignable_v<Tensor>);
  CHECK(std::is_nothrow_move_constructible_v<Tensor>);
}

TEST_CASE("conversions: {} is a list without axes", "[k]") {
  CHECK_FALSE(std::is_default_constructible_v<Axes>);
  const Axes none = {}, all = {None};
  CHECK(none.is_set());
  CHECK_FALSE(all.is_set());
}

TEST_CASE("conversions: tensors and results have no truth value", "[k]") {
  CHECK_FALSE(std::is_constructible_v<bool, Tensor>);
  CHECK_FALSE(std::is_constructible_v<bool, Variable>);
  CHECK_FALSE(std::is_constructible_v<bool, Operand>);
  CHECK_FALSE(std::is_constructible_v<bool, UpdateOp>);
  CHECK_FALSE(std::is_constructible_v<bool, Array>);
  CHECK_FALSE(std::is_convertible_v<Function, bool>);
  CHECK(std::is_constructible_v<bool, Function>);  // whether it was compiled, as of std::function
}

TEST_CASE("conversions: integers beyond int64", "[k]") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(std::int64_t{WholeNumber(~std::uint64_t{0})} == kMax);
  CHECK(std::int64_t{Seed(~std::uint64_t{0})} == -1);  // all 64 bits
  CHECK(Index(~std::uint64_t{0}).position() == kMax);
  CHECK(ShapeEntry(~std::size_t{0}).size() == kMax);
  CHECK(std::int64_t{WholeNumber(-1)} == -1);
  const Tensor x = placeholder({.shape = {3}});
  CHECK_THROWS_AS(x[~std::size_t{0}], ValueError);  // not the last element
  CHECK_THROWS_AS(reshape(x, {~std::size_t{0}}), ValueError);  // not the size that fits
}

TEST_CASE("results: members of temporaries outlive them", "[k]") {
  const auto twice = [](const Tensor& x) { return 2 * x; };
  const auto& constraint = variable({1.}, {.constraint = twice}).constraint();
  CHECK(eval(constraint(constant(3))) == Array(6.f));
  CHECK_FALSE(std::is_reference_v<decltype(std::declval<Variable>().constraint())>);
  CHECK_FALSE(std::is_reference_v<decltype(std::declval<Tensor>().impl())>);
}

TEST_CASE("results: elements of temporaries outlive them", "[k]") {
  const auto two = [] { return Results<Array>{Array{1.f, 2.f}, Array{3}}; };
  const std::vector<Array> list = two();
  CHECK(list.size() == 2);
  const auto& first = two()[0];
  const auto elements = two().front().as<float>();
  std::vector<float> seen;
  for (const float value : two().at(0).as<float>()) seen.push_back(value);
  for (const std::int64_t size : two()[0].dims()) seen.push_back(static_cast<float>(size));
  CHECK(seen == std::vector<float>{1, 2, 2});
  CHECK(first == Array{1.f, 2.f});
  CHECK(std::vector<float>(elements.begin(), elements.end()) == std::vector<float>{1, 2});
  CHECK(std::span<const float>(elements).back() == 2);
  CHECK(two()[0].as<float>()[1] == 2);
  CHECK(two().back().as<std::int32_t>().front() == 3);
  CHECK_THROWS_AS(two()[1].as<float>(), TypeError);
  CHECK_THROWS_AS(two().at(2), std::out_of_range);
  CHECK(Array::zeros({0}).as<float>().empty());
  std::vector<std::vector<Array>> all;
  all.push_back(two());
  CHECK(all[0] == two());
  std::size_t count = 0;
  for (auto& array : two()) count += static_cast<std::size_t>(array.size());
  CHECK(count == 3);
}
