// Tests the complexity of fusion and of memory planning in deep graphs, counted rather than timed,
// and that the order of groups and the addresses of blocks are right.
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"

#include "backends/codegen/fusion/fuse.h"
#include "backends/codegen/fusion/fusion_plan.h"
#include "backends/codegen/fusion/group_order.h"
#include "backends/codegen/plan/plan_memory.h"
#include "core/autodiff/vjp.h"
#include "core/ops/build.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace kiln;
using namespace kiln::codegen;
using ir::Value;

namespace {

Value input(ir::Dims dims) { return test::placeholder({DType::Float32, std::move(dims)}); }

/// A value and its gradients with respect to the inputs.
struct Deep {
  Value result;
  std::vector<Value> wanted;
};

Deep chain(int depth) {
  const Value x = input({4, 8});
  Value y = x;
  for (int i = 0; i < depth; ++i) y = ir::unary(i % 2 == 0 ? ir::Op::Tanh : ir::Op::Sin, y);
  return {y, {x}};
}

Deep scaled_chain(int depth) {
  Deep deep{input({4, 8}), {}};
  for (int i = 0; i < depth; ++i) {
    deep.wanted.push_back(input({4, 8}));
    deep.result = ir::unary(ir::Op::Tanh, deep.result * deep.wanted.back());
  }
  return deep;
}

Deep layers(int depth) {
  Deep deep{input({4, 8}), {}};
  for (int i = 0; i < depth; ++i) {
    deep.wanted.push_back(input({8, 8}));
    deep.result =
        ir::unary(ir::Op::Tanh, ir::dot(deep.result, {0, 1}, deep.wanted.back(), {1, 2}, {0, 2}));
  }
  return deep;
}

/// Fuses the updates of a training step: each value less a tenth of its gradient.
FusionPlan fused(const Deep& deep) {
  const Value slope = ir::broadcast_to(ir::scalar_constant(DType::Float32, 1), deep.result.dims());
  const std::vector<Value> results{deep.result}, slopes{slope};
  const autodiff::Vjp found = autodiff::vjp(results, slopes, deep.wanted);
  std::vector<Value> roots{deep.result};
  for (std::size_t i = 0; i < deep.wanted.size(); ++i) {
    roots.push_back(deep.wanted[i] - found.dx[i] * 0.1);
  }
  FuseOptions options;
  options.claims = [](const ir::Node& node) { return node.op == ir::Op::Dot; };
  return fuse(roots, SizeNames(), options);
}

/// The groups that each group can reach, by trying all paths.
std::vector<std::vector<bool>> all_paths(const std::vector<std::vector<int>>& edges) {
  const std::size_t count = edges.size();
  std::vector<std::vector<bool>> reached(count, std::vector<bool>(count, false));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<int> open = edges[i];
    while (!open.empty()) {
      const auto at = static_cast<std::size_t>(open.back());
      open.pop_back();
      if (reached[i][at]) continue;
      reached[i][at] = true;
      open.insert(open.end(), edges[at].begin(), edges[at].end());
    }
  }
  return reached;
}

/// Checks that blocks alive at the same step do not overlap, and the size of the arena.
void check_addresses(std::vector<MemoryBlock> blocks, int steps, double allowed) {
  const MemoryPlan plan = plan_memory(blocks, steps);
  CHECK(static_cast<double>(plan.bytes) <= allowed * static_cast<double>(plan.live_bytes));
  std::sort(blocks.begin(), blocks.end(),
            [](const MemoryBlock& a, const MemoryBlock& b) { return a.offset < b.offset; });
  blocks.erase(std::remove_if(blocks.begin(), blocks.end(),
                              [](const MemoryBlock& block) { return block.bytes == 0; }),
               blocks.end());
  int shared = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = i + 1; j < blocks.size(); ++j) {
      if (blocks[j].offset >= blocks[i].offset + blocks[i].bytes) break;
      if (blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last) ++shared;
    }
  }
  CHECK(shared == 0);
}

}  // namespace

