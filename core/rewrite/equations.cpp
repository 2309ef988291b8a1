// The equations. Each holds bit for bit for the dtypes it lists (subnormal floats count as zeros);
// tests/core/rewrite checks that on random and special values. Missing, because they are wrong for
// floats: x + 0 = x (-0 + 0 is 0), x * 0 = 0 and x - x = 0 (NaN, infinity).
//
//   Before: %2 = add %0 (neg %1)        After: %2 = sub %0 %1        (add_neg)
#include "core/rewrite/rules.h"
#include "core/types/no_destructor.h"

namespace kiln::rewrite {
namespace {

using ir::Op;

std::vector<Equation> make_equations() {
  const Pattern x = variable(0), y = variable(1), z = variable(2);
  const Pattern c = condition(3);
  const auto maximum = [](const Pattern& a, const Pattern& b) {
    return apply(Op::Maximum, {a, b});
  };
  const auto minimum = [](const Pattern& a, const Pattern& b) {
    return apply(Op::Minimum, {a, b});
  };
  const auto select = [](const Pattern& p, const Pattern& a, const Pattern& b) {
    return apply(Op::Select, {p, a, b});
  };
  const auto conjunction = [](const Pattern& a, const Pattern& b) {
    return apply(Op::And, {a, b});
  };
  const auto disjunction = [](const Pattern& a, const Pattern& b) { return apply(Op::Or, {a, b}); };
  const auto negation = [](const Pattern& a) { return apply(Op::Not, {a}); };
  const ir::DTypeSet numbers = ir::kNumbers, integers = ir::kIntegers, any = ir::kAnyDType;
  return {
      {"add_zero_integer", x + 0.0, x, integers},
      {"add_minus_zero", x + -0.0, x, ir::kFloats},
      {"sub_zero", x - 0.0, x, numbers},
      {"sub_self_integer", x - x, 0.0, integers},
      {"mul_one", x * 1.0, x, numbers},
      {"mul_zero_integer", x * 0.0, 0.0, integers},
      {"mul_minus_one", x * -1.0, -x, ir::kSignedIntegers | ir::kFloats},
      {"div_one", x / 1.0, x, numbers},
      {"neg_neg", -(-x), x, numbers},
      {"add_neg", x + -y, x - y, numbers},
      {"sub_neg", x - -y, x + y, numbers},
      {"neg_sub_integer", -(x - y), y - x, integers},
      {"mul_neg_neg", -x * -y, x * y, numbers},
      {"abs_neg", apply(Op::Abs, {-x}), apply(Op::Abs, {x}), ir::kSignedIntegers | ir::kFloats},
      {"abs_abs", apply(Op::Abs, {apply(Op::Abs, {x})}), apply(Op::Abs, {x}), numbers},
      {"mul_distribute_integer", x * y + z * y, (x + z) * y, integers},
      {"maximum_self", maximum(x, x), x, numbers},
      {"minimum_self", minimum(x, x), x, numbers},
      {"maximum_again", maximum(maximum(x, y), y), maximum(x, y), numbers},
      {"minimum_again", minimum(minimum(x, y), y), minimum(x, y), numbers},
      {"floor_floor", apply(Op::Floor, {apply(Op::Floor, {x})}), apply(Op::Floor, {x}),
       ir::kFloats},
      {"round_round", apply(Op::Round, {apply(Op::Round, {x})}), apply(Op::Round, {x}),
       ir::kFloats},
      {"select_same", select(c, x, x), x, any},
      {"select_true", select(1.0, x, y), x, any},
      {"select_false", select(0.0, x, y), y, any},
      {"select_not", select(negation(c), x, y), select(c, y, x), any},
      {"select_select", select(c, select(c, x, y), z), select(c, x, z), any},
      {"select_select_else", select(c, x, select(c, y, z)), select(c, x, z), any},
      {"not_not", negation(negation(x)), x, ir::kBools},
      {"and_self", conjunction(x, x), x, ir::kBools},
      {"or_self", disjunction(x, x), x, ir::kBools},
      {"and_true", conjunction(x, 1.0), x, ir::kBools},
      {"and_false", conjunction(x, 0.0), 0.0, ir::kBools},
      {"or_true", disjunction(x, 1.0), 1.0, ir::kBools},
      {"or_false", disjunction(x, 0.0), x, ir::kBools},
      {"equal_self_integer", apply(Op::Equal, {x, x}), 1.0, integers | ir::kBools},
      {"less_self", apply(Op::Less, {x, x}), 0.0, numbers},
  };
}

}  // namespace

std::span<const Equation> equations() {
  static constinit OnceConstructed<std::vector<Equation>> table;
  return table.get(make_equations);
}

}  // namespace kiln::rewrite
