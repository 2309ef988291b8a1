// Functions of one name and equal collectives, whose updates differ between ranks: an error on all
// of them, before replicas drift apart.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"

#include <regex>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

using Updates = std::vector<K::UpdateOp>;

/// A graph of each rank. `is_other`: of the rank that may differ.
struct Step {
  bool is_other;
  K::Tensor x = K::placeholder({.shape = {2}, .name = "x"});
  K::Tensor w = K::variable({1., 2.}, {.name = "w"});
  K::Tensor v = K::variable({3., 4.}, {.name = "v"});
  K::Tensor own = K::variable({5., 6.}, {.name = "own", .per_rank = true});
  K::Tensor sum = D::all_reduce(x);
  K::Tensor root = D::broadcast(K::exp(x * 2));

  K::Tensor either(const K::Tensor& first, const K::Tensor& other) const {
    return is_other ? other : first;
  }
};

struct UpdatesRow {
  const char* name;
  Updates (*make)(const Step& s);
  const char* error;  // null: accepted
};

const char* const kFirst = "update 0 is 'w' (LINE) on rank 0 but 'w' (LINE) on rank 1";

K::Tensor table(bool is_other) {
  std::vector<float> values(2'048, 1.f);
  if (is_other) values.back() = 2;
  return K::constant(K::Array(values, {1'024, 2}));
}

K::Tensor folded(const Step& s, double factor) {
  const auto step = [&](const K::Tensor& sum, const K::Tensor& row) { return sum + row * factor; };
  return K::foldl(step, K::stack({s.v, s.v}), {.initializer = s.w});
}

const UpdatesRow kRows[] = {
    {"equal", [](const Step& s) { return Updates{K::update_sub(s.w, s.sum * 0.1)}; }, nullptr},
    {"above a collective",
     [](const Step& s) {
       const auto scaled = D::all_reduce(s.x * (s.is_other ? 3 : 2));
       return Updates{K::update_sub(s.w, scaled * s.root)};
     },
     nullptr},
    {"of a per_rank variable",
     [](const Step& s) { return Updates{K::update_add(s.own, s.either(s.sum, -s.sum))}; }, nullptr},
    {"what is printed",
     [](const Step& s) {
       const auto printed = s.is_other ? K::print_tensor(s.sum, {.message = "sum"}) : s.sum;
       return Updates{K::update_sub(s.w, printed * 0.1)};
     },
     nullptr},
    {"a constant",
     [](const Step& s) { return Updates{K::update_sub(s.w, s.sum * (s.is_other ? 0.2 : 0.1))}; },
     kFirst},
    {"an element of a long constant",
     [](const Step& s) {
       return Updates{K::update(s.w, s.sum + K::sum(table(s.is_other) * s.w, {.axis = 0}))};
     },
     kFirst},
    {"a long constant of equal bytes",
     [](const Step& s) {
       return Updates{K::update(s.w, s.sum + K::sum(table(false) * s.w, {.axis = 0}))};
     },
     nullptr},
    {"an op",
     [](const Step& s) { return Updates{K::update(s.w, s.either(s.w + s.sum, s.w * s.sum))}; },
     kFirst},
    {"an attribute",
     [](const Step& s) {
       const auto products = K::reshape(s.sum, {2, 1}) * s.w;
       return Updates{K::update(s.w, K::sum(products, {.axis = s.is_other ? 0 : 1}))};
     },
     kFirst},
    {"a dtype",
     [](const Step& s) {
       const auto narrow = K::cast(s.w * s.sum, s.is_other ? "float16" : "bfloat16");
       return Updates{K::update(s.w, K::cast(narrow, "float32"))};
     },
     kFirst},
    {"which variable is read",
     [](const Step& s) {
       return Updates{K::update(s.w, s.sum + s.either(s.v, s.w)), K::update(s.v, s.v + 1)};
     },
     kFirst},
    {"a step of a loop",
     [](const Step& s) { return Updates{K::update(s.w, s.sum + folded(s, s.is_other ? 3 : 2))}; },
     kFirst},
    {"exchanged collectives",
     [](const Step& s) {
       const auto more = D::all_reduce(K::exp(s.x * 3));
       return Updates{K::update(s.w, s.either(s.sum, more)), K::update(s.v, s.either(more, s.sum))};
     },
     kFirst},
    {"the second",
     [](const Step& s) {
       return Updates{K::update(s.w, s.sum), K::update(s.v, s.root + (s.is_other ? 2 : 1))};
     },
     "update 1 is 'v' (LINE) on rank 0 but 'v' (LINE) on rank 1"},
    {"another variable",
     [](const Step& s) {
       return s.is_other ? Updates{K::update(s.v, s.w + s.sum)}
                         : Updates{K::update(s.w, s.v + s.sum)};
     },
     "update 0 is 'w' (LINE) on rank 0 but 'v' (LINE) on rank 1"},
    {"one of two",
     [](const Step& s) {
       Updates updates{K::update(s.w, s.sum)};
       if (!s.is_other) updates.push_back(K::update(s.v, s.v + 1));
       return updates;
     },
     "update 1 is 'v' (LINE) on rank 0 but missing on rank 1"},
};

TEST_CASE("updates: expressions that differ are an error on all ranks") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    // Ids, generated names and addresses of this rank's nodes and variables differ from others'.
    for (std::int64_t i = 0; i < world.rank(); ++i) {
      static_cast<void>(K::variable(1.));
      static_cast<void>(K::placeholder({.shape = {K::None}}));
    }
    K::set_print_sink([](std::string_view) {});
    for (const UpdatesRow& row : kRows) {
      const Step s{.is_other = world.rank() == 1};
      const auto f = K::function({s.x}, {D::all_reduce(s.x * s.root)},
                                 {.updates = row.make(s), .name = "train", .backend = "reference"});
      const std::string error = thrown_by([&] { f({K::Array{1.f, 2.f}}); });
      if (row.error == nullptr) {
        faults.expect_equal(row.name, error, "no error");
        continue;
      }
      faults.expect_equal(
          row.name, without_lines(error),
          std::string("DistributedError of 1: train: ") + row.error + "; their expressions differ");
      faults.expect_equal(row.name, K::get_value(s.w), K::Array{1.f, 2.f});
      faults.expect_equal(row.name, K::eval(D::all_reduce(K::constant(1.))), K::Array(3.f));
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("updates: the learning phase of all ranks is one") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto expect_difference = [&](const char* name, const std::function<void()>& call) {
      const std::string error = thrown_by(call);
      const std::string found =
          std::regex_replace(without_lines(error), std::regex("its call [0-9]+"), "its call N");
      faults.expect_equal(name, found,
                          "DistributedError of 1: train: rank 0 calls train (LINE) on reference in "
                          "learning phase 1, its call N, while rank 1 calls train (LINE) on "
                          "reference in learning phase 0, its call N; nothing was computed");
    };
    const auto x = K::placeholder({.shape = {K::None, 2}, .name = "x"});
    const auto scaled = [&] { return K::mean(K::in_train_phase(x * 2, x)); };
    const K::FunctionOptions options{.name = "train", .backend = "reference"};
    const K::Array rows = K::Array::full({2, 2}, 1);
    {
      const auto f = K::function({x, K::learning_phase()}, {D::all_reduce(scaled())}, options);
      const auto call = [&](bool phase) { return f({rows, K::Array(phase)}); };
      expect_difference("fed", [&] { call(world.is_root()); });
      faults.expect_equal("after 1", call(true)[0], K::Array(4.f));
      faults.expect_equal("after 0", call(false)[0], K::Array(2.f));
    }
    {
      const auto mean = D::all_reduce(
          scaled(), {.reduction = D::Reduction::Mean, .shards = {.count = 4, .split = {x}}});
      const auto f = K::function({K::learning_phase(), x}, {mean}, options);
      const std::string error = thrown_by([&] { f({K::Array(world.is_root()), rows}); });
      faults.expect(error.find(" in parts of 1 rows in learning phase 1") != error.npos, error);
      faults.expect_equal("parts", f({K::Array(true), rows})[0], K::Array(2.f));
    }
    {
      K::set_learning_phase(world.is_root() ? 1 : 0);
      const auto f = K::function({x}, {D::all_reduce(scaled())}, options);
      K::clear_session();
      expect_difference("fixed", [&] { f({rows}); });
    }
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
