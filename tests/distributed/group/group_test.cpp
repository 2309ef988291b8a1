// Texts of all ranks when they agree, differ, fail, leave or wait too long.
#include "tests/distributed/group/group_ranks.h"
#include "tests/support/catch.h"

#include <kiln/distributed.h>
#include <kiln/error.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>

namespace kiln::runtime::distributed {
namespace {

using testing::run_groups;
using testing::text_or_error;
using Texts = std::vector<std::string>;

Operation operation(HeadKind kind, const char* function, unsigned line) {
  return {kind, function, Where{"train.cpp", line}};
}

void barrier(Group& group, unsigned line = 1) {
  group.run(operation(HeadKind::Barrier, "barrier", line), [](Channel&) {});
}

TEST_CASE("group: every rank learns its place and the parts of all", "[concurrency]") {
  for (const std::uint32_t size : {2u, 3u, 8u}) {
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
      const fake::Settings settings{.ranks = size, .seed = seed, .ranks_per_host = 2};
      const Texts texts = run_groups(settings, [&](Group& group, std::uint32_t rank) {
        std::string all;
        group.run(operation(HeadKind::Barrier, "barrier", 1), [&](Channel& channel) {
          const std::byte own{static_cast<unsigned char>('a' + rank)};
          for (const std::byte part : channel.all_gather({&own, 1})) {
            all += static_cast<char>(part);
          }
        });
        const Place& place = group.place();
        return all + std::to_string(place.rank) + "/" + std::to_string(place.size) + " " +
               std::to_string(place.local_rank);
      });
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        CHECK(texts[rank] == std::string("abcdefgh").substr(0, size) + std::to_string(rank) + "/" +
                                 std::to_string(size) + " " + std::to_string(rank % 2));
      }
    }
  }
}

TEST_CASE("group: operations that differ are one error on all ranks", "[concurrency]") {
  const Texts texts = run_groups({.ranks = 3, .seed = 1}, [](Group& group, std::uint32_t rank) {
    barrier(group);
    const std::string first = text_or_error([&]() -> std::string {
      if (rank == 1) group.split(operation(HeadKind::Split, "split", 7), 0, 0);
      else barrier(group, 5);
      return "";
    });
    barrier(group, 9);  // the group stays usable
    return first;
  });
  for (const std::string& text : texts) {
    CHECK(text ==
          "rank 0 calls barrier (train.cpp:5), its call 2, while rank 1 calls "
          "split (train.cpp:7), its call 2; nothing was computed");
  }
}

TEST_CASE("group: items that differ are named", "[concurrency]") {
  const struct {
    Texts first, last;
    const char* text;
  } rows[] = {
      {{"'a' float32[2]", "'b' float32[3]"},
       {"'a' float32[2]", "'b' float32[4]"},
       "variable 1 is 'b' float32[3] on rank 0 but 'b' float32[4] on rank 2"},
      {{"'a' float32[2]"}, {}, "variable 0 is 'a' float32[2] on rank 0 but missing on rank 2"},
      {{}, {"'a' float32[2]"}, "variable 0 is missing on rank 0 but 'a' float32[2] on rank 2"},
  };
  for (const auto& row : rows) {
    const Texts texts = run_groups({.ranks = 3}, [&](Group& group, std::uint32_t rank) {
      Operation given = operation(HeadKind::BroadcastVariables, "broadcast_variables", 3);
      given.item = "variable";
      given.items = rank == 2 ? row.last : row.first;
      group.run(given, [](Channel&) { throw std::logic_error("no step runs"); });
      return std::string("agreed");
    });
    for (const std::string& text : texts) CHECK(text == row.text);
  }
}

TEST_CASE("group: a failure of one rank is its own error, and one of all others", "[concurrency]") {
  for (const bool is_early : {true, false}) {
    const Texts texts = run_groups({.ranks = 4, .seed = 3}, [&](Group& group, std::uint32_t rank) {
      Operation given = operation(HeadKind::Barrier, "barrier", 3);
      const ValueError error("gather", "", "index 99 is out of range", Where{"model.cpp", 52});
      if (rank == 2 && is_early) given.failure = std::make_exception_ptr(error);
      return text_or_error([&]() -> std::string {
        group.run(given, [&](Channel&) {
          if (rank == 2) throw error;
        });
        return "";
      });
    });
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(texts[rank] == (rank == 2 ? "index 99 is out of range"
                                      : "rank 2 failed: gather: index 99 is out of range "
                                        "[model.cpp:52]; no variable changed on any rank"));
    }
  }
}

TEST_CASE("group: a rank that leaves is an error of the others", "[concurrency]") {
  const Texts texts = run_groups({.ranks = 3, .seed = 2}, [](Group& group, std::uint32_t rank) {
    barrier(group);
    if (rank == 1) return std::string();
    const auto call = [&] {
      return text_or_error([&]() -> std::string {
        barrier(group);
        return "";
      });
    };
    const std::string first = call();
    return first + "; " + call();
  });
  const std::string left = "rank 1 has left the group after 1 call: its part is over";
  CHECK(texts == Texts{left + "; " + left, "", left + "; " + left});
}

