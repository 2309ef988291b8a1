// Tests Array::dims(): of ranks that are stored inline and of higher ones, and its uses as
// std::vector.
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <stdexcept>
#include <utility>

using namespace kiln;

namespace {

using Dims = std::vector<std::int64_t>;

Dims ones(std::size_t rank) {
  Dims dims(rank, 1);
  if (rank != 0) dims.back() = 3;
  return dims;
}

}  // namespace

TEST_CASE("dims: of any rank, copied, moved and assigned") {
  for (const std::size_t rank : {0, 1, 5, 6, 7, 8, 64}) {
    INFO("rank " << rank);
    const Dims dims = ones(rank);
    const Array a = Array::full(dims, 2);
    CHECK(a.dims() == dims);
    CHECK(a.rank() == static_cast<int>(rank));
    Array copy = a;
    CHECK(copy.dims() == a.dims());
    Array moved = std::move(copy);
    CHECK(moved == a);
    CHECK(copy.dims().empty());  // NOLINT: a moved-from Array is a scalar
    CHECK(copy.item<float>() == 0);
    for (const std::size_t other : {0, 6, 7}) {
      Array target = Array::zeros(ones(other));
      target = a;
      CHECK(target == a);
      target = Array::zeros(ones(other));
      CHECK(target.dims() == ones(other));
      Array from = a;
      target = std::move(from);
      CHECK(target == a);
    }
    Array& same = moved;
    moved = same;
    CHECK(moved == a);
    CHECK(a.reshape({1, a.size()}).reshape(dims) == a);
  }
}

TEST_CASE("dims: as std::vector") {
  const Array a = Array::zeros({2, 3, 4});
  const Dims copied = a.dims();
  const Dims& referred = a.dims();
  Dims assigned;
  assigned = a.dims();
  CHECK(copied == Dims{2, 3, 4});
  CHECK(referred == copied);
  CHECK(assigned == copied);
  CHECK(copied == a.dims());
  CHECK(a.dims() != Dims{2, 3});
  CHECK(a.dims() != Array::zeros({2, 3, 5}).dims());
  CHECK(Array::zeros(a.dims()) == a);
  const std::span<const std::int64_t> span = a.dims();
  CHECK(span.data() == a.dims().data());
  CHECK(Dims(a.dims().rbegin(), a.dims().rend()) == Dims{4, 3, 2});
  CHECK(a.dims().front() == 2);
  CHECK(a.dims().back() == 4);
  CHECK(a.dims()[1] == a.dims().at(1));
  CHECK_THROWS_AS(a.dims().at(3), std::out_of_range);
}

TEST_CASE("dims: as the elements of an Array") {
  const Array a = Array::zeros({2, 3, 4});
  const Array sizes = a.dims();
  CHECK(sizes == Array(std::vector<std::int64_t>{2, 3, 4}));
  CHECK(eval(constant(a.dims())) == Array{2.f, 3.f, 4.f});  // float32 by default
}

TEST_CASE("dims: as a shape") {
  const Array a = Array::zeros({2, 3});
  const Tensor x = placeholder({.shape = a.dims()});
  CHECK(eval(reshape(constant(Array::zeros({6})), a.dims())) == a);
  CHECK(function({x}, {x})({a})[0].dims() == a.dims());
}

TEST_CASE("dims: spans of them stay valid when shared elements are copied for a write") {
  const Array a = Array::zeros(std::vector<std::int64_t>(8, 1));
  Array b = a;
  const std::span<const std::int64_t> dims = b.dims();
  b.as<float>()[0] = 1;
  CHECK(dims.data() == b.dims().data());
  CHECK(a.as<float>()[0] == 0);
}

TEST_CASE("dims: order is lexicographic") {
  CHECK(Array::zeros({2, 3}).dims() < Array::zeros({2, 4}).dims());
  CHECK(Array::zeros({2, 3}).dims() < Array::zeros({2, 3, 0}).dims());
}
