// Tests that depth needs no stack: a chain of a million nodes is built, walked, rebuilt and freed
// on a thread with a 256 KiB stack, in time linear in its length.
#include "tests/support/deep.h"

#include "core/ir/intern.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"

#include <stdexcept>

using namespace kiln;
using namespace kiln::ir;

namespace {

Value argument(std::int64_t id) {
  return make(Op::Placeholder, PlaceholderAttrs{id, "x", {DType::Float32, {2}}}, {});
}

Value chain(const Value& start, std::size_t length) {
  Value value = start;
  for (std::size_t i = 0; i < length; ++i) value = value + start;
  return value;
}

}  // namespace

TEST_CASE("deep graphs: a chain of a million nodes is built, walked and freed in linear time") {
  const std::size_t before = live_node_count();
  test::check_linear(1'000'000, [&](std::size_t length, test::Laps& laps) {
    const Value x = argument(1);
    std::vector<Value> roots{chain(x, length)};
    laps.end("build");
    const std::size_t alive = live_node_count();
    const bool same = chain(x, length) == roots[0];
    laps.end("build again");
    const std::size_t visited = topological_order(roots).size();
    laps.end("walk");
    const std::size_t guards = collect_guards(roots).size();
    laps.end("guards");
    roots.clear();
    laps.end("die");
    if (!same) throw std::logic_error("the second chain is another one");
    if (alive != before + length + 1) throw std::logic_error("other nodes live");
    if (visited != length + 1) throw std::logic_error("other nodes were visited");
    if (guards != 0) throw std::logic_error("there are guards");
  });
  CHECK(live_node_count() == before);
}

TEST_CASE("deep graphs: a chain is rebuilt on other arguments in linear time") {
  const std::size_t before = live_node_count();
  test::check_linear(400'000, [](std::size_t length, test::Laps& laps) {
    const Value x = argument(1), y = argument(2);
    const std::vector<Value> roots{chain(x, length)};
    laps.end("build");
    const std::vector<Value> rebuilt = replace_values(roots, Replacements{{x, y}});
    laps.end("rebuild");
    if (rebuilt[0] != chain(y, length)) throw std::logic_error("the chains differ");
  });
  CHECK(live_node_count() == before);
}

TEST_CASE("wide graphs: a node and its operands are freed once each") {
  const std::size_t before = live_node_count();
  {
    std::vector<Value> parts;
    for (std::int64_t i = 0; i < 1000; ++i) parts.push_back(argument(i));
    const Value joined = concat(parts, 0);
    parts.clear();
    CHECK(live_node_count() == before + 1001);
    CHECK(joined.dims() == Dims{2000});
  }
  CHECK(live_node_count() == before);
}
