// Failures that only the fakes can cause: of NCCL's calls, of its file, of its version, of devices.
#include "backends/cuda/api/nccl_api.h"
#include "runtime/host/log.h"
#include "tests/backends/cuda_fakes/fake_gpu.h"
#include "tests/backends/cuda_fakes/nccl_control.h"
#include "tests/distributed/collectives/failing_calls.h"
#include "tests/distributed/nccl/device_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

/// Memory of all ranks, in which they leave their texts.
struct Board {
  std::atomic<std::size_t> written{0};
  std::array<std::array<char, 2048>, 4> texts{};
};

Board* board = nullptr;  // of the running texts_of()

/// The texts of all ranks. The end of a broken group ends all processes, so each waits until all
/// have left theirs. `time_limit`: of init, in seconds.
std::vector<std::string> texts_of(const fake::Settings& settings, const RankBody& body,
                                  int time_limit = 1800) {
  void* const memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  board = new (memory) Board;
  fake::Ranks ranks(settings);
  ranks.run([&](std::uint32_t rank) {
    D::InitOptions options = options_of(ranks, rank);
    options.time_limit = time_limit;
    std::optional<D::Session> world;  // until all have left their texts
    std::string text;
    try {
      world.emplace(D::init(options));
      text = body(*world);
    } catch (const std::exception& error) {
      text = std::string("the rank failed: ") + error.what();
    }
    text.copy(board->texts[rank].data(), board->texts[rank].size() - 1);
    ++board->written;
    while (board->written < settings.ranks) std::this_thread::yield();
    return text;
  });
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < settings.ranks; ++rank) {
    texts.emplace_back(board->texts[rank].data());
  }
  board = nullptr;
  ::munmap(memory, sizeof(Board));
  return texts;
}

/// Makes the nth call of the function fail in this process, once the backend has opened the fake.
void fail_call(const char* function, int nth, cuda::api::NcclStatus status) {
  const std::string path = fake_cuda::library_folder(build_folder()) + "/libnccl.so.2";
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::logic_error(::dlerror());
  const auto fail = reinterpret_cast<decltype(&fake_nccl_fail)>(::dlsym(library, "fake_nccl_fail"));
  if (fail == nullptr) throw std::logic_error(::dlerror());
  if (fail(function, nth, static_cast<int>(status)) != 1) throw std::logic_error(function);
}

/// The errors of a call after `fault`, and of the next; no variable changes in the first. So many
/// right calls before.
std::string texts_around(const D::Group& world, const std::function<void()>& fault,
                         int right_calls = 0) {
  const FailingStep step("cuda");
  Faults faults;
  for (int i = 0; i < right_calls; ++i) expect_right_call(faults, step, i, world);
  const K::Array before = K::get_value(step.w);
  fault();
  const std::string failed = thrown_by([&] { step.function(step.inputs(0, 1, 2)); });
  faults.expect_equal("w", K::get_value(step.w), before);
  const std::string next = thrown_by([&] { expect_right_call(faults, step, right_calls, world); });
  return failed + " | " + next + (faults.text().empty() ? "" : " | " + faults.text());
}

TEST_CASE("nccl: a group cannot go on after a call of NCCL has failed on one rank") {
  use_one_device();
  const EnvironmentVariable reported("KILN_TEST_NCCL_LOST_RANKS", "reported");
  const struct {
    const char* function;
    int nth;
  } rows[] = {{"ncclGroupStart", 1},
              {"ncclGroupEnd", 2},
              {"ncclSend", 1},
              {"ncclRecv", 2},
              {"ncclAllGather", 1},
              {"ncclBroadcast", 1},
              {"ncclCommGetAsyncError", 3}};
  for (const auto& row : rows) {
    INFO(row.function);
    const auto texts = texts_of({.ranks = 3, .seed = 1}, [&](const D::Group& world) {
      const auto fault = [&] {
        if (world.rank() == 1) fail_call(row.function, row.nth, cuda::api::NcclStatus::Internal);
      };
      return texts_around(world, fault, 1);
    });
    CHECK_THAT(texts[1], Catch::Matchers::StartsWith("DistributedError of 1: train: cannot "));
    CHECK_THAT(texts[1], Catch::Matchers::ContainsSubstring(
                             "ncclInternalError (3): a failure on demand; the group is broken | "
                             "DistributedError of 1: train: the group is broken since "));
    for (const std::size_t other : {0u, 2u}) {
      CHECK_THAT(texts[other], Catch::Matchers::ContainsSubstring(
                                   "ncclRemoteError (6): another rank has ended; the group is "
                                   "broken | DistributedError of "));
    }
  }
}