TEST_CASE("fusion: the work grows linearly with the depth of a graph") {
  for (const auto& make : {chain, scaled_chain, layers}) {
    const FusionPlan few = fused(make(1000)), many = fused(make(8000));
    INFO(few.edge_visits << " visits of edges of " << few.groups.size() << " groups, "
                         << many.edge_visits << " of " << many.groups.size());
    CHECK(many.groups.size() > 4 * few.groups.size());
    CHECK(many.edge_visits <= 10 * few.edge_visits + 1000);
  }
}

// Each stage of a kernel may repeat all nodes before it: the code of one kernel for all would grow
// with the square.
TEST_CASE("fusion: the code of kernels grows linearly with reductions one after another") {
  const auto code_of = [](int count) {
    Value y = input({4, 8});
    for (int i = 0; i < count; ++i) {
      y = y - ir::broadcast(ir::reduce_sum(y, {1}), {4, 8}, {0});
    }
    const FusionPlan plan = fuse({y}, SizeNames(), {});
    std::size_t code = 0;
    for (const FusionGroup& group : plan.groups) {
      const auto* kernel = std::get_if<KernelGroup>(&group);
      if (kernel == nullptr) continue;
      code += kernel->members.size() * static_cast<std::size_t>(kernel->stages);
    }
    CHECK((print(plan).find(", full: ") != std::string::npos) == (count > 4));
    return static_cast<double>(code) / count;
  };
  CHECK(code_of(4) < code_of(50));
  CHECK(code_of(800) <= 1.5 * code_of(50));
}

TEST_CASE("group order: groups stay in execution order, whatever edges are added") {
  constexpr int kGroups = 60;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 generator(seed);
    std::vector<int> run(kGroups);  // all edges follow this order, which is not numeric
    std::iota(run.begin(), run.end(), 0);
    std::shuffle(run.begin(), run.end(), generator);
    std::uniform_int_distribution<std::size_t> any(0, kGroups - 1);
    GroupOrder order;
    std::vector<std::vector<int>> edges(kGroups);
    for (int i = 0; i < kGroups; ++i) order.add();
    for (int count = 0; count < 90; ++count) {
      const std::size_t a = any(generator), b = any(generator);
      if (a == b) continue;
      const int earlier = run[std::min(a, b)], later = run[std::max(a, b)];
      order.add_edge(earlier, later);
      edges[static_cast<std::size_t>(earlier)].push_back(later);
    }
    const auto paths = all_paths(edges);
    const std::vector<int> sorted = order.sorted();
    REQUIRE(sorted.size() == kGroups);
    for (std::size_t i = 0; i < kGroups; ++i) {
      for (std::size_t j = 0; j < kGroups; ++j) {
        const int first = static_cast<int>(i), second = static_cast<int>(j);
        CHECK(order.may_come_before(first, second) == paths[i][j]);
        if (!paths[i][j]) continue;
        const auto at = [&](int unit) { return std::find(sorted.begin(), sorted.end(), unit); };
        CHECK(at(first) < at(second));
      }
    }
  }
}

TEST_CASE("group order: queries about distant groups visit few groups, then answer yes") {
  GroupOrder order;
  for (int i = 0; i < 100000; ++i) {
    order.add();
    if (i >= 2) order.add_edge(i - 2, i);
  }
  CHECK(order.may_come_before(0, 99998));
  CHECK(order.may_come_before(0, 99999));  // unrelated chains, too far apart to search
  CHECK(order.edge_visits() < 1000);
  CHECK(!order.may_come_before(99999, 0));
}

TEST_CASE("memory plan: few or very many blocks do not overlap, and the arena is hardly larger") {
  for (const int layers : {100, 10000}) {
    std::vector<MemoryBlock> blocks;
    for (int i = 0; i < layers; ++i) {
      const int bytes = i % 3 == 0 ? 256 : 1024, end = 2 * layers - i;
      blocks.push_back({bytes, i, end});        // of the forward pass, read by the backward one
      blocks.push_back({bytes, end, end + 1});  // a gradient that the next step reads
    }
    check_addresses(blocks, 2 * layers + 1, 1.01);
    std::mt19937 generator(7);
    std::uniform_int_distribution<int> size(0, 4096), life(0, 40), start(0, layers);
    for (MemoryBlock& block : blocks) {
      block.bytes = size(generator);
      block.first = start(generator);
      block.last = block.first + life(generator);
    }
    check_addresses(blocks, layers + 40, 1.25);
  }
}
