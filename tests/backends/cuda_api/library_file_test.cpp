// Tests the folders where a library is searched, their order, and the text of the report.
#include "backends/cuda/api/library_file.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/stand_in.h"
#include "tests/support/process.h"
#include "test_folders.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <utility>

using namespace cuda_api_test;
using namespace kiln::cuda::api;
using kiln::testing::contents_of;

namespace {

const std::string kBuild = KILN_BINARY_DIR;

LibrarySearchPath configured(const std::vector<std::string>& folders) {
  return {
      .configured = folders, .plugin_folder = false, .system_search = false, .known_folders = {}};
}

std::string program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

Elf64_Ehdr own_header() {
  Elf64_Ehdr header;
  std::ifstream program("/proc/self/exe", std::ios::binary);
  REQUIRE(program.read(reinterpret_cast<char*>(&header), sizeof header));
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

/// A folder for each kind of a file libx.so.1 that cannot be loaded, and "good". Returns the kinds.
std::vector<std::string> add_damaged(const StandIns& files) {
  files.write("text/libx.so.1", "no library");
  files.write("short/libx.so.1",
              "\x7f"
              "ELF");
  files.write("folder/libx.so.1/", "");
  files.write("bits/libx.so.1",
              changed_header([](Elf64_Ehdr& header) { header.e_ident[EI_CLASS] = ELFCLASS32; }));
  files.write("machine/libx.so.1",
              changed_header([](Elf64_Ehdr& header) { header.e_machine = 0x1234; }));
  for (const auto& [kind, target] : {std::pair("loop", "libx.so.1"), {"dangling", "absent.so"}}) {
    files.write(std::string(kind) + "/", "");
    std::filesystem::create_symlink(target, files.path(std::string(kind) + "/libx.so.1"));
  }
  files.write("pipe/", "");
  REQUIRE(::mkfifo(files.path("pipe/libx.so.1").c_str(), 0600) == 0);
  files.add("cut/libx.so.1", "compiler");
  std::filesystem::resize_file(files.path("cut/libx.so.1"), 5000);
  files.add("good/libx.so.1", "compiler");
  return {"text", "short", "folder", "bits", "machine", "loop", "dangling", "pipe", "cut"};
}

/// The beginning of the attempt for a file of add_damaged().
std::string damage_of(const std::string& kind) {
  static const std::map<std::string, std::string> reasons{
      {"text", "not an ELF file"},
      {"short", "not an ELF file"},
      {"folder", "not a regular file"},
      {"bits", "a 32-bit library, but this process is 64-bit"},
      {"machine", "a library of another architecture (ELF machine 4660, but this process is " +
                      std::to_string(own_header().e_machine) + ")"},
      {"loop", "cannot be read: Too many levels of symbolic links"},
      {"dangling", "a symbolic link to no file"},
      {"pipe", "not a regular file"},
      {"cut", "cut off: it has 5000 bytes and needs "}};
  return "DIR/" + kind + "/libx.so.1: " + reasons.at(kind);
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

TEST_CASE("library search: files that cannot be loaded are passed over in known folders") {
  const StandIns files(kBuild);
  for (const std::string& kind : add_damaged(files)) {
    INFO(kind);
    LibrarySearchPath search_path = configured({});
    search_path.known_folders = {files.path(kind), files.path("good")};
    const LibraryFile file = open_library({"libx.so.1"}, search_path);
    CHECK(file.path == files.path("good/libx.so.1"));
    REQUIRE(file.attempts.size() == 1);
    CHECK(with_dir(file.attempts[0], files.folder()).starts_with(damage_of(kind)));
  }
}

TEST_CASE("library search: a file that cannot be loaded ends the search in a configured folder") {
  const StandIns files(kBuild);
  const std::string end = " (no other folder is searched, since this one was named)";
  for (const std::string& kind : add_damaged(files)) {
    INFO(kind);
    LibrarySearchPath search_path = configured({files.path(kind), files.path("good")});
    search_path.known_folders = {files.path("good")};
    const LibraryFile file = open_library({"libx.so.2", "libx.so.1"}, search_path);
    CHECK(file.handle == nullptr);
    CHECK(file.is_damaged);
    REQUIRE(file.attempts.size() == 2);
    CHECK(with_dir(file.attempts[1], files.folder()).starts_with(damage_of(kind)));
    CHECK(file.attempts[1].ends_with(end));
    const Caught caught =
        failure_of([&] { throw_not_opened(file, "cuX", "was not found", "; the end"); });
    CHECK(caught.code == KILN_CODE_FAILED_PRECONDITION);
    CHECK(caught.text == "cuX cannot be loaded: " + attempts_text(file) + "; the end");
  }
}

TEST_CASE("library search: stubs, and folders that are none, are passed over") {
  const StandIns files(kBuild);
  files.add("stubs/libx.so.1", "compiler");
  files.add("good/libx.so.1", "compiler");
  const LibraryFile file = open_library(
      {"libx.so.1"}, configured({"relative", files.path("stubs"), files.path("good")}));
  CHECK(file.path == files.path("good/libx.so.1"));
  CHECK(with_dir(file.attempts, files.folder()) ==
        std::vector<std::string>{"relative: skipped, as the folder is not an absolute path",
                                 "DIR/stubs/libx.so.1: a linker stub of the toolkit"});
}

TEST_CASE("library search: sizes in a file's headers that overflow") {
  const StandIns files(kBuild);
  const auto attempt_of = [&](const std::string& bytes) {
    files.write("libx.so.1", bytes);
    return with_dir(open_library_at(files.path("libx.so.1")).attempts.at(0), files.folder());
  };
  const std::string at = "DIR/libx.so.1: ";
  for (const Elf64_Off offset : {~Elf64_Off{0}, Elf64_Off{1} << 63, Elf64_Off{1} << 40}) {
    std::string bytes(4096, '\0');
    Elf64_Ehdr header = own_header();
    header.e_phoff = offset;
    std::memcpy(bytes.data(), &header, sizeof header);
    CHECK(attempt_of(bytes) == at + "cut off: its program headers are missing");
  }
  std::string bytes(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), '\0');
  Elf64_Ehdr header = own_header();
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_offset = segment.p_filesz = Elf64_Off{1} << 63;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &segment, sizeof segment);
  CHECK(attempt_of(bytes) == at + "cut off: it has 120 bytes and needs 18446744073709551615");
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
        "DIR/libx.so.1: cannot be read: Permission denied (no other folder is searched, since this "
        "one was named)");
}
