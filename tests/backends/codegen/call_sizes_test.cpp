// Tests the sizes of a call: symbols solved from its inputs, the sizes of slots, and the cache of
// objects by sizes.
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"

#include "backends/codegen/bind/sized_cache.h"

#include <algorithm>
#include <array>

using namespace kiln;
using namespace kiln::codegen;
using ir::Value;

namespace {

using Sizes = std::vector<std::vector<std::int64_t>>;

InputSizes views_of(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

/// Inputs float32[n,2*m] and float32[m,n+1], with the guard n <= m.
struct Inputs {
  ir::Dim n = ir::Dim::fresh("n"), m = ir::Dim::fresh("m");
  std::vector<Value> inputs{test::placeholder({DType::Float32, {n, 2 * m}}),
                            test::placeholder({DType::Float32, {m, n + 1}})};
  std::vector<ir::Guard> guards{{ir::Guard::Kind::LessEqual, n, m, "n exceeds m", {}}};

  CallSizes solved(const Sizes& sizes) const {
    CallSizes solved(inputs, guards);
    solved.solve(views_of(sizes));
    return solved;
  }

  /// The text of the error, with its code checked; empty when there is none.
  std::string rejection(const Sizes& sizes) const {
    try {
      solved(sizes);
      return {};
    } catch (const sdk::Failure& failure) {
      CHECK(failure.code() == KILN_CODE_INVALID_ARGUMENT);
      return failure.what();
    }
  }
};

/// An object of `size` sizes that reports an eighth of a cache's bytes.
struct Eighth {
  std::int64_t size = 0;
  std::int64_t bytes() const { return SizedCache<Eighth>::kMaxBytes / 8 + grown; }
  std::int64_t grown = 0;
};

/// A cache by the first size of one input, and how often an object was created for it.
struct Cached {
  SizedCache<Eighth> cache;
  int created = 0;

  std::shared_ptr<Eighth> entry(std::int64_t size) {
    const Sizes sizes{{size, 3}};
    return cache.of(views_of(sizes), [&] {
      ++created;
      return std::make_shared<Eighth>(Eighth{size});
    });
  }
  std::int64_t of(std::int64_t size) { return entry(size)->size; }
};

}  // namespace

TEST_CASE("CallSizes: symbols are solved from the sizes of inputs") {
  const Inputs program;
  const CallSizes sizes = program.solved({{3, 8}, {4, 4}});
  CHECK(sizes(program.n) == 3);
  CHECK(sizes(program.m) == 4);
  CHECK(sizes(program.n * program.m + 1) == 13);
  CHECK(sizes(ir::Dim(7)) == 7);
  const EvaluateDim evaluate = std::cref(sizes);
  CHECK(evaluate_dims({program.m, 2}, evaluate) == std::vector<std::int64_t>{4, 2});
  CHECK_THROWS_AS(sizes(ir::Dim::fresh("k")), ValueError);
}

TEST_CASE("CallSizes: sizes that the program does not take are rejected") {
  const Inputs program;
  CHECK(program.rejection({{3, 8}, {4, 4}}) == "");
  CHECK(program.rejection({{3, 7}, {4, 4}}) != "");  // 2*m is odd
  // m differs in the second input; n differs there.
  for (const Sizes& sizes : {Sizes{{3, 8}, {5, 4}}, {{3, 8}, {4, 5}}}) {
    CHECK(program.rejection(sizes).starts_with("input 1 does not have the type"));
  }
  CHECK(program.rejection({{5, 8}, {4, 6}}).starts_with("n exceeds m"));
}

TEST_CASE("CallSizes: one object serves calls of different sizes") {
  const Inputs program;
  CallSizes sizes(program.inputs, program.guards);
  const ir::Dim product = program.n * program.m + 1;
  for (std::int64_t n = 1; n < 20; ++n) {
    const std::int64_t m = n + n % 3;
    const Sizes given{{n, 2 * m}, {m, n + 1}};
    sizes.solve(views_of(given));
    CHECK(sizes(program.n) == n);
    CHECK(sizes(product) == n * m + 1);
    const Sizes odd{{n, 2 * m + 1}, {m, n + 1}}, other{{n, 2 * m}, {m + 1, n + 1}};
    CHECK_THROWS_AS(sizes.solve(views_of(odd)), sdk::Failure);
    CHECK_THROWS_AS(sizes.solve(views_of(other)), sdk::Failure);
  }
}

TEST_CASE("CallSizes: equal dims have one value, whichever object is evaluated first") {
  const Inputs program;
  CallSizes sizes(program.inputs, program.guards);
  const ir::Dim one = program.n * program.m + 1, other = 1 + program.m * program.n;
  CHECK(one.expr() != other.expr());
  for (std::int64_t n = 1; n < 4; ++n) {
    sizes.solve(views_of({{n, 8}, {4, n + 1}}));
    CHECK(sizes(n % 2 == 0 ? one : other) == 4 * n + 1);
    CHECK(sizes(n % 2 == 0 ? other : one) == 4 * n + 1);
  }
}

TEST_CASE("SlotSizes: slots of equal shapes share one evaluation") {
  const ir::Dim n = ir::Dim::fresh("n");
  Plan plan;
  const auto add = [&](DType dtype, ir::Dims dims) {
    plan.slots.push_back({TemporarySlot{}, dtype, std::move(dims)});
  };
  add(DType::Float32, {2 * n, 3});
  add(DType::Float64, {n + n, 3});
  add(DType::Int8, {3});
  add(DType::Bool, {});
  add(DType::Float32, {2 * n, 3});
  const SlotShapes shapes(plan);
  int evaluations = 0;
  std::int64_t value = 10;
  const EvaluateDim evaluate = [&](const ir::Dim& dim) {
    ++evaluations;
    CHECK(dim == 2 * n);
    return value;
  };
  const SlotSizes sizes = slot_sizes(plan, shapes, evaluate);
  CHECK(evaluations == 1);
  for (const int slot : {0, 1, 4}) {
    CHECK(std::ranges::equal(sizes.dims(SlotId(slot)), std::array{10, 3}));
  }
  CHECK(std::ranges::equal(sizes.dims(SlotId(2)), std::array{3}));
  CHECK(sizes.dims(SlotId(3)).empty());
  CHECK(std::ranges::equal(sizes.bytes, std::array{120, 240, 3, 1, 120}));
  value = 0;
  CHECK(std::ranges::equal(slot_sizes(plan, shapes, evaluate).bytes, std::array{0, 0, 3, 1, 0}));
  value = INT64_MAX / 20;  // fits as float32 only without its axis of 3
  CHECK_THROWS_AS(slot_sizes(plan, shapes, evaluate), SizeFailure);
}

TEST_CASE("SizedCache: the least recently used sizes are dropped, by bytes") {
  Cached cached;
  constexpr std::int64_t kCount = 8;
  for (std::int64_t size = 0; size < kCount; ++size) CHECK(cached.of(size) == size);
  for (std::int64_t size = 0; size < kCount; ++size) CHECK(cached.of(size) == size);
  CHECK(cached.created == kCount);
  CHECK(cached.of(0) == 0);      // now the most recently used
  CHECK(cached.of(100) == 100);  // drops 1
  CHECK(cached.created == kCount + 1);
  CHECK(cached.of(0) == 0);
  CHECK(cached.created == kCount + 1);
  CHECK(cached.of(1) == 1);
  CHECK(cached.created == kCount + 2);
  CHECK(cached.cache.all().size() == kCount);
  CHECK(cached.cache.all().front()->size == 1);
}

TEST_CASE("SizedCache: an object that grows drops others, and one in use survives") {
  Cached cached;
  for (std::int64_t size = 0; size < 8; ++size) cached.of(size);
  const std::shared_ptr<Eighth> used = cached.entry(3);
  used->grown = 2 * SizedCache<Eighth>::kMaxBytes;
  cached.of(3);
  CHECK(cached.cache.all().size() == 1);
  CHECK(cached.cache.all().front() == used);
  cached.of(100);
  CHECK(cached.cache.all().size() == 1);
  CHECK(used->size == 3);
  CHECK(cached.entry(3) != used);
}

TEST_CASE("SizedCache: a failure leaves no entry") {
  SizedCache<Eighth> cache;
  const Sizes sizes{{2}, {}};
  const auto fail = []() -> std::shared_ptr<Eighth> { throw SizeFailure(1, "too large"); };
  CHECK_THROWS_AS(cache.of(views_of(sizes), fail), SizeFailure);
  CHECK(cache.all().empty());
  const auto make = [] { return std::make_shared<Eighth>(Eighth{5}); };
  CHECK(cache.of(views_of(sizes), make)->size == 5);
  CHECK(cache.of(views_of(sizes), fail)->size == 5);
}
