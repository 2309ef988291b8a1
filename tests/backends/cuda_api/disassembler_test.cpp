// Tests the search for disassemblers, and how they end, with scripts in their place.
#include "backends/cuda/api/disassembler.h"
#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/child_process.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

using namespace kiln::cuda::api;
using namespace std::chrono_literals;
using kiln::testing::contents_of;
using kiln::testing::EnvironmentVariable;
using kiln::testing::Scratch;

namespace fs = std::filesystem;

namespace {

/// A program that runs `lines` of sh.
std::string script(const Scratch& scratch, const std::string& name, const std::string& lines) {
  fs::create_directories(fs::path(scratch.path(name)).parent_path());
  const std::string path = scratch.write(name, "#!/bin/sh\n" + lines + "\n");
  fs::permissions(path, fs::perms::owner_all);
  return fs::canonical(path).string();
}

/// Searches these folders alone.
ToolSearchPath only(std::vector<std::string> configured) {
  return {.configured = std::move(configured),
          .library = "",
          .path_search = false,
          .known_folders = {}};
}

std::string failure_of(const std::function<void()>& action, std::uint32_t code) {
  try {
    action();
  } catch (const kiln::sdk::Failure& failure) {
    CHECK(failure.code() == code);
    return failure.what();
  }
  return "no failure";
}

using kiln::testing::has;

}  // namespace

TEST_CASE("disassembler: the first program of the folders in their order") {
  const Scratch scratch;
  fs::create_directories(scratch.path("empty"));
  scratch.write("empty/nvdisasm", "no program");  // not executable
  const std::string first = script(scratch, "toolkit/bin/cuobjdump", "echo first");
  const std::string second = script(scratch, "site/nvidia/cu13/bin/nvdisasm", "echo second");
  const std::string both = script(scratch, "both/nvdisasm", "echo both");
  script(scratch, "both/cuobjdump", "echo neither");
  fs::create_directories(scratch.path("toolkit/lib64"));
  const auto found = [&](const std::vector<std::string>& folders) {
    std::vector<std::string> paths;
    for (const std::string& one : folders) paths.push_back(scratch.path(one));
    return Disassembler(only(paths)).path();
  };
  CHECK(found({"empty", "toolkit", "site"}) == first);
  CHECK(found({"toolkit/lib64"}) == first);
  CHECK(found({"toolkit/bin"}) == first);
  CHECK(found({"empty", "site", "toolkit"}) == second);
  CHECK(found({"both"}) == both);
  // Beside a library of a toolkit, in PATH, and in known folders.
  ToolSearchPath search_path = only({});
  search_path.known_folders = {scratch.path("s*te/nvidia/cu13/bin")};
  CHECK(Disassembler(search_path).path() == second);
  const EnvironmentVariable path("PATH", "relative::" + scratch.path("both") + ":/usr/bin");
  search_path.path_search = true;
  CHECK(Disassembler(search_path).path() == both);
  search_path.library = scratch.path("toolkit/lib64/libnvrtc.so.13");
  CHECK(Disassembler(search_path).path() == first);
}

TEST_CASE("disassembler: without one, the folders that were searched") {
  const Scratch scratch;
  CHECK(failure_of([] { Disassembler{only({"/no/such/folder", "relative"})}; },
                   KILN_CODE_NOT_FOUND) == "neither nvdisasm nor cuobjdump is in any folder");
  const std::string text =
      failure_of([&] { Disassembler{only({scratch.folder()})}; }, KILN_CODE_NOT_FOUND);
  CHECK(has(text,
            "neither nvdisasm nor cuobjdump is in " + fs::canonical(scratch.folder()).string()));
}

