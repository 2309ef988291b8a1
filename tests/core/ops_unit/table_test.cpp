// Tests the table of ops: requirements on every definition.
#include "tests/support/catch.h"

#include "core/ops/op.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

using namespace kiln;
using namespace kiln::ir;

TEST_CASE("op definitions: every op is at its position, and found by its name and code") {
  std::set<std::string_view> names;
  std::set<int> codes;
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    const OpDef& d = all_ops()[i];
    INFO(d.name);
    CHECK(static_cast<std::size_t>(d.op) == i);
    CHECK(&def(d.op) == &d);
    CHECK(find_op(d.name) == &d);
    CHECK(names.insert(d.name).second);
    CHECK(codes.insert(d.code).second);
    CHECK(find_op(static_cast<std::uint64_t>(d.code)) == &d);
  }
  CHECK(find_op(std::uint64_t{100000}) == nullptr);
  CHECK(find_op("") == nullptr);
  CHECK(find_op("tan") == nullptr);
  CHECK(find_op("TANH") == nullptr);
}

TEST_CASE("op definitions: names are lower case words and digits") {
  for (const OpDef& d : all_ops()) {
    INFO(d.name);
    CHECK(std::all_of(d.name.begin(), d.name.end(), [](unsigned char c) {
      return std::islower(c) || std::isdigit(c) || c == '_';
    }));
  }
}

TEST_CASE("op definitions: every one is documented") {
  for (const OpDef& d : all_ops()) {
    INFO(d.name);
    CHECK(d.infer != nullptr);
    CHECK(d.dtypes != 0);
    CHECK(d.attrs < std::variant_size_v<Attrs>);
    REQUIRE_FALSE(d.doc.empty());
    CHECK(d.doc.back() == '.');
    REQUIRE_FALSE(d.gradient.empty());
    CHECK(d.gradient.back() != '.');
  }
}

TEST_CASE("op definitions: as many names of operands as the arity") {
  for (const OpDef& d : all_ops()) {
    INFO(d.name);
    const auto named = std::count_if(d.operands.begin(), d.operands.end(),
                                     [](std::string_view name) { return !name.empty(); });
    CHECK(named == (d.arity == kVariadic ? 1 : d.arity));
  }
}

TEST_CASE("op definitions: a differentiable op has a rule, others say why not") {
  for (const OpDef& d : all_ops()) {
    INFO(d.name);
    const bool says_none = d.gradient.substr(0, 5) == "none:";
    CHECK(says_none == !d.differentiable);
    if (!d.differentiable) CHECK(d.grad == nullptr);
    // Ops with lambdas have their rules in core/autodiff.
    if (d.differentiable && d.lowering != Lowering::Control) CHECK((d.grad || d.expand));
  }
}

TEST_CASE("op definitions: the lowering class fits the rest of the definition") {
  for (const OpDef& d : all_ops()) {
    INFO(d.name);
    const bool scalar = d.scalar.floating || d.scalar.signed_integer || d.scalar.unsigned_integer;
    CHECK(scalar == has_scalar_meaning(d));
    CHECK((d.expand != nullptr) == (d.lowering == Lowering::Composite));
    if (d.commutative) CHECK(d.arity == 2);
    if (d.lowering == Lowering::Argument) CHECK(d.arity == 0);
    if (d.lowering == Lowering::Leaf) CHECK((d.arity == 0 || d.reads_state));
    if (d.alias) CHECK(d.arity == 1);
    if (d.expensive) CHECK(scalar);
    if (d.combiner == Combiner::None) {
      CHECK(d.lowering != Lowering::Reduce);
      CHECK(d.lowering != Lowering::Running);
    } else {
      CHECK(d.lowering != Lowering::Elementwise);
    }
    // An op with a meaning on signed integers has one on unsigned integers.
    CHECK((d.scalar.signed_integer == nullptr) == (d.scalar.unsigned_integer == nullptr));
    const bool takes_integers = (d.dtypes & kIntegers) != 0 || d.dtypes == kBools;
    if (scalar) CHECK(takes_integers == (d.scalar.signed_integer != nullptr));
  }
}
