// Tests every failure to load a plugin, with the exact text, and that the next plugin loads.
#include "tests/support/catch.h"

#include <kiln/backend.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/nearest.h"
#include "runtime/plugin/elf_file.h"
#include "tests/support/child.h"
#include "tests/runtime/plugin/fakes.h"
#include "tests/runtime/plugin/scratch.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elf.h>

#include <fstream>

using namespace kiln;
using namespace kiln::runtime;

namespace {

std::string rejection(const std::string& path) {
  const std::string got = error_text<BackendError>([&] { load_backend(path); });
  CHECK(load_backend(fake_path("adder")) == fake_path("adder"));
  return got;
}

void check_rejected(const std::string& stem, const std::string& why) {
  const std::string path = fake_path(stem);
  CHECK(rejection(path) == text("load_backend: backend plugin '", path, "' ", why));
}

}  // namespace

TEST_CASE("loading: by absolute path, once, however the path is spelled", "[plugin]") {
  const Plugin& plugin = open_plugin(fake_path("adder"), "");
  CHECK(plugin.name == "adder");
  CHECK(plugin.version == "1.2.3");
  CHECK(plugin.build_id == "adder-1");
  CHECK(plugin.path == fake_path("adder"));
  const std::size_t count = opened_plugins().size();

  const Scratch scratch;
  const std::string link = scratch.path("other.so"), hard = scratch.path("hard.so");
  REQUIRE(::symlink(plugin.path.c_str(), link.c_str()) == 0);
  CHECK(&open_plugin(link, "") == &plugin);
  if (::link(plugin.path.c_str(), hard.c_str()) == 0) CHECK(&open_plugin(hard, "") == &plugin);
  CHECK(opened_plugins().size() == count);
}

TEST_CASE("loading: paths that are no plugin are rejected before they run", "[plugin]") {
  const Scratch scratch;
  CHECK(rejection("/no/such/plugin.so") ==
        "load_backend: backend plugin '/no/such/plugin.so' does not exist");
  CHECK(rejection("./plugin.so") ==
        "load_backend: backend path './plugin.so' is relative; give an absolute path or a name");
  CHECK(rejection("") == "load_backend: the name of a backend is empty");
  CHECK(rejection(std::string("a\0b", 3)) ==
        "load_backend: the name of a backend contains a zero byte");

  const std::string folder = scratch.path("folder");
  REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
  CHECK(rejection(folder) == text("load_backend: backend plugin '", folder, "' is a directory"));
  CHECK(rejection("/dev/null") == "load_backend: backend plugin '/dev/null' is not a regular file");

  const std::string plain = scratch.write("plain.so", "just some text");
  CHECK(rejection(plain) == text("load_backend: backend plugin '", plain, "' is not an ELF file"));
  const std::string empty = scratch.write("empty.so", "");
  CHECK(rejection(empty) == text("load_backend: backend plugin '", empty, "' is not an ELF file"));
  const std::string stub = scratch.write("stub.so", "\177ELF");
  CHECK(rejection(stub) ==
        text("load_backend: backend plugin '", stub, "' is cut off within its ELF header"));
}

TEST_CASE("loading: a truncated plugin is rejected before it is mapped", "[plugin]") {
  const Scratch scratch;
  int files = 0;
  for (const std::string& path : {fake_path("adder"), fake_path("spoiled")}) {
    const std::string whole = read_file(path);
    int rejected = 0;
    for (std::size_t percent = 1; percent < 100; ++percent) {
      const std::string cut =
          scratch.write(text(files++, ".so"), whole.substr(0, whole.size() * percent / 100));
      const std::string got = elf_rejection(cut);
      INFO(percent << ": " << got);
      if (got.empty()) {  // only debuggers read beyond the last segment
        load_backend(cut);
        continue;
      }
      ++rejected;
      CHECK_THAT(got, Catch::Matchers::StartsWith("is cut off"));
      CHECK(rejection(cut) == text("load_backend: backend plugin '", cut, "' ", got));
    }
    CHECK(rejected > 0);
  }
}

TEST_CASE("loading: a folder that cannot be searched is an error, not an empty list", "[plugin]") {
  const int status = testing::in_child([] {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    limit.rlim_cur = 64;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
    while (::dup(STDERR_FILENO) >= 0) {
    }
    const std::string named = error_text<BackendError>([] { set_backend("nonsuch"); });
    const std::string listed = error_text<BackendError>([] { list_backends(); });
    if (!named.starts_with("set_backend: /")) return 3;
    if (named.find("cannot be searched for backends: Too many open files") == named.npos) return 4;
    return listed.starts_with("list_backends: /") ? 0 : 5;
  });
  CHECK(status == 0);
}

