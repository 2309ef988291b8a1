// <kiln/distributed.h> in processes, as a program uses it.
#include "tests/distributed/group/group_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/distributed.h>
#include <kiln/k.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <regex>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

D::InitOptions options_of(const fake::Ranks& ranks, std::uint32_t rank) {
  D::InitOptions options{.communicator = fake_communicator()};
  for (const auto& [key, value] : ranks.options(rank)) options.options[key] = value;
  return options;
}

std::string printed(const K::Array& array) {
  std::ostringstream out;
  out << array;
  return out.str();
}

TEST_CASE("session: variables of all ranks become the root's") {
  fake::Ranks ranks({.ranks = 3, .seed = 1});
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto world = D::init(options_of(ranks, rank));
    const auto w = K::variable({1. + rank, 2.}, {.name = "w"});
    const auto b = K::variable(rank, {.dtype = "int32", .name = "b"});
    const std::string differ = text_or_error([&]() -> std::string {
      D::require_equal({w, b});
      return "";
    });
    D::broadcast_variables({w, b}, {.root = 2});
    D::require_equal({w, b});
    world.barrier();
    const auto [begin, end] = world.shard(10);
    return differ + "; " + printed(K::get_value(w)) + " " + printed(K::get_value(b)) + " " +
           std::to_string(begin) + ":" + std::to_string(end) +
           (D::world().is_root() ? " root" : "");
  });
  const std::string differ = "'w' differs on rank 1: element [0] is 2.0 there and 1.0 on rank 0";
  CHECK(ends[0].text == differ + "; [3. 2.] 2 0:4 root");
  CHECK(ends[1].text == differ + "; [3. 2.] 2 4:7");
  CHECK(ends[2].text == differ + "; [3. 2.] 2 7:10");
  for (const auto& end : ends) CHECK(end.status == 0);
}

TEST_CASE("session: a rank that cannot take part changes no variable anywhere") {
  fake::Ranks ranks({.ranks = 2});
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto world = D::init(options_of(ranks, rank));
    const auto w = K::variable({1. + rank}, {.name = "w"});
    const std::string text = text_or_error([&]() -> std::string {
      D::broadcast_variables({w, rank == 1 ? K::constant(1) : K::Tensor(w)});
      return "";
    });
    return text + "; " + printed(K::get_value(w));
  });
  CHECK_THAT(ends[0].text, Catch::Matchers::StartsWith("rank 1 failed: broadcast_variables: "
                                                       "variables holds "));
  CHECK_THAT(ends[0].text, Catch::Matchers::EndsWith("no variable changed on any rank; [1.]"));
  CHECK_THAT(ends[1].text, Catch::Matchers::EndsWith("which is not a variable; [2.]"));
}

TEST_CASE("session: arguments that one rank rejects are an error on all") {
  fake::Ranks ranks({.ranks = 3});
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto world = D::init(options_of(ranks, rank));
    const auto w = K::variable({1. + rank}, {.name = "w"});
    const auto text_of = [&](const std::function<void()>& call) {
      return text_or_error([&]() -> std::string {
               call();
               return "no error";
             }) +
             "\n";
    };
    std::string texts;
    for (const std::int64_t root : {3, -1}) {
      texts += text_of([&] { D::broadcast_variables({w}, {.root = rank == 1 ? root : 0}); });
    }
    texts += text_of([&] { D::require_equal({rank == 1 ? K::constant(1) : K::Tensor(w)}); });
    texts += text_of([&] { static_cast<void>(world.split(rank == 1 ? -1 : 0)); });
    texts += text_of([&] { D::run_together(rank == 1 ? std::function<void()>() : [] {}); });
    world.barrier();
    return texts + std::to_string(world.split(0).size()) + " " + printed(K::get_value(w));
  });
  const auto without_lines = [](const std::string& text) {
    return std::regex_replace(text, std::regex(" \\[[^ ]*:[0-9]+\\]"), "");
  };
  const std::string failed = "rank 1 failed: ", unchanged = "; no variable changed on any rank\n";
  const std::string others =
      failed + "broadcast_variables: root is 3 of 3 ranks" + unchanged + failed +
      "broadcast_variables: root is -1 of 3 ranks" + unchanged + failed +
      "require_equal: variables holds float32[], which is not a variable" + unchanged + failed +
      "split: color is -1, which is negative; there are no parts\n" + failed +
      "run_together: work is an empty function; what other ranks did stays\n3 ";
  CHECK(without_lines(ends[0].text) == others + "[1.]");
  CHECK(without_lines(ends[1].text) ==
        "root is 3 of 3 ranks\nroot is -1 of 3 ranks\nvariables holds float32[], which is not a "
        "variable\ncolor is -1, which is negative\nwork is an empty function\n3 [2.]");
  CHECK(without_lines(ends[2].text) == others + "[3.]");
}

TEST_CASE("session: ranks whose user has set no seed draw the root's initial values") {
  fake::Ranks ranks({.ranks = 4, .seed = 1});
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto values = [] {
      return printed(K::get_value(K::random_normal_variable({3}, 0, 1))) +
             printed(K::eval(K::random_uniform({3})));
    };
    // States differ before: ranks have drawn different numbers of seeds.
    for (std::uint32_t i = 0; i < rank; ++i) values();
    if (rank == 2) K::set_random_seed(5);
    if (rank == 3) K::RandomState::of_process().set_position({.seed = 6});
    const auto world = D::init(options_of(ranks, rank));
    const std::string drawn = values();
    if (rank < 2) return drawn;
    K::set_random_seed(rank == 2 ? 5 : 6);
    return std::string(drawn == values() ? "the user's" : "others");
  });
  CHECK(ends[0].status == 0);
  CHECK(ends[0].text == ends[1].text);
  CHECK(ends[2].text == "the user's");
  CHECK(ends[3].text == "the user's");
}