TEST_CASE("group: parts work beside the world, and are left, too", "[concurrency]") {
  const Texts texts = run_groups({.ranks = 4, .seed = 5}, [](Group& group, std::uint32_t rank) {
    const auto part =
        group.split(operation(HeadKind::Split, "split", 1), rank % 2, 4 - std::int64_t{rank});
    barrier(*part);
    barrier(group);
    const auto own = part->split(operation(HeadKind::Split, "split", 2), rank, 0);
    barrier(*own);
    const std::string text = std::to_string(part->place().rank) + " of " +
                             std::to_string(part->place().size) + ", " +
                             std::to_string(own->place().size);
    if (rank == 3) return text;  // rank 1 learns it in the part
    if (rank == 1) {
      return text + ", " + text_or_error([&]() -> std::string {
               barrier(*part);
               return "";
             });
    }
    return text;
  });
  CHECK(texts == Texts{"1 of 2, 1",
                       "1 of 2, 1, rank 0 has left the group after 2 calls: its part is over",
                       "0 of 2, 1", "0 of 2, 1"});
}

TEST_CASE("group: hosts have different numbers of ranks", "[concurrency]") {
  const struct {
    std::uint32_t ranks, per_host;
  } rows[] = {{6, 4}, {10, 8}, {12, 8}};
  for (const auto& row : rows) {
    const fake::Settings settings{.ranks = row.ranks, .ranks_per_host = row.per_host};
    const Texts texts = run_groups(settings, [](Group& group, std::uint32_t) {
      barrier(group);
      const auto all = group.split(operation(HeadKind::Split, "split", 1), 0, 0);
      barrier(*all);
      return std::to_string(all->place().size);
    });
    CHECK(texts == Texts(row.ranks, std::to_string(row.ranks)));
  }
}

TEST_CASE("group: a rank leaves while others are in an operation of another group",
          "[concurrency]") {
  // Ranks 0 and 1 have a part, which rank 0 leaves while rank 1 is in an operation of the world.
  const Texts texts = run_groups({.ranks = 3, .seed = 1}, [](Group& group, std::uint32_t rank) {
    const auto part = group.split(operation(HeadKind::Split, "split", 1), rank / 2, 0);
    barrier(*part);
    if (rank == 0) return std::string();
    const auto call = [&](Group& called) {
      return text_or_error([&]() -> std::string {
        barrier(called);
        return "";
      });
    };
    const std::string first = call(group);
    return rank == 1 ? first + "; " + call(*part) : first;
  });
  const std::string left = "rank 0 has left the group after ";
  const std::string of_world = left + "1 call: its part is over";
  CHECK(texts == Texts{"", of_world + "; " + left + "1 call: its part is over", of_world});
}

TEST_CASE("group: a rank that does not answer is named, and the wait ends", "[concurrency]") {
  fake::Ranks ranks({.ranks = 3, .threads = true, .idle_waits = false});
  std::atomic<bool> has_told = false;  // rank 2, that it waits
  std::atomic<int> done = 0;
  const auto ends = ranks.run([&](std::uint32_t rank) {
    std::int64_t now = 0;
    const Clock clock = [&] {
      if (rank == 2 && now >= 30'000) has_told = true;
      if (rank == 2 || now < 100'000 || has_told) now += 100;
      return std::chrono::milliseconds(now);
    };
    const WaitLimits limits{std::chrono::seconds(60), std::chrono::seconds(200)};
    const auto group = testing::open_group(ranks, rank, limits, clock);
    while (rank == 1 && done < 2) std::this_thread::yield();
    if (rank == 1) return std::string();
    const auto call = [&](unsigned line) {
      return text_or_error([&]() -> std::string {
        barrier(*group, line);
        return "";
      });
    };
    const std::string first = call(3), second = call(8);
    ++done;
    while (done < 2) std::this_thread::yield();
    return first + " | " + second;
  });
  const std::string late = " did not answer within 200 s (init's time_limit)";
  const std::string later =
      "; the group is broken | the group is broken since barrier "
      "(train.cpp:3): ";
  CHECK(ends[0].text == "rank 1" + late + later + "rank 1" + late);
  CHECK(ends[2].text == "other ranks" + late + later + "other ranks" + late);
}

TEST_CASE("group: an engine that fails breaks the group with its reason", "[concurrency]") {
  fake::Ranks ranks({.ranks = 2, .threads = true});
  ranks.world().ranks[1].fault = {fake::Fault::Kind::FailStart, 1, 0};
  std::atomic<int> opened{0};
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto group = testing::open_group(ranks, rank);
    ++opened;
    while (opened < 2) std::this_thread::yield();  // rank 1 may end before the other has opened
    return text_or_error([&]() -> std::string {
      barrier(*group);
      return "agreed";
    });
  });
  for (const auto& end : ends) {
    CHECK_THAT(end.text, Catch::Matchers::EndsWith("; the group is broken"));
  }
}

TEST_CASE("group: one rank needs no communicator") {
  Group alone;
  barrier(alone);
  Operation given = operation(HeadKind::Barrier, "barrier", 1);
  given.failure = std::make_exception_ptr(std::bad_alloc());
  CHECK_THROWS_AS(alone.run(given, [](Channel&) {}), std::bad_alloc);
  CHECK(alone.split(operation(HeadKind::Split, "split", 1), 0, 0)->place().size == 1);
  alone.leave("");
}

}  // namespace
}  // namespace kiln::runtime::distributed
