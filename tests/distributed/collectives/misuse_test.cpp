// Errors where a collective is made, and of functions of a group that has ended.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

using Make = std::function<void()>;

template <class Call>
Make discards(const Call& call) {
  return [call] { static_cast<void>(call()); };
}

TEST_CASE("misuse: collectives before init") {
  const auto x = K::placeholder({.shape = {2}});
  const struct {
    const char* function;
    Make make;
  } rows[] = {{"all_reduce", discards([=] { return D::all_reduce(x); })},
              {"all_reduce", discards([=] { return D::all_reduce({x, x}); })},
              {"all_gather", discards([=] { return D::all_gather(x); })},
              {"reduce_scatter", discards([=] { return D::reduce_scatter(x); })},
              {"broadcast", discards([=] { return D::broadcast(x); })},
              {"gradients", discards([=] { return D::gradients(K::sum(x), {x}); })}};
  for (const auto& row : rows) {
    CHECK(thrown_by(row.make) == std::string("ValueError: ") + row.function +
                                     ": there is no group of ranks; call K::distributed::init() "
                                     "first");
  }
}

struct OperandRow {
  std::string text;
  Make make;
};

std::string misuse_of_operands(const D::Group& world) {
  Faults faults;
  const std::string root =
      "ValueError: broadcast: root is -1 of " + std::to_string(world.size()) + " ranks";
  const auto scalar = K::placeholder({.shape = {}}), vector = K::placeholder({.shape = {4}});
  const auto flags = K::placeholder({.shape = {3}, .dtype = "bool"});
  const auto numbers = K::placeholder({.shape = {4}, .dtype = "int32"});
  const auto mean = D::AllReduceOptions{.reduction = D::Reduction::Mean};
  const OperandRow rows[] = {
      {"TypeError: all_reduce: x is bool; sums need numbers, any and all are Max and Min "
       "(bool[3])",
       discards([=] { return D::all_reduce(flags); })},
      {"TypeError: reduce_scatter: x is bool; sums need numbers, any and all are Max and Min "
       "(bool[3])",
       discards([=] { return D::reduce_scatter(flags); })},
      {"TypeError: all_reduce: x is int32[4]; a mean needs floating point",
       discards([=] { return D::all_reduce(numbers, mean); })},
      {"TypeError: all_reduce: x[1] is int32[4]; a mean needs floating point",
       discards([=] { return D::all_reduce({vector, numbers}, mean); })},
      {"ValueError: all_gather: axis 0 is out of range for rank 0",
       discards([=] { return D::all_gather(scalar); })},
      {"ValueError: all_gather: axis 1 is out of range for rank 1",
       discards([=] { return D::all_gather(vector, {.axis = 1}); })},
      {"ValueError: reduce_scatter: axis -2 is out of range for rank 1",
       discards([=] { return D::reduce_scatter(vector, {.axis = -2}); })},
      {root, discards([=] { return D::broadcast(vector, {.root = -1}); })},
      {"ValueError: broadcast: x is an empty tensor",
       discards([] { return D::broadcast(K::Tensor()); })},
      {"ValueError: all_reduce: x[0] is an empty tensor",
       discards([] { return D::all_reduce(std::vector<K::Tensor>{K::Tensor()}); })}};
  for (const OperandRow& row : rows) faults.expect_equal("row", thrown_by(row.make), row.text);
  return faults.text();
}

TEST_CASE("misuse: operands that a collective does not take, also with one rank") {
  const std::string one = run_sessions({.ranks = 1}, misuse_of_operands);
  CHECK(one == "");
  const std::string two = run_sessions({.ranks = 2, .seed = 1}, misuse_of_operands);
  CHECK(two == "");
}

TEST_CASE("misuse: modules with collectives of groups that this process has not split") {
  const struct {
    const char* attrs;
    const char* error;
  } rows[] = {
      {"group=1 ranks=2", "the graph has collectives of group 1, which this process has not split"},
      {"group=0 ranks=3", "the graph has collectives of 3 ranks, this group has 2"}};
  const Scratch scratch;
  for (const auto& row : rows) {
    const std::string file = scratch.write("f.kir", std::string(R"(kir 0.1
module "f"
%0 = placeholder id=0 name="x" : float32[2]
%1 = collective %0 kind=0 reduction=0 axis=0 root=0 id=0 )") +
                                                        row.attrs + R"( : float32[2]
inputs %0
outputs %1
)");
    CHECK(run_sessions({.ranks = 2, .seed = 1}, [&](const D::Group&) {
            Faults faults;
            faults.expect_equal("load_module",
                                thrown_by(discards([&] { return K::load_module(file); })),
                                std::string("ValueError: load_module: ") + row.error);
            return faults.text();
          }) == "");
  }
}

TEST_CASE("misuse: functions of a group that this process has left") {
  fake::Ranks ranks({.ranks = 2, .seed = 1});
  const auto after = ranks.run([&](std::uint32_t rank) {
    const auto x = K::placeholder({.shape = {2}});
    K::Function f;
    K::Tensor sum;
    {
      const auto world = D::init(options_of(ranks, rank));
      f = K::function({x}, {sum = D::all_reduce(x)});
      f({K::Array::zeros({2})});
    }
    return thrown_by([&] { f({K::Array::zeros({2})}); }) + "\n" +
           thrown_by(discards([&] { return K::function({x}, {sum}); }));
  });
  for (std::size_t rank = 0; rank < after.size(); ++rank) {
    CHECK(
        after[rank].text ==
        "DistributedError of " + std::to_string(rank) +
            ": function: this process has left the group\n"
            "ValueError: function: the graph has collectives of 2 ranks, but this process is in no "
            "group; call K::distributed::init() first");
  }
}

}  // namespace
}  // namespace kiln::testing
