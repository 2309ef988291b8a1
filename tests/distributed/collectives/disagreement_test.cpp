// Ranks that call different functions, or functions with different collectives: one error on all of
// them, before any value moves, and the next call works.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"

#include <cstdlib>
#include <regex>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

/// A function of one rank.
struct Side {
  const char* name;
  std::function<std::vector<K::Tensor>()> outputs;
};

struct DisagreementRow {
  Side first, other;  // first: of ranks 0 and 1; other: of rank 2
  const char* text;  // of the error
};

K::Tensor ones(std::int64_t size, const char* dtype = "float32") {
  return K::ones({size}, {.dtype = dtype}) * K::variable(1., {.dtype = dtype});
}

std::vector<DisagreementRow> disagreement_rows() {
  const auto reduced = [] { return D::all_reduce(ones(6)); };
  const auto sum = [=] { return std::vector{reduced()}; };
  const auto two = [=] {
    return std::vector{reduced(), D::broadcast(K::exp(ones(6)), {.root = 1})};
  };
  const auto with = [](const auto& make) {
    return [make] { return std::vector<K::Tensor>{make()}; };
  };
  return {
      {{"train", sum},
       {"evaluate", sum},
       "rank 0 calls train (LINE), its call N, while rank 2 calls evaluate (LINE), its call N; "
       "nothing was computed"},
      {{"train", sum},
       {"train", with([] { return D::all_reduce(ones(5)); })},
       "collective 0 is all_reduce sum float32[6] (LINE) on rank 0 but all_reduce sum float32[5] "
       "(LINE) on rank 2"},
      {{"train", sum},
       {"train", with([] { return D::all_reduce(ones(6, "float64")); })},
       "collective 0 is all_reduce sum float32[6] (LINE) on rank 0 but all_reduce sum float64[6] "
       "(LINE) on rank 2"},
      {{"train", sum},
       {"train", with([] { return D::all_reduce(ones(6), {.reduction = D::Reduction::Min}); })},
       "collective 0 is all_reduce sum float32[6] (LINE) on rank 0 but all_reduce min float32[6] "
       "(LINE) on rank 2"},
      {{"train", with([] { return D::all_gather(K::reshape(ones(6), {2, 3})); })},
       {"train", with([] { return D::all_gather(K::reshape(ones(6), {2, 3}), {.axis = 1}); })},
       "collective 0 is all_gather axis 0 float32[2,3] (LINE) on rank 0 but all_gather axis 1 "
       "float32[2,3] (LINE) on rank 2"},
      {{"train", with([] { return D::broadcast(ones(6)); })},
       {"train", with([] { return D::broadcast(ones(6), {.root = 2}); })},
       "collective 0 is broadcast of rank 0 float32[6] (LINE) on rank 0 but broadcast of rank 2 "
       "float32[6] (LINE) on rank 2"},
      {{"train", two},
       {"train", sum},
       "collective 1 is broadcast of rank 1 float32[6] (LINE) on rank 0 but missing on rank 2"},
      {{"train", sum},
       {"train", two},
       "collective 1 is missing on rank 0 but broadcast of rank 1 float32[6] (LINE) on rank 2"},
  };
}

std::string without_numbers_of_calls(const std::string& text) {
  return std::regex_replace(text, std::regex("its call [0-9]+"), "its call N");
}

