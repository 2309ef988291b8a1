// Tests the folders where a library is searched, their order, and the text of the report.
#include "backends/cuda/api/library_file.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/stand_in.h"
#include "tests/support/process.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>

using namespace cuda_api_test;
using namespace kiln::cuda::api;

namespace {

const std::string kBuild = KILN_BINARY_DIR;

LibrarySearchPath configured(const std::vector<std::string>& folders) {
  return {
      .configured = folders, .plugin_folder = false, .system_search = false, .known_folders = {}};
}

std::string program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

Elf64_Ehdr own_header() {
  const std::string bytes = kiln::testing::contents_of("/proc/self/exe");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

/// The ELF header of this program after a change, as a file of its own.
std::string changed_header(void (*change)(Elf64_Ehdr&)) {
  Elf64_Ehdr header = own_header();
  change(header);
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

}  // namespace

TEST_CASE("library search: configured folders hold toolkits and Python wheels") {
  struct Row {
    std::string file, found_in;
  };
  const std::vector<Row> rows{{"libx.so.2", "libx.so.2"},
                              {"lib64/libx.so.2", "lib64/libx.so.2"},
                              {"lib/libx.so.1", "lib/libx.so.1"},
                              {"nvidia/cu13/lib/libx.so.1", "nvidia/cu13/lib/libx.so.1"}};
  for (const Row& row : rows) {
    const StandIns files(kBuild);
    files.add(row.file, "compiler");
    INFO(row.file);
    const LibraryFile file = open_library({"libx.so.2", "libx.so.1"}, configured({files.folder()}));
    REQUIRE(file.handle != nullptr);
    CHECK(file.path == files.path(row.found_in));
    CHECK(file.symbol("nvrtcVersion") != nullptr);
    CHECK(file.symbol("nvrtcNonsense") == nullptr);
  }
}

TEST_CASE("library search: folders and names in their order") {
  const StandIns files(kBuild);
  for (const char* name : {"a/libx.so.1", "b/libx.so.2", "b/libx.so.1", "t/cuda-9.2/libx.so.1",
                           "t/cuda-13.0/libx.so.1", "t/cuda-12.8/libx.so.1"}) {
    files.add(name, "compiler");
  }
  std::filesystem::create_symlink(files.path("b/libx.so.2"), files.path("linked.so"));
  const std::vector<std::string> names{"libx.so.2", "libx.so.1"};
  LibrarySearchPath search_path = configured({files.path("a"), files.path("b")});
  CHECK(open_library(names, search_path).path == files.path("a/libx.so.1"));
  search_path.configured = {files.path("b"), files.path("a")};
  CHECK(open_library(names, search_path).path == files.path("b/libx.so.2"));
  search_path = configured({files.path("absent")});
  search_path.known_folders = {files.path("t/cuda"), files.path("t/cuda-*")};
  const LibraryFile newest = open_library(names, search_path);
  CHECK(newest.path == files.path("t/cuda-13.0/libx.so.1"));
  CHECK(with_dir(newest.attempts, files.folder()) ==
        std::vector<std::string>{"DIR/absent: no such folder", "DIR/t/cuda: no such folder",
                                 "DIR/t/cuda-13.0/libx.so.2: no such file"});
  CHECK(open_library({"linked.so"}, configured({files.folder()})).path ==
        files.path("b/libx.so.2"));
}

TEST_CASE("library search: the plugin's folder and the system's search") {
  const StandIns files(kBuild);
  LibrarySearchPath search_path = configured({});
  search_path.plugin_folder = true;
  const std::string name = "libkiln_absent.so.9";
  const std::string own = std::filesystem::path(program()).parent_path().string();
  CHECK(attempts_text(open_library({name}, search_path)) == own + "/" + name + ": no such file");
  search_path.plugin_folder = false;
  search_path.system_search = true;
  CHECK(attempts_text(open_library({name}, search_path)) ==
        name + " by the system's search: not found");
  const LibraryFile found = open_library({"libm.so.6"}, search_path);
  CHECK(found.symbol("cos") != nullptr);
  CHECK(std::filesystem::path(found.path).is_absolute());
  CHECK_FALSE(std::filesystem::is_symlink(found.path));
}

TEST_CASE("library search: a linker stub that the system's search finds") {
  const StandIns files(kBuild);
  files.add("stubs/libkiln_stub.so.1", "compiler");
  const kiln::testing::Outcome outcome = kiln::testing::run_shell(
      "LD_LIBRARY_PATH='" + files.path("stubs") + "' '" + program() + "' '[.system_search]'");
  INFO(outcome.text);
  CHECK(with_dir(outcome.text, files.folder())
            .find("libkiln_stub.so.1 by the system's search: DIR/stubs/libkiln_stub.so.1, a linker "
                  "stub of the toolkit\n") != std::string::npos);
}

TEST_CASE("child: prints the attempts to find a stub", "[.system_search]") {
  LibrarySearchPath search_path = configured({});
  search_path.system_search = true;
  std::cout << attempts_text(open_library({"libkiln_stub.so.1"}, search_path)) << "\n";
}

TEST_CASE("library search: files that cannot be loaded are passed over with the reason") {
  const StandIns files(kBuild);
  const std::string machine = std::to_string(own_header().e_machine);
  files.write("text/libx.so.1", "no library");
  files.write("short/libx.so.1",
              "\x7f"
              "ELF");
  files.write("folder/libx.so.1/", "");
  files.write("bits/libx.so.1",
              changed_header([](Elf64_Ehdr& header) { header.e_ident[EI_CLASS] = ELFCLASS32; }));
  files.write("machine/libx.so.1",
              changed_header([](Elf64_Ehdr& header) { header.e_machine = 0x1234; }));
  files.write("loop/", "");
  std::filesystem::create_symlink("libx.so.1", files.path("loop/libx.so.1"));
  files.write("pipe/", "");
  REQUIRE(::mkfifo(files.path("pipe/libx.so.1").c_str(), 0600) == 0);
  files.add("cut/libx.so.1", "compiler");
  const auto whole = std::filesystem::file_size(files.path("cut/libx.so.1"));
  std::filesystem::resize_file(files.path("cut/libx.so.1"), 5000);
  files.add("stubs/libx.so.1", "compiler");
  files.add("good/libx.so.1", "compiler");
  LibrarySearchPath search_path = configured({"relative"});
  for (const char* name : {"text", "short", "folder", "bits", "machine", "loop", "pipe", "cut",
                           "stubs", "good"}) {
    search_path.configured.push_back(files.path(name));
  }
  const LibraryFile file = open_library({"libx.so.1"}, search_path);
  CHECK(file.path == files.path("good/libx.so.1"));
  std::vector<std::string> attempts = with_dir(file.attempts, files.folder());
  const auto cut = std::find_if(attempts.begin(), attempts.end(), [](const std::string& one) {
    return one.starts_with("DIR/cut/libx.so.1: cut off: it has 5000 bytes and needs ");
  });
  REQUIRE(cut != attempts.end());
  CHECK(std::stoull(cut->substr(cut->rfind(' ') + 1)) <= whole);
  attempts.erase(cut);
  CHECK(attempts ==
        std::vector<std::string>{
            "relative: skipped, as the folder is not an absolute path",
            "DIR/text/libx.so.1: not an ELF file", "DIR/short/libx.so.1: not an ELF file",
            "DIR/folder/libx.so.1: not a regular file",
            "DIR/bits/libx.so.1: a 32-bit library, but this process is 64-bit",
            "DIR/machine/libx.so.1: a library of another architecture (ELF machine 4660, but this "
            "process is " +
                machine + ")",
            "DIR/loop/libx.so.1: cannot be read: Too many levels of symbolic links",
            "DIR/pipe/libx.so.1: not a regular file",
            "DIR/stubs/libx.so.1: a linker stub of the toolkit"});
}

TEST_CASE("library search: the dynamic loader's reason for a damaged library") {
  const StandIns files(kBuild);
  files.write("libx.so.1", changed_header([](Elf64_Ehdr& header) { header.e_shnum = 0; }));
  const LibraryFile file = open_library({"libx.so.1"}, configured({files.folder()}));
  CHECK(file.handle == nullptr);
  const std::string text = with_dir(attempts_text(file), files.folder());
  CHECK(text.starts_with("DIR/libx.so.1: "));
  CHECK(text.find("DIR/libx.so.1: DIR/libx.so.1") == text.npos);
  CHECK(text.size() > std::string("DIR/libx.so.1: ").size());
}

TEST_CASE("library search: an unreadable library") {
  if (::geteuid() == 0) {
    WARN("left out: root can read every file");
    return;
  }
  const StandIns files(kBuild);
  files.add("libx.so.1", "compiler");
  REQUIRE(::chmod(files.path("libx.so.1").c_str(), 0) == 0);
  const LibraryFile file = open_library({"libx.so.1"}, configured({files.folder()}));
  CHECK(with_dir(attempts_text(file), files.folder()) ==
        "DIR/libx.so.1: cannot be read: Permission denied");
}
