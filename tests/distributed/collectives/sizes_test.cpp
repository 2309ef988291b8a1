// Sizes that are known at the call, and those that do not fit a collective.
#include "tests/distributed/collectives/expected_results.h"
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

TEST_CASE("collectives: a function is called with several sizes") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 1}, [](const D::Group&) {
    Faults faults;
    for (const char* backend : kBackends) {
      const auto x = K::placeholder({.shape = {K::None, 2}, .dtype = "int32"});
      const auto sum = D::all_reduce(x);
      const auto rows = D::all_gather(sum);  // unknown sizes of results, too
      const auto f = K::function({x}, {sum, rows, D::reduce_scatter(rows)}, {.backend = backend});
      for (const std::int64_t batch : {2, 0, 5, 2}) {
        const std::vector<std::int32_t> ones(static_cast<std::size_t>(2 * batch), 1);
        const auto found = f({K::Array(ones, {batch, 2})});
        const auto full = [](std::int64_t size, double value) {
          return K::Array::full({size, 2}, value, DType::Int32);
        };
        faults.expect_equal("sum", found[0], full(batch, 3));
        faults.expect_equal("rows", found[1], full(3 * batch, 3));
        faults.expect_equal("part", found[2], full(batch, 9));
      }
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("collectives: a size that does not divide is an error, known before or at the call") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 1}, [](const D::Group&) {
    Faults faults;
    const auto known = K::placeholder({.shape = {4, 10}});
    faults.expect_equal(
        "known", thrown_by([&] { static_cast<void>(D::reduce_scatter(known, {.axis = 1})); }),
        "ValueError: reduce_scatter: axis 1 of 10 elements is not a multiple of the 3 ranks "
        "(float32[4,10])");
    for (const char* backend : kBackends) {
      const auto x = K::placeholder({.shape = {K::None}, .name = "x"});
      const auto f = K::function({x}, {D::reduce_scatter(x)}, {.backend = backend});
      faults.expect_equal(
          "unknown", thrown_by([&] { f({K::Array::zeros({10})}); }),
          "ValueError: reduce_scatter: axis 0 of x.0 elements is not a multiple of the 3 "
          "ranks (float32[x.0]); in this call mod(x.0,3) is 1");
      faults.expect_equal("after", f({K::Array::full({3}, 2)})[0], K::Array{6.f});
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("collectives: tensors larger than a transfer") {
  // 12 MB and 36 MB of each rank; a transfer is 32 MiB of all or of one.
  const std::vector<std::int64_t> rows{2, 1'500'000}, vector{9'000'000};
  const auto operand = [](const std::vector<std::int64_t>& dims, std::int64_t rank) {
    return operand_of(DType::Float32, dims, static_cast<std::uint64_t>(rank));
  };
  const std::string ends = run_sessions({.ranks = 3, .seed = 1}, [&](const D::Group& world) {
    Faults faults;
    const auto x = K::placeholder({.shape = rows}), y = K::placeholder({.shape = vector});
    const auto f = K::function({x, y},
                               {D::all_gather(x, {.axis = 1}), D::reduce_scatter(x, {.axis = 1}),
                                D::broadcast(y, {.root = 2}), D::all_reduce(y)},
                               {.backend = "reference"});
    const auto found = f({operand(rows, world.rank()), operand(vector, world.rank())});
    std::vector<K::Array> all_rows, all_vectors;
    for (std::int64_t rank = 0; rank < world.size(); ++rank) {
      all_rows.push_back(operand(rows, rank));
      all_vectors.push_back(operand(vector, rank));
    }
    faults.expect_equal("all_gather", found[0], concatenated(all_rows, 1));
    faults.expect_equal("reduce_scatter", found[1],
                        part_of(combined(all_rows, Combination::Sum), 1, world.rank(), 3));
    faults.expect_equal("broadcast", found[2], all_vectors[2]);
    faults.expect_equal("all_reduce", found[3], combined(all_vectors, Combination::Sum));
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("collectives: a size that depends on values is known before the call is agreed on") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const auto size = K::placeholder({.shape = {}, .dtype = "int32"});
      const auto f = K::function({size}, {D::all_reduce(K::ones({size}))}, {.backend = backend});
      faults.expect_equal("sum", f({K::Array(3)})[0], K::Array{2.f, 2.f, 2.f});
      const std::string text =
          thrown_by([&] { f({K::Array(static_cast<std::int32_t>(world.rank()))}); });
      faults.expect_equal(
          "other sizes", without_lines(text),
          "DistributedError of 1: function: collective 0 is all_reduce sum float32[0] "
          "(LINE) on rank 0 but all_reduce sum float32[1] (LINE) on rank 1");
      const std::int32_t wanted = world.rank() == 1 ? -1 : 2;
      const std::string negative = thrown_by([&] { f({K::Array(wanted)}); });
      faults.expect(negative.starts_with(world.rank() == 1
                                             ? "ValueError: "
                                             : "DistributedError of 1: function: rank 1 failed: "),
                    negative);
      faults.expect_equal("after", f({K::Array(1)})[0], K::Array{2.f});
    }
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