TEST_CASE("disagreement: functions that differ between ranks") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      for (const DisagreementRow& row : disagreement_rows()) {
        const Side& side = world.rank() == 2 ? row.other : row.first;
        const auto w = K::variable(1.);
        const auto outputs = side.outputs();
        const auto f = K::function(
            {}, outputs, {.updates = {K::update(w, 2.)}, .name = side.name, .backend = backend});
        const std::string error = thrown_by([&] { f(); });
        faults.expect_equal("error", without_numbers_of_calls(without_lines(error)),
                            std::string("DistributedError of 2: ") + side.name + ": " + row.text);
        faults.expect_equal("w", K::get_value(w), K::Array(1.f));
        faults.expect_equal("after", K::eval(D::all_reduce(ones(1))), K::Array{3.f});
      }
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("disagreement: functions without names, made at different lines") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto w = K::variable({1.}, {.name = "w"});
    const auto f = K::function({}, {D::all_reduce(w)});
    const auto g = K::function({}, {D::all_reduce(2 * w)});
    const std::string error = thrown_by([&] { world.is_root() ? f() : g(); });
    faults.expect_equal("differ", error.find("made at disagreement_test.cpp:") != error.npos, true);
    faults.expect_equal("both", g()[0], K::Array{4.f});
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("disagreement: equal collectives of other values, in another order") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto a = K::variable({1.});
    const auto b = K::variable({2.});
    std::vector<K::Tensor> sums(2);
    const auto reduce_a = [&] { sums[0] = D::all_reduce(a); };
    const auto reduce_b = [&] { sums[1] = D::all_reduce(b); };
    if (!world.is_root()) reduce_b();
    reduce_a();
    if (world.is_root()) reduce_b();
    const auto f = K::function({}, sums, {.name = "train"});
    const std::string error = thrown_by([&] { f(); });
    faults.expect_equal("error", without_lines(error),
                        "DistributedError of 1: train: collective 0 is all_reduce sum float32[1] "
                        "(LINE) on rank 0 but all_reduce sum float32[1] (LINE) on rank 1");
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("disagreement: options of one rank by which its code may round otherwise") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto w = K::variable({1.}, {.name = "w"});
    const auto sum = D::all_reduce(w);
    const struct {
      K::FunctionOptions options;
      const char* text;
    } rows[] = {{{.optimize = false}, " without Kiln's passes"},
                {{.check_numerics = true}, " with check_numerics"}};
    for (const char* backend : kBackends) {
      for (const auto& row : rows) {
        K::FunctionOptions options = world.is_root() ? K::FunctionOptions{} : row.options;
        options.name = "train";
        options.backend = backend;
        options.updates = {K::update(w, sum)};
        const auto f = K::function({}, {}, options);
        const std::string error = thrown_by([&] { f(); });
        faults.expect_equal(row.text,
                            error.find(row.text + std::string(", its call")) != error.npos, true);
        faults.expect_equal("w", K::get_value(w), K::Array{1.f});
      }
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("disagreement: oneDNN for another processor on one rank") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    if (!world.is_root()) ::setenv("ONEDNN_MAX_CPU_ISA", "SSE41", 1);
    const auto w = K::variable({1.}, {.name = "w"});
    const auto f = K::function({}, {D::all_reduce(w)}, {.name = "train", .backend = "cpu"});
    const std::string error = thrown_by([&] { f(); });
    const std::regex text("while rank 1 calls train .* on cpu .* and oneDNN .* of ISA 1, its call");
    faults.expect_equal("differ", std::regex_search(error, text), true);
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("disagreement: a call and another operation") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto w = K::variable({1.}, {.name = "w"});
    const auto f = K::function({}, {D::all_reduce(w)}, {.name = "train"});
    const struct {
      const char* name;
      std::function<void()> call;
      const char* detail = "";
    } rows[] = {{"barrier", [&] { world.barrier(); }},
                {"broadcast_variables", [&] { D::broadcast_variables({w}); }, " from rank 0"},
                {"split", [&] { static_cast<void>(world.split(0)); }}};
    for (const auto& row : rows) {
      const std::string error = thrown_by([&] { world.is_root() ? row.call() : void(f()); });
      const std::string own = world.is_root() ? row.name : "train";
      faults.expect_equal(row.name, without_numbers_of_calls(without_lines(error)),
                          "DistributedError of 1: " + own + ": rank 0 calls " + row.name +
                              " (LINE)" + row.detail +
                              ", its call N, while rank 1 calls train (LINE), its call N; "
                              "nothing was computed");
      faults.expect_equal("after", f()[0], K::Array{2.f});
    }
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
