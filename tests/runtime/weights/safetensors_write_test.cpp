// Tests that a weights file is written whole or not at all.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "runtime/weights/safetensors.h"
#include "tests/support/scratch.h"

#include <kiln/error.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

using namespace kiln;
using namespace kiln::runtime;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::Scratch;

TEST_CASE("safetensors: names that no file can hold") {
  const Scratch scratch;
  const auto message = [&](std::vector<NamedArray> tensors) {
    return error_text<ValueError>([&] { write_safetensors(scratch.path("w"), tensors); });
  };
  CHECK(message({{"a", Array(1.f)}, {"a", Array(2.f)}}) == "name 'a' occurs twice");
  CHECK(message({{"__metadata__", Array(1.f)}}) ==
        "name '__metadata__' is reserved by the file format");
  CHECK(message({{"\xff", Array(1.f)}}) == "name '\\xff' is not UTF-8");
  CHECK(scratch.files() == 0);
}

TEST_CASE("safetensors: writing replaces a file whole, keeping its mode and the links to it") {
  const Scratch scratch;
  const std::string path = scratch.write("w", "old"), link = scratch.path("link");
  ::chmod(path.c_str(), 0640);
  REQUIRE(::symlink("w", link.c_str()) == 0);
  const std::vector<NamedArray> tensors{{"a", Array(1.f)}};
  write_safetensors(link, tensors);
  CHECK(SafetensorsFile(path).tensors().size() == 1);
  CHECK(std::filesystem::is_symlink(link));
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
  CHECK(scratch.files() == 2);
}

TEST_CASE("safetensors: a failed write leaves the old file and nothing else") {
  const Scratch scratch;
  const std::string path = scratch.write("w", "old");
  struct rlimit old_limit = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  struct rlimit limit = old_limit;
  limit.rlim_cur = 4096;  // the disk is full after a page
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const std::vector<NamedArray> tensors{{"a", Array::zeros({100000})}};
  const std::string message = error_text<IoError>([&] { write_safetensors(path, tensors); });
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  CHECK(message == path + " cannot be written: File too large");
  CHECK(contents_of(path) == "old");
  CHECK(scratch.files() == 1);
}

TEST_CASE("safetensors: places that cannot be written") {
  const Scratch scratch;
  const auto message = [](const std::string& path) {
    return error_text<IoError>([&] { write_safetensors(path, {}); });
  };
  const std::string nowhere = scratch.path("no/folder");
  CHECK(message(nowhere) == nowhere + " cannot be written: No such file or directory");
  CHECK(message(scratch.folder()) == scratch.folder() + " is a directory");
  CHECK(message("/dev/full") == "/dev/full is not a regular file");
  CHECK(message("") == "the path is empty");
}