TEST_CASE("loading: ELF files of the wrong kind are rejected", "[plugin]") {
  const Scratch scratch;
  std::string image = read_file(fake_path("adder"));
  auto* header = reinterpret_cast<Elf64_Ehdr*>(image.data());
  header->e_type = ET_REL;
  const std::string object = scratch.write("object.so", image);
  CHECK(elf_rejection(object) == "is an ELF file but not a shared library");
  header->e_type = ET_DYN;
  header->e_machine = EM_S390;
  const std::string foreign = scratch.write("foreign.so", image);
  CHECK(elf_rejection(foreign) == "is an ELF file for another kind of machine");
}

TEST_CASE("loading: a plugin that needs a sanitizer's run time is rejected, not run", "[plugin]") {
  // The smallest shared library that needs libtsan.so.2: one segment and a dynamic section.
  struct Image {
    Elf64_Ehdr header{};
    Elf64_Phdr segments[2]{};
    Elf64_Dyn dynamic[3]{};
    char strings[32] = "\0libtsan.so.2";
  } image;
  std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
  const std::string real = read_file(fake_path("adder"));
  std::memcpy(&image.header, real.data(), sizeof(Elf64_Ehdr));
  image.header.e_phoff = offsetof(Image, segments);
  image.header.e_phnum = 2;
  image.segments[0].p_type = PT_LOAD;
  image.segments[0].p_filesz = sizeof(Image);
  image.segments[1].p_type = PT_DYNAMIC;
  image.segments[1].p_offset = offsetof(Image, dynamic);
  image.dynamic[0] = {DT_STRTAB, {offsetof(Image, strings)}};
  image.dynamic[1] = {DT_NEEDED, {1}};
  const Scratch scratch;
  const auto bytes = [&] { return std::string(reinterpret_cast<char*>(&image), sizeof(image)); };
  const std::string path = scratch.write("needs.so", bytes());
  const bool own = abi::this_sanitizer() == KILN_SANITIZER_THREAD;
  CHECK(elf_rejection(path) == (own ? "" : "is built with the thread sanitizer and Kiln is not"));
  image.dynamic[0].d_un.d_ptr = 0xffffffffffff;  // hostile offsets are not followed
  CHECK(elf_rejection(scratch.write("hostile.so", bytes())).empty());
  image.segments[1].p_offset = 0xffffffffffffff00;
  image.segments[1].p_filesz = 0x200;
  CHECK_THAT(elf_rejection(scratch.write("far.so", bytes())),
             Catch::Matchers::StartsWith("is cut off: it has "));
  image.header.e_phoff = 0xffffffffffffff00;
  CHECK(elf_rejection(scratch.write("headers.so", bytes())) ==
        "is cut off or damaged within its program headers");
}

TEST_CASE("loading: files that other users could change are rejected", "[plugin]") {
  const Scratch scratch;
  const std::string path = scratch.write("open.so", read_file(fake_path("adder")));
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(rejection(path) ==
        text("load_backend: backend plugin '", path, "' is writable by everyone"));
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  REQUIRE(::chmod(scratch.folder().c_str(), 0777) == 0);
  CHECK(rejection(path) == text("load_backend: backend plugin '", path, "' is in ",
                                scratch.folder(), ", which is writable by everyone"));
  REQUIRE(::chmod(scratch.folder().c_str(), 0700) == 0);
  if (::geteuid() != 0) return;  // only root can give files away
  REQUIRE(::chown(path.c_str(), 12345, 12345) == 0);
  CHECK(rejection(path) == text("load_backend: backend plugin '", path,
                                "' is owned by user 12345, who is neither root nor the user of "
                                "this process"));
}

TEST_CASE("loading: a library without the entry is rejected", "[plugin]") {
  check_rejected("no_entry", "is not a Kiln backend: it does not export kiln_backend_query");
}

TEST_CASE("loading: another version is an error with both versions and both paths", "[plugin]") {
  const std::string host = text(" but Kiln (", host_path(), ") has 0.", KILN_ABI_MINOR,
                                "; build the plugin with the headers of this Kiln");
  check_rejected("newer_major", text("has ABI 7.2", host));
  check_rejected("older_minor", text("has ABI 0.", KILN_ABI_MINOR - 1, host));
  check_rejected("wide_range", text("has ABI 0.1 to 0.", KILN_ABI_MINOR, host));
}