TEST_CASE("session: the failure of one rank's work is an error on all") {
  fake::Ranks ranks({.ranks = 3, .seed = 2});
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto world = D::init(options_of(ranks, rank));
    const std::string text = text_or_error([&]() -> std::string {
      D::run_together([&] {
        if (rank == 1) throw K::ValueError("f", "", "no disk");
      });
      return "";
    });
    D::run_together([] {});
    return text + (D::is_initialized() ? "" : " without a group");
  });
  CHECK(ends[0].text == "rank 1 failed: f: no disk; what other ranks did stays");
  CHECK(ends[1].text == "no disk");
  CHECK(ends[2].text == ends[0].text);
  CHECK_FALSE(D::is_initialized());
}

TEST_CASE("session: work fails on one rank after operations have differed") {
  fake::Ranks ranks({.ranks = 2, .seed = 2});
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto world = D::init(options_of(ranks, rank));
    const auto error_of = [](const std::function<void()>& call) {
      return text_or_error([&]() -> std::string {
        call();
        return "no error";
      });
    };
    const std::string differ = error_of([&] {
      if (rank == 0) world.barrier();
      else D::require_equal({});
    });
    const std::string failed = error_of([&] {
      D::run_together([&] {
        if (rank == 0) throw K::ValueError("f", "", "no disk");
      });
    });
    world.barrier();
    return (differ.starts_with("rank 0 calls barrier") ? "" : differ) + failed;
  });
  CHECK(ends[0].text == "no disk");
  CHECK(ends[1].text == "rank 0 failed: f: no disk; what other ranks did stays");
}

TEST_CASE("session: a file of the root is on all ranks") {
  const Scratch scratch;
  const std::string path = scratch.write("w", "weights");
  fake::Ranks ranks({.ranks = 3, .seed = 4});
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto world = D::init(options_of(ranks, rank));
    const D::RootFile file(path), absent(path + " absent");
    const std::string folder =
        text_or_error([&]() -> std::string { return D::RootFile(scratch.folder()).path(); });
    return contents_of(file.path()) + "; " + (absent.exists() ? "absent; " : "") + folder;
  });
  const std::string reason = "cannot read " + scratch.folder() + ": Is a directory";
  CHECK(ends[0].text == "weights; " + reason);
  for (const std::size_t rank : {1, 2}) {
    CHECK_THAT(ends[rank].text,
               Catch::Matchers::StartsWith("weights; rank 0 failed: RootFile: " + reason));
    CHECK_THAT(ends[rank].text, Catch::Matchers::EndsWith("; no rank has the file"));
  }
}

TEST_CASE("session: a file that the root cannot open is not taken for a missing one") {
  const Scratch scratch;
  const std::string path = scratch.folder() + "/loop";
  std::filesystem::create_symlink(path, path);
  for (const std::uint32_t size : {1u, 2u}) {
    fake::Ranks ranks({.ranks = size});
    const auto ends = ranks.run([&](std::uint32_t rank) {
      const auto world = D::init(options_of(ranks, rank));
      return text_or_error(
          [&]() -> std::string { return D::RootFile(path).exists() ? "exists" : "is missing"; });
    });
    const std::string reason = "cannot read " + path + ": Too many levels of symbolic links";
    CHECK(ends[0].text == reason);
    if (size > 1) {
      CHECK_THAT(ends[1].text, Catch::Matchers::StartsWith("rank 0 failed: RootFile: " + reason));
    }
  }
}

TEST_CASE("session: the ways in which a rank ends early") {
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
    fake::Ranks ranks({.ranks = 2, .seed = 3});
    const auto ends = ranks.run([&](std::uint32_t rank) {
      const auto world = D::init(options_of(ranks, rank));
      world.barrier();
      if (rank == 1) {
        row.end();
        return std::string();
      }
      return text_or_error([&]() -> std::string {
        world.barrier();
        return "";
      });
    });
    CHECK(ends[0].text == std::string("rank 1 has left the group after 2 calls: ") + row.reason);
    CHECK(ends[1].status == row.status);
  }
}

TEST_CASE("session: misuse is an error of the caller") {
  const auto message = [](const std::function<void()>& call) {
    return text_or_error([&]() -> std::string {
      call();
      return "no error";
    });
  };
  CHECK(message([] { static_cast<void>(D::world()); }) ==
        "there is no group of ranks; call K::distributed::init() first");
  CHECK(message([] { D::broadcast_variables({}); }) ==
        "there is no group of ranks; call K::distributed::init() first");
  CHECK(message([] { static_cast<void>(D::init({.time_limit = 0})); }) ==
        "time_limit is 0 but must be from 1 to 31536000");
  CHECK_THAT(message([] { static_cast<void>(D::init({.communicator = "../mpi"})); }),
             Catch::Matchers::StartsWith("communicator '../mpi' is neither a name nor an"));
  CHECK_THAT(message([] { static_cast<void>(D::init({.communicator = "absent"})); }),
             Catch::Matchers::StartsWith("no communicator 'absent'; looked for "
                                         "libkilncomm_absent.so in "));
}

}  // namespace
}  // namespace kiln::testing
