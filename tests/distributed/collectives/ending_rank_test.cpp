// A rank that ends before or within a call of the others: they learn why, and never wait for ever.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/support/has.h"

#include <kiln/print.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

/// Adds 1 for each rank to w.
K::Function step_of(const K::Tensor& w, const char* backend) {
  const auto sum = D::all_reduce(K::ones_like(w));
  return K::function({}, {D::all_gather(sum), D::all_reduce(w)},
                     {.updates = {K::update_add(w, sum)}, .name = "train", .backend = backend});
}

TEST_CASE("ending rank: it returns, throws or exits before a call of the others") {
  const struct {
    void (*end)();
    int status;
    const char* reason;
  } rows[] = {
      {[] {}, 0, "its session ended"},
      {[] { throw std::runtime_error("no file"); }, 1, "an exception ended its session"},
      {[] { std::exit(7); }, 7, "exit was called"},
  };
  for (const auto& row : rows) {
    fake::Ranks ranks({.ranks = 3, .seed = 3});
    const auto ends = ranks.run([&](std::uint32_t rank) {
      const auto world = D::init(options_of(ranks, rank));
      const auto w = K::variable({0.}, {.name = "w"});
      const auto f = step_of(w, "reference");
      f();
      if (rank == 1) {
        row.end();
        return std::string();
      }
      const std::string first = thrown_by([&] { f(); }), second = thrown_by([&] { f(); });
      return first + "\n" + second + "\n" + printed(K::get_value(w));
    });
    const std::string error =
        std::string("DistributedError of 1: train: rank 1 has left the group after 2 calls: ") +
        row.reason + "\n";
    CHECK(ends[0] == fake::RankEnd{0, error + error + "[3.]"});
    CHECK(ends[1].status == row.status);
    CHECK(ends[2] == fake::RankEnd{0, error + error + "[3.]"});
  }
}

TEST_CASE("ending rank: it is killed in any transfer of a call") {
  // init takes 4; a call 5: the heads, three collectives and the outcomes.
  for (std::uint64_t transfer = 4; transfer < 10; ++transfer) {
    fake::Ranks ranks({.ranks = 2, .seed = transfer});
    ranks.world().ranks[1].fault = {fake::Fault::Kind::Kill, transfer};
    const auto ends = ranks.run([&](std::uint32_t rank) {
      const auto world = D::init(options_of(ranks, rank));
      const auto w = K::variable({0.}, {.name = "w"});
      const auto f = step_of(w, "cpu");
      std::string texts;
      for (int i = 0; i < 4; ++i) texts += thrown_by([&] { f(); }) + "\n";
      return texts;
    });
    INFO(ends[0]);
    CHECK(ends[1].status == -SIGKILL);
    // The end of a process whose group is broken ends all ranks.
    CHECK(ends[0].status != 0);
    CHECK(has(ends[0].text, "DistributedError of 0: train: rank 1 was killed by signal 9 ("));
    CHECK(has(ends[0].text, "DistributedError of 0: train: the group is broken since train"));
  }
}

TEST_CASE("ending rank: it exits within a call, from a print sink") {
  fake::Ranks ranks({.ranks = 2, .seed = 1});
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto world = D::init(options_of(ranks, rank));
    const auto sum = K::print_tensor(D::all_reduce(K::variable({1.})));
    const auto f = K::function({}, {D::all_gather(sum)}, {.name = "train"});
    K::set_print_sink([&](std::string_view) {
      if (rank == 1) std::exit(7);
    });
    return thrown_by([&] { f(); });
  });
  INFO(ends[0] << "\n" << ends[1]);
  CHECK(ends[0].status != 0);
  CHECK(ends[1].status != 0);
}

TEST_CASE("ending rank: a forked child of a rank is none") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto w = K::variable({0.}, {.name = "w"});
    const auto f = step_of(w, "reference");
    f();
    const int status = in_child([&] {
      Faults of_child;
      const std::string fault = ": a child of fork() is not a rank of the group";
      of_child.expect_equal("call", thrown_by([&] { f(); }), "BackendError: train" + fault);
      of_child.expect_equal("barrier", thrown_by([&] { world.barrier(); }),
                            "BackendError: barrier" + fault);
      of_child.expect_equal("w", printed(K::get_value(w)), "[2.]");
      std::cerr << of_child.text();
      return of_child.text().empty() ? 0 : 1;
    });
    faults.expect(status == 0, "the child ends with " + std::to_string(status));
    f();
    faults.expect_equal("w", printed(K::get_value(w)), "[4.]");
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