std::string log;  // of this rank

std::string no_answer_text(int seconds) {
  return "the ranks of NCCL did not answer within " + std::to_string(seconds) +
         " s (init's time_limit); the group is broken";
}

TEST_CASE("nccl: other ranks of a machine wait for one that has failed until the time limit") {
  use_one_device();
  const auto texts = texts_of(
      {.ranks = 3, .seed = 1},
      [&](const D::Group& world) {
        runtime::set_log_sink([](runtime::LogLevel, std::string_view line) { log += line; });
        const auto fault = [&] {
          if (world.rank() == 1) fail_call("ncclAllGather", 1, cuda::api::NcclStatus::Internal);
        };
        return texts_around(world, fault, 1) + log;
      },
      /*time_limit=*/4);
  CHECK_THAT(texts[1], Catch::Matchers::ContainsSubstring("ncclInternalError (3)"));
  for (const std::size_t other : {0u, 2u}) {
    CHECK_THAT(texts[other], Catch::Matchers::ContainsSubstring(no_answer_text(4)));
    CHECK_THAT(texts[other],
               Catch::Matchers::ContainsSubstring(" s for other ranks in NCCL: all_reduce at "));
  }
}

TEST_CASE("nccl: a rank that stays away ends the wait of the others at the time limit") {
  use_one_device();
  const auto texts = texts_of(
      {.ranks = 2, .seed = 1},
      [](const D::Group& world) {
        const auto x = K::placeholder({.shape = {1}});
        const auto printed = K::print_tensor(D::all_reduce(x), {.message = "sum"});
        const auto f = K::function({x}, {D::all_reduce(printed)}, {.name = "f", .backend = "cuda"});
        K::set_print_sink([&](std::string_view) {
          if (world.rank() != 1) return;
          while (board->written == 0) std::this_thread::yield();
          ::setenv("KILN_TEST_NCCL_LOST_RANKS", "reported", 1);
        });
        return thrown_by([&] { f({K::Array{1.f}}); });
      },
      /*time_limit=*/1);
  CHECK_THAT(texts[0], Catch::Matchers::StartsWith(std::string("DistributedError of 0: f: ") +
                                                   no_answer_text(1)));
  CHECK_THAT(texts[1], Catch::Matchers::ContainsSubstring(
                           "ncclRemoteError (6): another rank has ended; the group is broken"));
}

TEST_CASE("nccl: ranks that cannot join fail together, and the next call tries again") {
  use_one_device();
  const auto ids = texts_of({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    return texts_around(world, [&] {
      if (world.rank() == 0) fail_call("ncclGetUniqueId", 1, cuda::api::NcclStatus::System);
    });
  });
  const std::string reason =
      "rank 0 cannot join the ranks of NCCL: cannot make an id for the ranks: "
      "ncclSystemError (2): a failure on demand";
  for (const std::string& text : ids) {
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring(reason));
    CHECK_THAT(text, Catch::Matchers::EndsWith(" | no error"));
  }
  const auto joins = texts_of({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    return texts_around(world, [&] {
      if (world.rank() == 1) fail_call("ncclCommInitRankConfig", 1, cuda::api::NcclStatus::System);
    });
  });
  for (const std::string& text : joins) {
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring(
                         "rank 1 cannot join the ranks of NCCL: cannot join the ranks: "
                         "ncclSystemError (2): a failure on demand"));
    CHECK_THAT(text, Catch::Matchers::EndsWith(" | no error"));
  }
}

