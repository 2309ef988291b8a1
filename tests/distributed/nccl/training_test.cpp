// Training on the device: exact numbers, so that every order of the sums within a rank has the same
// bits as `reference`; steps are repeated, so that they run as CUDA graphs between collectives.
#include "tests/distributed/nccl/device_ranks.h"
#include "tests/support/catch.h"

#include <kiln/train.h>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

struct Model {
  K::Tensor w =
      K::variable(K::Array::full({3, 2}, 1, DType::Float64), {.dtype = "float64", .name = "w"});
  K::Tensor b =
      K::variable(K::Array::zeros({2}, DType::Float64), {.dtype = "float64", .name = "b"});
  K::Function step;

  Model(const char* backend, std::int64_t shards) {
    const auto x = K::placeholder({.shape = {K::None, 3}, .dtype = "float64", .name = "x"});
    const auto y = K::placeholder({.shape = {K::None, 2}, .dtype = "float64", .name = "y"});
    const auto loss = K::sum(K::square(K::dot(x, w) + b - y));
    const D::Shards parts{.count = shards, .split = {x, y}};
    const auto gradients =
        D::gradients(loss, {w, b}, {.shards = shards == 0 ? D::Shards() : parts});
    const auto sum = D::all_reduce(loss);
    step = K::function({x, y}, {sum, D::all_gather(K::sum(x, {.axis = 0}))},
                       {.updates = {K::update_sub(w, 0.0625 * gradients[0]),
                                    K::update_sub(b, 0.0625 * gradients[1])},
                        .name = "train",
                        .backend = backend});
  }
};

/// -1, 0 and 1: sums of their products are exact for some steps.
K::Array rows_of(std::int64_t columns, std::int64_t rank) {
  std::vector<double> elements;
  for (std::int64_t i = 0; i < 4 * columns; ++i) {
    elements.push_back(static_cast<double>((7 * i + 3 * rank) % 5 % 3 - 1));
  }
  return K::Array(elements, {4, columns});
}

/// `shards`: parts of the rows of all ranks; 0: none.
std::string train(const D::Group& world, std::int64_t shards) {
  Faults faults;
  const Model own("cuda", shards), expected("reference", shards);
  for (int i = 0; i < 4; ++i) {
    const auto rank = world.rank();
    const std::vector<K::Array> batch{rows_of(3, rank + i), rows_of(2, rank + 2 * i)};
    const auto found = own.step(batch), wanted = expected.step(batch);
    const std::string subject = "step " + std::to_string(i);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      faults.expect_equal(subject, found[k], wanted[k]);
    }
    faults.expect_equal(subject + ", w", K::get_value(own.w), K::get_value(expected.w));
    faults.expect_equal(subject + ", b", K::get_value(own.b), K::get_value(expected.b));
  }
  return faults.text();
}

TEST_CASE("nccl: training steps have the bits of reference", "[device]") {
  use_one_device();
  const auto rows = [](const D::Group& world) { return train(world, 0); };
  const auto shards = [](const D::Group& world) { return train(world, 4); };
  CHECK(run_sessions({.ranks = 2, .seed = 1}, rows) == "");
  CHECK(run_sessions({.ranks = 4, .seed = 2}, rows) == "");
  CHECK(run_sessions({.ranks = 2, .seed = 3}, shards) == "");
}

TEST_CASE("nccl: collectives of a part of the ranks", "[device]") {
  use_one_device();
  const std::string ends = run_sessions({.ranks = 4, .seed = 3}, [](const D::Group& world) {
    Faults faults;
    const auto rank = static_cast<float>(world.rank());
    const auto rows = world.split(world.rank() / 2, world.rank());
    const auto columns = world.split(world.rank() % 2, world.rank());
    const auto x = K::placeholder({.shape = {2}});
    const auto row = D::all_reduce(x, {.group = rows});
    const auto column = D::all_gather(x, {.group = columns});
    const auto f = K::function({x}, {row, column, D::all_reduce(row)}, {.backend = "cuda"});
    for (int i = 0; i < 3; ++i) {
      const auto found = f({K::Array{rank, 1.f}});
      const float in_row = world.rank() < 2 ? 1.f : 5.f, first = rank < 2 ? rank : rank - 2;
      faults.expect_equal("row", found[0], K::Array{in_row, 2.f});
      faults.expect_equal("column", found[1], K::Array{first, 1.f, first + 2, 1.f});
      faults.expect_equal("all", found[2], K::Array{12.f, 8.f});
    }
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
