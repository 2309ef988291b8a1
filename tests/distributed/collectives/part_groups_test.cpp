// Collectives of parts of the world, alone and beside those of the world.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

TEST_CASE("parts: halves of a world of 4 sum, gather and average by themselves") {
  const std::string ends = run_sessions({.ranks = 4, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto half = world.split(world.rank() / 2);
    const float first = world.rank() < 2 ? 0.f : 2.f;  // the rank that begins the half
    for (const char* backend : kBackends) {
      const auto x = K::placeholder({.shape = {1}});
      const auto w = K::variable({1.}, {.name = "w", .per_rank = true});
      const auto gradient = D::gradients(K::sum(w * x), {w}, {.group = half})[0];
      const auto f =
          K::function({x},
                      {D::all_reduce(x, {.group = half}), D::all_gather(x, {.group = half}),
                       D::broadcast(x, {.root = 1, .group = half}), gradient},
                      {.updates = {K::update_add(w, gradient)}, .backend = backend});
      // The halves call it different numbers of times: they agree by themselves.
      for (int i = 0; i <= world.rank() / 2; ++i) {
        const auto found = f({K::Array{static_cast<float>(world.rank())}});
        faults.expect_equal("sum", found[0], K::Array{2 * first + 1});
        faults.expect_equal("gathered", found[1], K::Array{first, first + 1});
        faults.expect_equal("broadcast", found[2], K::Array{first + 1});
        faults.expect_equal("mean gradient", found[3], K::Array{first + 0.5f});
      }
      const float steps = world.rank() < 2 ? 1.f : 2.f;
      faults.expect_equal("w", K::get_value(w), K::Array{1 + steps * (first + 0.5f)});
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("parts: one function has collectives of the world, of halves and of single ranks") {
  const std::string ends = run_sessions({.ranks = 4, .seed = 2}, [](const D::Group& world) {
    Faults faults;
    const auto half = world.split(world.rank() % 2), alone = world.split(world.rank());
    for (const char* backend : kBackends) {
      const auto x = K::placeholder({.shape = {K::None}});
      const auto sum_of_half = D::all_reduce(x, {.group = half});
      const auto sum_of_rank = D::all_reduce(x, {.group = alone});
      const auto product = sum_of_half * D::all_reduce(x);
      const auto gradient = K::gradients(K::sum(product), {x})[0];
      const auto f = K::function(
          {x}, {sum_of_half, sum_of_rank, D::all_gather(product, {.group = half}), gradient},
          {.backend = backend});
      for (const float scale : {1.f, 10.f}) {
        const auto found = f({K::Array{scale * static_cast<float>(1 + world.rank())}});
        const float own = scale * (world.rank() % 2 == 0 ? 4.f : 6.f), all = scale * 10;
        faults.expect_equal("half", found[0], K::Array{own});
        faults.expect_equal("alone", found[1],
                            K::Array{scale * static_cast<float>(1 + world.rank())});
        faults.expect_equal("products", found[2], K::Array{own * all, own * all});
              // The half's sum is in 2 losses, the world's in 4: 2 of each half.
        const float others = scale * 10 - own;
        faults.expect_equal("gradient", found[3], K::Array{2 * all + 2 * own + 2 * others});
      }
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("parts: a function has collectives of the world and of parts that differ in size") {
  for (const std::int64_t in_first : {2, 3}) {  // of 4 ranks, so that a part has one or two
    const std::string ends = run_sessions({.ranks = 4, .seed = 3}, [&](const D::Group& world) {
      Faults faults;
      const bool is_first = world.rank() < in_first;
      const auto part = world.split(is_first ? 0 : 1);
      const float first = is_first ? 0.f : static_cast<float>(in_first);
      const auto ranks = static_cast<float>(part.size());
      const float sum = ranks * first + ranks * (ranks - 1) / 2;  // of the numbers of its ranks
      for (const char* backend : kBackends) {
        const auto x = K::placeholder({.shape = {1}});
        const auto w = K::variable({1.}, {.name = "w"});
        const auto of_part = D::all_reduce(w * x, {.group = part});
        const auto squares = D::all_reduce(K::square(of_part));
        const auto mean = D::all_reduce(
            x, {.reduction = D::Reduction::Mean, .weight = K::sum(x) + 1, .group = part});
        const auto root = D::broadcast(x, {.group = part});
        const auto gathered = K::sum(D::all_gather(x, {.group = part}));
        const auto own = K::mean(D::reduce_scatter(K::tile(x, {6}), {.group = part}));
        const auto gradient = K::gradients(squares, {w})[0];
        const auto f = K::function(
            {x}, {of_part, squares, mean, root, gathered, own, gradient},
            {.updates = {K::update(w, D::all_reduce(own) / 1e9 + w)}, .backend = backend});
        const auto found = f({K::Array{static_cast<float>(world.rank())}});
        const float begin = static_cast<float>(in_first * (in_first - 1)) / 2, end = 6 - begin;
        const float all = static_cast<float>(in_first) * begin * begin +
                          static_cast<float>(4 - in_first) * end * end;
        faults.expect_equal("part", found[0], K::Array{sum});
        faults.expect_equal("squares", found[1], K::Array{all});
        float weighted = 0;
        for (float i = first; i < first + ranks; ++i) weighted += i * (i + 1);
        faults.expect_equal("mean", found[2], K::Array{weighted / (sum + ranks)});
        faults.expect_equal("root", found[3], K::Array{first});
        faults.expect_equal("gathered", found[4], K::Array(sum));
        faults.expect_equal("own", found[5], K::Array(sum));
        // Of 4 losses, each the sum of the squares that the ranks of the part have.
        const float slope = 4 * ranks * 2 * sum * static_cast<float>(world.rank());
        faults.expect_equal("gradient", found[6], K::Array{slope});
      }
      return faults.text();
    });
    CHECK(ends == "");
  }
}

TEST_CASE("parts: groups of equal size are told apart by the number that all their ranks give") {
  const std::string ends = run_sessions({.ranks = 4, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto rows = world.split(world.rank() / 2);
    if (world.rank() < 2) static_cast<void>(rows.split(0));  // the others make no third group
    const auto columns = world.split(world.rank() % 2);
    const auto x = K::variable({1.});
    const auto function_of = [&](const D::Group& group) {
      return K::function({}, {D::all_reduce(x), D::all_reduce(K::exp(x), {.group = group})},
                         {.name = "train"});
    };
    const auto both = function_of(columns);
    faults.expect_equal("columns", both()[0], K::Array{4.f});
    const auto other = function_of(world.rank() == 3 ? rows : columns);
    faults.expect_equal("error", without_lines(thrown_by([&] { other(); })),
                        "DistributedError of 3: train: collective 1 is all_reduce sum in group 3 "
                        "float32[1] (LINE) on rank 0 but all_reduce sum in group 1 float32[1] "
                        "(LINE) on rank 3");
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("parts: a failure in a part says what it leaves unchanged") {
  const std::string ends = run_sessions({.ranks = 4, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto half = world.split(world.rank() / 2);
    const auto w = K::variable({1.}, {.name = "w", .per_rank = true});
    const auto row = K::placeholder({.shape = {}, .dtype = "int32"});
    const auto sum = D::all_reduce(K::gather(w, row), {.group = half});
    const auto f = K::function({row}, {}, {.updates = {K::update(w, w + sum)}, .name = "train"});
    const std::string error = thrown_by([&] { f({K::Array(world.rank() == 1 ? 7 : 0)}); });
    if (world.rank() == 0) {
      faults.expect(error.ends_with("; no variable changed on any rank of the group"), error);
    }
    if (world.rank() > 1) faults.expect_equal("other half", error, "no error");
    faults.expect_equal("w", K::get_value(w), K::Array{world.rank() < 2 ? 1.f : 3.f});
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("parts: a collective of the world on one rank and of a part on the others") {
  const std::string ends = run_sessions({.ranks = 4, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto half = world.split(world.rank() / 2);
    const auto x = K::variable({1.});
    const auto sum = D::all_reduce(x);
    const auto group = world.rank() == 3 ? world : half;
    const auto f =
        K::function({}, {sum, D::all_reduce(K::exp(x), {.group = group})}, {.name = "train"});
    faults.expect_equal(
        "error", without_lines(thrown_by([&] { f(); })),
        "DistributedError of 3: train: collective 1 is all_reduce sum in group 1 float32[1] (LINE) "
        "on rank 0 but all_reduce sum float32[1] (LINE) on rank 3");
    faults.expect_equal("after", K::eval(sum), K::Array{4.f});
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