TEST_CASE("nccl: several ranks on one device need the library's consent") {
  use_one_device();
  const EnvironmentVariable alone("NCCL_MULTI_RANK_GPU_ENABLE", std::nullopt);
  for (const std::string& text : texts_of({.ranks = 2, .seed = 1}, [](const D::Group& world) {
         return texts_around(world, [] {});
       })) {
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring(
                         "rank 0 cannot join the ranks of NCCL: cannot join the ranks: "
                         "ncclInvalidUsage (5): Duplicate GPU detected"));
  }
}

TEST_CASE("nccl: ranks with different versions or options are rejected") {
  use_one_device();
  const struct {
    const char *variable, *value, *of_rank_0, *of_rank_1;
  } rows[] = {{"KILN_TEST_CUDA_LIE", "ncclGetVersion=22703", " nccl 2.32.3", " nccl 2.27.3"},
              {"KILN_CUDA_TF32", "true", " nccl 2.32.3", " nccl 2.32.3 tf32"},
              {"KILN_CUDA_DETERMINISTIC", "false", " nccl 2.32.3", " nondeterministic"}};
  for (const auto& row : rows) {
    for (const std::string& text : texts_of({.ranks = 2, .seed = 1}, [&](const D::Group& world) {
           if (world.rank() == 1) ::setenv(row.variable, row.value, 1);
           return texts_around(world, [] {});
         })) {
      CHECK_THAT(text, Catch::Matchers::ContainsSubstring("cuda sm_90 nvrtc "));
      CHECK_THAT(text, Catch::Matchers::ContainsSubstring(row.of_rank_0));
      CHECK_THAT(text, Catch::Matchers::ContainsSubstring(row.of_rank_1));
    }
  }
}

TEST_CASE("nccl: a function with collectives needs the library") {
  use_one_device();
  const Scratch libraries;
  const std::string fakes = fake_cuda::library_folder(build_folder());
  for (const char* name : {"libcuda.so.1", "libnvrtc.so.12"}) {
    std::filesystem::create_symlink(fakes + "/" + name, libraries.path(name));
  }
  libraries.write("libnccl.so.2", "text");
  const EnvironmentVariable folder("KILN_CUDA_LIBRARIES", libraries.folder());
  for (const std::string& text : texts_of({.ranks = 2, .seed = 1}, [](const D::Group&) {
         return thrown_by([] { const FailingStep step("cuda"); });
       })) {
    CHECK_THAT(text, Catch::Matchers::StartsWith(
                         "BackendError: function: collectives on cuda need NCCL: NCCL, NVIDIA's "
                         "library of collectives, cannot be loaded: " +
                         libraries.path("libnccl.so.2") + ": not an ELF file"));
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring(
                         "; install the wheel nvidia-nccl-cu13, or set the option collectives "
                         "(KILN_CUDA_COLLECTIVES) to host"));
  }
}

TEST_CASE("nccl: ranks of one machine take its devices in turn") {
  use_one_device();
  // The fake has one device, and says that it has two.
  const EnvironmentVariable lie("KILN_TEST_CUDA_LIE", "cuDeviceGetCount=2");
  const auto texts = texts_of({.ranks = 3, .seed = 1}, [](const D::Group&) {
    const auto x = K::placeholder({.shape = {1}});
    return thrown_by([&] { K::function({x}, {x + x}, {.backend = "cuda"})({K::Array{1.f}}); });
  });
  CHECK(texts[0] == "no error");
  CHECK_THAT(texts[1], Catch::Matchers::ContainsSubstring("cannot get a device"));
  CHECK(texts[2] == "no error");
}

}  // namespace
}  // namespace kiln::testing
