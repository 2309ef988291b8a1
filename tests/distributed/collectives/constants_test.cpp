// Constants that differ between ranks: passes that see them leave the order of collectives, and
// which of them belong together, as the program has made them.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

TEST_CASE("constants of a rank: the program's collectives keep their order") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto rank = static_cast<double>(world.rank());
    for (const char* backend : kBackends) {
      const auto x = K::placeholder({.shape = {}, .name = "x"});
      const auto mean_of = [&](double weight) {
        return D::all_reduce(x, {.reduction = D::Reduction::Mean, .weight = K::constant(weight)});
      };
      const auto max = D::all_reduce(x, {.reduction = D::Reduction::Max});
      const auto other_max = max * K::constant(1. + rank);
      const std::vector<K::Tensor> outputs = {
          mean_of(1. + rank),  // on rank 0 the product with 1 is dropped
          mean_of(rank),       // on rank 0 the product with 0
          D::all_reduce(x) + D::all_reduce(x * (1. + rank)),  // on rank 0 both have one operand
          D::all_reduce(K::constant(rank)) + D::all_reduce(K::constant(rank * rank)),
          K::gradients(K::square(other_max), {x})[0]};
      const auto f = K::function({x}, outputs, {.backend = backend});
      const auto found = f({K::Array(10. + rank)});
      // x is 10, 11 and 12 with weights 1, 2, 3 and 0, 1, 2; the gradient is that of the sum of
      // (1 + r)^2 m^2, 28 m, on the rank that has the maximum 12.
      const double expected[] = {68. / 6., 35. / 3., 33. + 68., 3. + 5., rank == 2 ? 336. : 0.};
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const float value = found[i].as<float>()[0], wanted = static_cast<float>(expected[i]);
        faults.expect(std::abs(value - wanted) <= 1e-5f * std::abs(wanted),
                      "output " + std::to_string(i) + " is " + std::to_string(value));
      }
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("constants of a rank: another collective behind them is an error on all ranks") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto x = K::variable(1.), y = K::variable(2.);
    const auto of_x = D::all_reduce(x), of_y = D::all_reduce(y);
    const auto chosen = K::switch_(K::constant(world.is_root()), of_x, of_y);
    const auto f = K::function({}, {chosen}, {.name = "f"});
    faults.expect_equal("error", without_lines(thrown_by([&] { f(); })),
                        "DistributedError of 1: f: collective 0 is all_reduce sum float32[] (LINE) "
                        "on rank 0 but all_reduce sum float32[], number 1 as written (LINE) on "
                        "rank 1");
    faults.expect_equal("after", K::eval(D::all_reduce(x)), K::Array(2.f));
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("order of outputs: each sum is of the same tensors on all ranks") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto x = K::variable(1.), y = K::variable(20.);
    const auto a = D::all_reduce(x), b = D::all_reduce(y);
    const auto f = K::function({}, world.is_root() ? std::vector{a, b} : std::vector{b, a});
    const auto found = f();
    faults.expect_equal("x", found[world.is_root() ? 0 : 1], K::Array(2.f));
    faults.expect_equal("y", found[world.is_root() ? 1 : 0], K::Array(40.f));
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("updates of other variables are an error on all ranks") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto x = K::variable(1., {.name = "x"}), y = K::variable(1., {.name = "y"});
    const auto sum = D::all_reduce(x);
    const auto f = K::function(
        {}, {}, {.updates = {K::update_sub(world.is_root() ? x : y, sum)}, .name = "f"});
    const std::string error = without_lines(thrown_by([&] { f(); }));
    faults.expect(error.find("update 0 is 'x' (LINE) on rank 0 but 'y' (LINE) on rank 1") !=
                      std::string::npos,
                  error);
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("run_together: ranks go on after a collective of the root alone") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto x = K::variable(1.);
    const std::string error = thrown_by([&] {
      D::run_together([&] {
        if (world.is_root()) K::eval(D::all_reduce(x));
      });
    });
    faults.expect(error.starts_with("DistributedError of 1: "), error);
    faults.expect_equal("after", K::eval(D::all_reduce(x)), K::Array(2.f));
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
