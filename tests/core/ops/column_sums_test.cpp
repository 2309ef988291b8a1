// Tests tensors whose rows are reduced and whose columns are summed: a backend may do both in one
// pass, in blocks of rows where their number has a suitable divisor. Also tests reductions to few
// results, which may take two steps.
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"

#include "core/ops/build.h"

#include <algorithm>

using namespace kiln;
using ir::Value;

namespace {

struct Sums {
  std::vector<double> centred, products, plain;
};

/// The sums over columns of (x less its row's mean) times w, and of w.
Sums expected(const Array& x, const Array& w, std::size_t columns) {
  const std::vector<double> a = test::doubles(x), b = test::doubles(w);
  Sums out{{}, std::vector<double>(columns, 0), std::vector<double>(columns, 0)};
  for (std::size_t row = 0; row < a.size(); row += columns) {
    double mean = 0;
    for (std::size_t i = 0; i < columns; ++i) mean += a[row + i] / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i) {
      out.centred.push_back(a[row + i] - mean);
      out.products[i] += out.centred.back() * b[row + i];
      out.plain[i] += b[row + i];
    }
  }
  return out;
}

void check(const Array& found, const std::vector<double>& want) {
  const std::vector<double> values = test::doubles(found);
  REQUIRE(values.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    INFO("element " << i);
    CHECK(values[i] == Approx(want[i]).epsilon(1e-4).margin(1e-4));
  }
}

}  // namespace

TEST_CASE("column sums: computed in one pass with reductions of rows") {
  const ir::Dims shapes[] = {{64, 37},    {16, 5},   {17, 8},       {100, 130}, {1, 6},
                             {24, 3, 20}, {9, 1, 4}, {2, 16, 1, 9}, {0, 4}};
  std::mt19937_64 generator(5);
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    for (const ir::Dims& dims : shapes) {
      const ir::Type type{dtype, dims};
      INFO("dims " << type);
      const Value x = test::placeholder(type), w = test::placeholder(type, "w");
      const int last = static_cast<int>(dims.size()) - 1;
      ir::Ints rows = ir::all_axes(x);
      rows.pop_back();
      const auto count = static_cast<double>(dims[static_cast<std::size_t>(last)].value());
      const Value sum = ir::reduce_sum(x, {last});
      const Value centred = x - ir::broadcast_over(sum * (1 / count), dims, {last});
      const Value products = ir::reduce_sum(centred * w, rows);
      const std::vector<Array> feeds{test::random_array(generator, type, -1, 1),
                                     test::random_array(generator, type, -1, 1)};
      ir::Dims kept(dims.size(), 1);
      kept.back() = dims.back();
      const Value plain = ir::reshape(ir::reduce_sum(w, rows), kept);
      const std::vector<Array> found =
          test::evaluate({x, w}, {centred, products, plain, products * products}, feeds);
      const Sums want = expected(feeds[0], feeds[1], static_cast<std::size_t>(count));
      check(found[0], want.centred);
      check(found[1], want.products);
      check(found[2], want.plain);
      std::vector<double> squares;
      for (const double value : want.products) squares.push_back(value * value);
      check(found[3], squares);
    }
  }
}

TEST_CASE("reductions: many elements to few results") {
  const ir::Dims shapes[] = {{16, 70, 64}, {9, 30, 31, 8}, {8, 128, 65}};
  std::mt19937_64 generator(7);
  for (const ir::Dims& dims : shapes) {
    const ir::Type type{DType::Float32, dims};
    INFO("dims " << type);
    const Value x = test::placeholder(type);
    ir::Ints axes = ir::all_axes(x);
    axes.pop_back();
    const Value sum = ir::reduce_sum(x, axes);
    // The mean is read at every point; `first` is a partial sum that the graph computes, too.
    const Value centred = x - ir::broadcast_over(sum * 1e-3, dims, axes);
    const Value first = ir::reduce_sum(x, ir::Ints(axes.begin() + 1, axes.end()));
    const Array fed = test::random_array(generator, type, -1, 1);
    const std::vector<Array> found = test::evaluate(
        {x}, {sum, ir::reduce_max(x, axes), ir::reduce_sum(centred * centred, axes), first}, {fed});
    const std::vector<double> values = test::doubles(fed);
    const auto columns = static_cast<std::size_t>(dims.back().value());
    const auto rows = static_cast<std::size_t>(dims[0].value());
    std::vector<double> sums(columns, 0), most(columns, -1), squares(columns, 0);
    std::vector<double> firsts(columns * rows, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums[i % columns] += values[i];
      most[i % columns] = std::max(most[i % columns], values[i]);
      firsts[i / (values.size() / rows) * columns + i % columns] += values[i];
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double difference = values[i] - 1e-3 * sums[i % columns];
      squares[i % columns] += difference * difference;
    }
    check(found[0], sums);
    check(found[1], most);
    check(found[2], squares);
    check(found[3], firsts);
  }
}