TEST_CASE("loading: an entry that throws, rejects or answers nonsense is rejected", "[plugin]") {
  check_rejected("throws",
                 "violated the plugin ABI: kiln_backend_query threw an exception (no luck today)");
  check_rejected("throws_number", "violated the plugin ABI: kiln_backend_query threw an exception");
  check_rejected("rejects", "rejected the host: no GPU in this machine");
  check_rejected("rejects_silently", "rejected the host with code 14 and without a reason");
  check_rejected("no_header", "gave no header");
  check_rejected("bad_magic", "gave a header that is not that of a Kiln backend");
  check_rejected("bad_name", "reports the invalid name '../Bad'");
  check_rejected("no_table", "violated the plugin ABI: kiln_backend_api is null");
  check_rejected("empty_table",
                 "lacks required functions: error_destroy, instance_create, instance_destroy, "
                 "compile, executable_info, executable_destroy, buffer_allocate, "
                 "buffer_import_host, buffer_copy_to_host, buffer_info, buffer_destroy, execute, "
                 "event_wait, event_destroy");
  check_rejected("must_understand",
                 "violated the plugin ABI: unknown extension 1234 that must be understood");
  const bool thread = abi::this_sanitizer() == KILN_SANITIZER_THREAD;
  const bool address = abi::this_sanitizer() == KILN_SANITIZER_ADDRESS;
  check_rejected("sanitized", text("is built with the ", thread ? "address" : "thread",
                                   " sanitizer but Kiln with ",
                                   thread    ? "the thread sanitizer"
                                   : address ? "the address sanitizer"
                                             : "no sanitizer"));
}

TEST_CASE("loading: two plugins of one name do not replace each other", "[plugin]") {
  const Plugin& adder = open_plugin(fake_path("adder"), "");
  const Plugin& twin = open_plugin(fake_path("twin"), "");
  CHECK(twin.name == adder.name);
  CHECK(twin.version == "9");
  CHECK(load_backend(fake_path("twin")) == fake_path("twin"));
  CHECK(&open_plugin(fake_path("adder"), "") == &adder);
}

TEST_CASE("loading: an unknown name lists the plugins and the nearest name", "[plugin]") {
  open_plugin(fake_path("adder"), "");
  const std::string folder = plugin_directories().front();
  const std::string damaged = text(folder, "/libkiln_zz_damaged.so");
  std::ofstream(damaged) << "not a library";
  const std::string list = describe_files();
  const std::string got = rejection("zz_damagd");
  const std::string by_name = rejection("zz_damaged");
  ::unlink(damaged.c_str());
  CHECK(list.find(text("zz_damaged (", damaged, ", which is not an ELF file)")) !=
        std::string::npos);
  CHECK(got ==
        text("load_backend: no backend 'zz_damagd'; did you mean 'zz_damaged'?; found: ", list,
             "; looked for libkiln_zz_damagd.so in ", join_text(plugin_directories())));
  CHECK(by_name == text("load_backend: backend plugin '", damaged, "' is not an ELF file"));
  CHECK_THAT(rejection("tensorflow"),
             Catch::Matchers::StartsWith("load_backend: no backend 'tensorflow'; found: "));
}

TEST_CASE("loading: the current directory is never searched", "[plugin]") {
  const std::string file = fake_path("minimal");
  char before[4096];
  REQUIRE(::getcwd(before, sizeof(before)) != nullptr);
  REQUIRE(::chdir(file.substr(0, file.rfind('/')).c_str()) == 0);
  const std::string by_file = rejection("libkiln_minimal.so");
  const std::string by_name = rejection("minimal_not_opened");
  REQUIRE(::chdir(before) == 0);
  CHECK(by_file ==
        "load_backend: backend path 'libkiln_minimal.so' is relative; give an absolute "
        "path or a name, 'minimal'");
  CHECK_THAT(by_name, Catch::Matchers::StartsWith("load_backend: no backend 'minimal_not_opened'"));
}

TEST_CASE("nearest_name: the nearest name of a list, or none", "[plugin]") {
  const std::vector<std::string> names{"reference", "cpu", "cuda"};
  CHECK(nearest_name("refrence", names) == "reference");
  CHECK(nearest_name("cudda", names) == "cuda");
  CHECK(nearest_name("gpu", names) == "cpu");
  CHECK(nearest_name("tensorflow", names).empty());
  CHECK(nearest_name("x", names).empty());
  CHECK(nearest_name("", names).empty());
}
