// Collectives run once in a call: those inside of loops and branches, and those that decide sizes,
// are errors of `function`.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

/// The error of a function of x float32[4,3], the same on both backends.
std::string compile_error(const std::function<K::Tensor(const K::Tensor& x)>& make) {
  const auto x = K::placeholder({.shape = {4, 3}, .name = "x"});
  const auto compile = [&](const char* backend) {
    return thrown_by([&] { static_cast<void>(K::function({x}, {make(x)}, {.backend = backend})); });
  };
  const std::string text = compile("cpu");
  return compile("reference") == text ? text : "the backends differ";
}

TEST_CASE("loops and branches: a collective inside is an error") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group&) {
    Faults faults;
    const auto summed = [](const K::Tensor& x) { return D::all_reduce(x); };
    const auto gradient = [&](const K::Tensor& x) {
      return K::gradients(K::sum(D::all_reduce(x * x)), {x})[0];
    };
    const auto in_map = [&](const K::Tensor& x) { return K::map_fn(summed, x); };
    const auto in_gradient = [&](const K::Tensor& x) { return K::map_fn(gradient, x); };
    const auto in_rnn = [&](const K::Tensor& x) {
      const auto step = [&](const K::Tensor& in, const std::vector<K::Tensor>& states) {
        const auto sum = states[0] + summed(in);
        return K::StepResult{sum, {sum}};
      };
      return K::rnn(step, K::reshape(x, {1, 4, 3}), {K::zeros({1, 3})}).last_output;
    };
    const auto in_branch = [&](const K::Tensor& x) {
      return K::switch_(K::sum(x) > 0., [&] { return summed(x); }, [&] { return x; });
    };
    const auto nested = [&](const K::Tensor& x) { return K::map_fn(in_branch, x); };
    const auto expect = [&](const char* in, const std::function<K::Tensor(const K::Tensor&)>& f) {
      const std::string text = compile_error(f);
      const std::string begin = "NotImplementedError: function: all_reduce (";
      const std::string end = "; ranks could run it a different number of times";
      faults.expect(text.starts_with(begin) && text.ends_with(end) &&
                        has(text, std::string(" is inside a step or a branch of ") + in + " ("),
                    std::string(in) + ": " + text);
    };
    expect("map_fn", in_map);
    expect("map_fn", in_gradient);
    expect("rnn", in_rnn);
    expect("switch", in_branch);
    expect("map_fn", nested);  // the outermost is named
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("loops and branches: they read collectives outside of them") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const auto x = K::placeholder({.shape = {2}});
      const auto is_taken = K::placeholder({.shape = {}, .dtype = "bool"});
      const auto sum = D::all_reduce(x);
      const auto branch = K::switch_(is_taken, [&] { return sum * sum; }, [&] { return x; });
      const auto mapped = K::map_fn([&](const K::Tensor& e) { return K::sum(e * sum); }, x);
      const auto loss = K::sum(branch) + K::sum(mapped);
      const auto f = K::function({x, is_taken}, {branch, mapped, K::gradients(loss, {x})[0]},
                                 {.backend = backend});
      const float own = static_cast<float>(1 + world.rank());
      const auto found = f({K::Array{own, own}, K::Array(world.is_root())});
      const bool is_root = world.is_root();  // takes the first branch, the other does not
      faults.expect_equal("branch", found[0], is_root ? K::Array{9.f, 9.f} : K::Array{2.f, 2.f});
      faults.expect_equal("loop", found[1], K::Array{6 * own, 6 * own});
      // From the sum: 2 * 3 of the root's branch, and 2 * (1 + 2) of the loops of both.
      const float own_gradient = 6 + 6 + 6 + (is_root ? 0.f : 1.f);
      faults.expect_equal("gradient", found[2], K::Array{own_gradient, own_gradient});
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("loops and branches: a size that depends on a collective is an error") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group&) {
    return compile_error(
        [](const K::Tensor& x) { return K::zeros({K::cast(D::all_reduce(K::sum(x)), "int32")}); });
  });
  const std::string error =
      "0 \"NotImplementedError: function: a size that is known only at run time depends on a "
      "collective\"\n";
  CHECK(ends == "rank 0: " + error + "rank 1: " + error);
}

}  // namespace
}  // namespace kiln::testing
