// Tests the dump stage `sass`, with a script in the place of nvdisasm.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <filesystem>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::Outcome;
using kiln::testing::Scratch;

namespace fs = std::filesystem;

namespace {

const std::string kFakes = fake_cuda::library_folder(KILN_BINARY_DIR);

/// A folder with a module, and with a script of these lines as nvdisasm.
struct Folder {
  explicit Folder(const std::string& lines) {
    const Tensor x = placeholder({.shape = {None}, .name = "x"});
    function({x}, {exp(x)}, {.name = "f", .backend = "reference"}).dump(scratch.path("f"));
    const std::string program = scratch.write("nvdisasm", "#!/bin/sh\n" + lines + "\n");
    fs::permissions(program, fs::perms::owner_all);
  }
  /// `kiln dump` on the fakes, with or without a device.
  Outcome dump(const std::string& variables, const std::string& options) const {
    return testing::run_shell(variables + " KILN_CUDA_DRIVER='" + kFakes +
                              "' KILN_CUDA_LIBRARIES='" + kFakes + ":" + scratch.folder() +
                              "' '" KILN_BINARY_DIR "/bin/kiln' dump '" +
                              scratch.path("f/40-module.kir") + "' '" + scratch.path("out") +
                              "' --backend cuda " + options);
  }
  std::string sass() const { return scratch.path("out/57-sass.sass"); }

  Scratch scratch;
};

using kiln::testing::has;

}  // namespace

TEST_CASE("sass: the output of the disassembler, with a device and without one") {
  const Folder folder("echo 'MOV R1, c[0x0][0x28]'; head -c 4 \"$2\" | tail -c 3");
  for (const char* variables : {"", "KILN_CUDA_ARCH=sm_90"}) {
    INFO(variables);
    const Outcome outcome = folder.dump(variables, "--stages assembly");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_FALSE(has(outcome.text, "warning"));
    CHECK(contents_of(folder.sass()).starts_with("MOV R1, c[0x0][0x28]\n"));
    CHECK(fs::exists(folder.scratch.path("out/56-ptx.ptx")));
    fs::remove_all(folder.scratch.path("out"));
    // Other stages need no disassembler.
    CHECK(folder.dump(variables, "--stages plan").status == 0);
    CHECK_FALSE(fs::exists(folder.sass()));
    fs::remove_all(folder.scratch.path("out"));
  }
}

TEST_CASE("sass: a disassembler that fails or prints nothing leaves no file, and a warning") {
  for (const std::string lines : {"echo why >&2; exit 1", "exit 0"}) {
    const Folder folder(lines);
    const Outcome outcome = folder.dump("", "--calls 2");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_FALSE(fs::exists(folder.sass()));
    CHECK(fs::exists(folder.scratch.path("out/56-ptx.ptx")));
    CHECK(has(outcome.text, "/dump: no dump of sass: "));
    CHECK(has(outcome.text, lines == "exit 0" ? "/nvdisasm printed nothing"
                                              : "/nvdisasm ended with status 1: why"));
  }
}

TEST_CASE("sass: without a disassembler there is one warning, however many functions are dumped") {
  const std::string program = fs::canonical("/proc/self/exe").string();
  const Outcome outcome = testing::run_shell("'" + program + "' '[.sass]'");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  const std::string warning = "no dump of sass: ";
  const std::size_t first = outcome.text.find(warning);
  REQUIRE(first != std::string::npos);
  // The machine may have a disassembler, which rejects the machine code of the fakes each time.
  const std::string words = "neither nvdisasm nor cuobjdump is in ";
  if (!outcome.text.substr(first + warning.size()).starts_with(words)) return;
  CHECK(outcome.text.find(warning, first + 1) == std::string::npos);
}

TEST_CASE("child: functions that cannot be disassembled", "[.sass]") {
  cuda_test::fake_device(KILN_BINARY_DIR).reset();
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  for (const char* name : {"f", "g"}) {
    const Function f = function({x}, {exp(x)}, {.name = name, .backend = "cuda"});
    for (int round = 0; round < 2; ++round) f.dump(scratch.path(name), kiln::Stage::Assembly);
    CHECK(fs::exists(scratch.path(std::string(name) + "/56-ptx.ptx")));
    CHECK_FALSE(fs::exists(scratch.path(std::string(name) + "/57-sass.sass")));
  }
}