TEST_CASE("disassembler: the program gets a file with the machine code, which is gone later") {
  const Scratch scratch;
  const EnvironmentVariable temporary("TMPDIR", scratch.folder());
  const std::string cubin =
      "\x7f"
      "ELF of 'any' $(bytes)\n" +
      std::string(5, '\0');
  const std::string keep = "; cp \"$2\" '" + scratch.path("read") + "'; echo \"$@\" > '" +
                           scratch.path("arguments") + "'";
  for (const std::string name : {"nvdisasm", "cuobjdump"}) {
    INFO(name);
    const std::string folder = "of-" + name;
    script(scratch, folder + "/" + name, "echo 'MOV R1'; echo a warning >&2" + keep);
    const Disassembler disassembler(only({scratch.path(folder)}));
    CHECK(disassembler.disassemble(cubin) == "MOV R1\n");
    CHECK(contents_of(scratch.path("read")) == cubin);
    const std::string arguments = contents_of(scratch.path("arguments"));
    const std::string option = name == "nvdisasm" ? "--print-code " : "--dump-sass ";
    CHECK(arguments.starts_with(option + scratch.folder() + "/kiln-"));
    CHECK(arguments.ends_with(".cubin\n"));
    CHECK_FALSE(fs::exists(arguments.substr(option.size(), arguments.size() - option.size() - 1)));
  }
}

TEST_CASE("disassembler: large output, which nobody reads while the program runs") {
  const Scratch scratch;
  script(scratch, "nvdisasm", "head -c 3000000 /dev/zero | tr '\\0' x");
  CHECK(Disassembler(only({scratch.folder()})).disassemble("code") == std::string(3000000, 'x'));
}

TEST_CASE("disassembler: programs that fail") {
  struct Row {
    const char* lines;
    const char* text;  // after the path
  };
  for (const Row& row :
       {Row{"echo partly; echo bad magic >&2; echo more >&2; exit 3",
            " ended with status 3: bad magic"},
        Row{"exit 0", " printed nothing"}, Row{"kill -9 $$", " ended with status 137: "},
        Row{"exec sleep 60", " does not end"}}) {
    INFO(row.lines);
    const Scratch scratch;
    const std::string path = script(scratch, "nvdisasm", row.lines);
    const Disassembler disassembler(only({scratch.folder()}));
    const auto begin = std::chrono::steady_clock::now();
    CHECK(failure_of([&] { disassembler.disassemble("code", 300ms); }, KILN_CODE_UNAVAILABLE) ==
          path + row.text);
    CHECK(std::chrono::steady_clock::now() - begin < 20s);
  }
  const Scratch scratch;
  const std::string path = scratch.write("nvdisasm",
                                         "\x7f"
                                         "ELF no program");
  fs::permissions(path, fs::perms::owner_all);
  const Disassembler broken(only({scratch.folder()}));
  CHECK(has(failure_of([&] { broken.disassemble("code"); }, KILN_CODE_UNAVAILABLE),
            " cannot be run: "));
  const EnvironmentVariable temporary("TMPDIR", "/no/such/folder");
  CHECK(has(failure_of([&] { broken.disassemble("code"); }, KILN_CODE_UNAVAILABLE),
            "cannot write /no/such/folder/kiln-"));
}

TEST_CASE("disassembler: a process without standard streams gets both outputs") {
  const Scratch scratch;
  const std::string path = script(scratch, "program", "echo out; echo err >&2");
  int before[3];
  for (const int one : {0, 1, 2}) {
    before[one] = ::fcntl(one, F_DUPFD_CLOEXEC, 10);
    REQUIRE(before[one] >= 10);
  }
  for (const int one : {0, 1, 2}) ::close(one);
  const ChildOutcome outcome = run_child(path, {}, 10s);
  for (const int one : {0, 1, 2}) {
    ::dup2(before[one], one);
    ::close(before[one]);
  }
  CHECK(outcome.failure == "");
  CHECK(outcome.output == "out\n");
  CHECK(outcome.errors == "err\n");
}

TEST_CASE("disassembler: children inherit no input, and no signals that are blocked or ignored") {
  const Scratch scratch;
  const std::string path =
      script(scratch, "program", "cat; grep -E 'Sig(Blk|Ign)' /proc/self/status");
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto handler = ::signal(SIGPIPE, SIG_IGN);
  const ChildOutcome outcome = run_child(path, {}, 10s);
  ::signal(SIGPIPE, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(outcome.failure == "");
  INFO(outcome.output);
  CHECK(has(outcome.output, "SigBlk:\t0000000000000000\n"));
  const std::string ignored = outcome.output.substr(outcome.output.find("SigIgn:\t") + 8, 16);
  CHECK((std::stoull(ignored, nullptr, 16) >> (SIGPIPE - 1) & 1) == 0);
}
