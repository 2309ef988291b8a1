// distributed::gradients: the mean of all ranks' gradients, weighted where batches are uneven.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"

#include <cmath>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

constexpr std::int64_t kFeatures = 3;

/// The rows of rank r in a batch of the world: r of them, so that rank 0 has none.
K::Array rows_of(std::int64_t rank) {
  std::vector<double> elements;
  for (std::int64_t i = rank * (rank - 1) / 2 * kFeatures; i < rank * (rank + 1) / 2 * kFeatures;
       ++i) {
    elements.push_back(std::sin(1.7 * static_cast<double>(i)));
  }
  return K::Array(elements, {rank, kFeatures});
}

struct Model {
  K::Tensor x = K::placeholder({.shape = {K::None, kFeatures}, .dtype = "float64"});
  K::Tensor w = K::variable({{0.5}, {-1.}, {2.}}, {.dtype = "float64"});
  K::Tensor unused = K::variable(1., {.dtype = "float64"});
  K::Tensor loss = K::mean(K::square(K::dot(x, w) - 1.)) +
                   K::sum(K::dot(K::mean(x, {.axis = 0, .keepdims = true}), w));
  K::Tensor rows = K::cast(K::shape(x), "float64")[0];
};

bool is_near(const K::Array& a, const K::Array& b) {
  for (std::size_t i = 0; i < a.as<double>().size(); ++i) {
    if (!(std::fabs(a.as<double>()[i] - b.as<double>()[i]) < 1e-13)) return false;
  }
  return a.dims() == b.dims();
}

TEST_CASE("mean gradients: unweighted, and weighted by the rows of uneven batches") {
  const std::string ends = run_sessions({.ranks = 4, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const Model m;
      const std::vector<K::Tensor> variables = {m.w, m.unused};
      const auto own = K::gradients(m.loss, variables);
      const auto mean = D::gradients(m.loss, variables);
      const auto weighted = D::gradients(m.loss, variables, {.weight = m.rows});
      faults.expect(mean[1].empty() && weighted[1].empty(), "a path to `unused`");
      const auto f =
          K::function({m.x}, {own[0], D::all_gather(own[0], {.axis = 1}), mean[0], weighted[0]},
                      {.backend = backend});
      const auto found = f({rows_of(world.rank() + 1)});
      const auto gathered = found[1].as<double>();
      K::Array expected = K::Array::zeros({kFeatures, 1}, DType::Float64);
      for (std::size_t i = 0; i < 3; ++i) {
        const double* const g = gathered.data() + 4 * i;
        expected.as<double>()[i] = ((g[0] + g[1]) + (g[2] + g[3])) / 4;
      }
      faults.expect_equal("mean", found[2], expected);

      const auto results = f({rows_of(world.rank())});
      const bool is_nan = std::isnan(results[0].as<double>()[0]);
      faults.expect(is_nan == world.is_root(), "an empty batch has no gradient");
      std::vector<double> rows;
      for (std::int64_t rank = 1; rank < world.size(); ++rank) {
        const auto own_rows = rows_of(rank);
        rows.insert(rows.end(), own_rows.as<double>().begin(), own_rows.as<double>().end());
      }
      const auto whole =
          K::function({m.x}, {own[0]}, {.backend = backend})({K::Array(rows, {6, kFeatures})});
      faults.expect(is_near(results[3], whole[0]),
                    "weighted: " + printed(results[3]) + " is not " + printed(whole[0]));
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("mean gradients: of halves, of weights that are all 0, and misuse") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const auto x = K::placeholder({.shape = {}, .dtype = "float16"});
      const auto weight = K::placeholder({.shape = {}});
      const auto w = K::variable(1., {.dtype = "float16"});
      // 40000 each: their sum is out of range of float16.
      const auto f =
          K::function({x, weight},
                      {K::cast(D::gradients(w * x, {w})[0], "float32"),
                       K::cast(D::gradients(w * x, {w}, {.weight = weight})[0], "float32")},
                      {.backend = backend});
      const auto found = f({K::Array(40000.f), K::Array(1.f + world.rank())});
      faults.expect_equal("mean", found[0], K::Array(40000.f));
      faults.expect_equal("weighted mean", found[1], K::Array(40000.f));
      const auto none = f({K::Array(40000.f), K::Array(0.f)});
      faults.expect_equal("no weight", none[1], K::Array(NAN));
    }
    const auto w = K::variable({1., 2.});
    const auto error = [&](const K::Tensor& loss, const K::Tensor& weight) {
      return thrown_by([&] { static_cast<void>(D::gradients(loss, {w}, {.weight = weight})); });
    };
    const auto loss = K::sum(w);
    faults.expect_equal("vector", error(loss, K::constant({1., 2.})),
                        "ValueError: gradients: weight is float32[2], which is not a scalar");
    faults.expect_equal("integer", error(loss, K::constant(1, {.dtype = "int32"})),
                        "TypeError: gradients: weight is int32[], which is not floating "
                        "point");
    faults.expect_equal("loss", error(K::cast(loss, "int32"), {}), thrown_by([&] {
                          static_cast<void>(K::gradients(K::cast(loss, "int32"), {w}));
                        }));
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
