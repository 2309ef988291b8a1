// Tests files around a save: remains of killed saves, concurrent saves, and files that
// never end.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"

#include "runtime/config/keras_json.h"
#include "runtime/files/file_io.h"

#include <kiln/k.h>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <span>
#include <thread>

using namespace kiln;
using namespace kiln::runtime;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::Scratch;
using kiln::testing::status_of;

namespace {

void write(OutputFile& file, const std::string& bytes) {
  file.write(std::as_bytes(std::span(bytes)));
}

void save(const std::string& path, const std::string& bytes) {
  OutputFile file(path);
  write(file, bytes);
  file.commit();
}

/// A child process that has begun to write `path`, and then waits.
class Writer {
 public:
  explicit Writer(const std::string& path) {
    int ready[2] = {};
    if (::pipe(ready) != 0 || ::pipe(go_) != 0) throw IoError("", "", "no pipe");
    child_ = ::fork();
    if (child_ == 0) {
      ::alarm(60);
      OutputFile file(path);
      write(file, "by the child");
      char byte = 0;
      static_cast<void>(::write(ready[1], &byte, 1));
      static_cast<void>(::read(go_[0], &byte, 1));
      file.commit();
      ::_exit(0);
    }
    char byte = 0;
    static_cast<void>(::read(ready[0], &byte, 1));
    for (const int end : ready) ::close(end);
  }
  ~Writer() {
    for (const int end : go_) ::close(end);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  int finish() {
    static_cast<void>(::write(go_[1], "", 1));
    return status_of(child_);
  }
  int kill() {
    ::kill(child_, SIGKILL);
    return status_of(child_);
  }

 private:
  pid_t child_ = -1;
  int go_[2] = {};
};

}  // namespace

TEST_CASE("save: removes what killed saves of the same file left") {
  const Scratch scratch;
  const std::string path = scratch.write("w", "old");
  CHECK(Writer(path).kill() == -SIGKILL);
  CHECK(Writer(scratch.path("other")).kill() == -SIGKILL);
  CHECK(scratch.files() == 3);
  CHECK(contents_of(path) == "old");
  save(path, "new");
  CHECK(contents_of(path) == "new");
  CHECK(scratch.files() == 2);  // remains of another file are kept
  save(scratch.path("other"), "new");
  CHECK(scratch.files() == 2);
}

TEST_CASE("save: leaves the temporary file of a save that runs in another process") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  Writer other(path);
  save(path, "ours");
  CHECK(contents_of(path) == "ours");
  CHECK(scratch.files() == 2);
  CHECK(other.finish() == 0);
  CHECK(contents_of(path) == "by the child");
  CHECK(scratch.files() == 1);
}

TEST_CASE("save: removes only files with the names of temporary files") {
  const Scratch scratch;
  CHECK(Writer(scratch.path("w")).kill() == -SIGKILL);
  const std::string stale =
      std::filesystem::directory_iterator(scratch.folder())->path().filename().string();
  REQUIRE(stale.ends_with(".tmp"));
  const std::string prefix = stale.substr(0, stale.find('-', stale.find('-') + 1) + 1);
  std::vector<std::string> kept{"w.tmp", "w.5-1.tmp", "w.1-2.tmp", ".1-2.tmp", ".kiln-1-2.tmp"};
  for (const char* other :
       {"1.tmp", "1-.tmp", "-1.tmp", "1-2.tm", "1-2.tmp.1", "x-2.tmp", "1-2-tmp", "1-2.tmp~"}) {
    kept.push_back(prefix + other);
  }
  for (const std::string& name : kept) scratch.write(name, "the user's");
  std::filesystem::create_directory(scratch.path(prefix + "3-4.tmp"));
  std::filesystem::create_symlink("w.tmp", scratch.path(prefix + "5-6.tmp"));
  save(scratch.path("w"), "new");
  CHECK(scratch.files() == kept.size() + 3);
  CHECK_FALSE(std::filesystem::exists(scratch.path(stale)));
  for (const std::string& name : kept) CHECK(contents_of(scratch.path(name)) == "the user's");
}

TEST_CASE("save: a name as long as names can be") {
  const Scratch scratch;
  const std::string path = scratch.path(std::string(255, 'n'));
  save(path, "old");
  save(path, "new");
  CHECK(contents_of(path) == "new");
  CHECK(scratch.files() == 1);
  CHECK_THROWS_AS(save(scratch.path(std::string(256, 'n')), "new"), IoError);
}

TEST_CASE("save: follows links to a file that does not exist yet") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("folder"));
  std::filesystem::create_symlink("folder/target", scratch.path("second"));
  std::filesystem::create_symlink(scratch.path("second"), scratch.path("first"));
  save(scratch.path("first"), "new");
  CHECK(std::filesystem::is_symlink(scratch.path("first")));
  CHECK(std::filesystem::is_symlink(scratch.path("second")));
  CHECK(contents_of(scratch.path("folder/target")) == "new");
  CHECK(scratch.files() == 3);
}

TEST_CASE("save: invalid paths") {
  const Scratch scratch;
  std::filesystem::create_symlink("b", scratch.path("a"));
  std::filesystem::create_symlink("a", scratch.path("b"));
  CHECK_THAT(error_text<IoError>([&] { save(scratch.path("a"), "new"); }),
             Catch::Matchers::EndsWith("/a cannot be written: Too many levels of symbolic links"));
  CHECK(std::filesystem::is_symlink(scratch.path("a")));
  const std::string path = scratch.path("c") + std::string("\0d", 2);
  CHECK_THAT(error_text<IoError>([&] { save(path, "new"); }),
             Catch::Matchers::EndsWith("/c\\x00d' contains a zero byte"));
  CHECK_THAT(error_text<IoError>([&] { InputFile file(path); }),
             Catch::Matchers::EndsWith("/c\\x00d' contains a zero byte"));
  CHECK(scratch.files() == 2);
}

TEST_CASE("save: errors of invalid tensor names have the user's line") {
  const Scratch scratch;
  for (const std::string name : {"\xff", "__metadata__"}) {
    const Variable w = variable(Array(1.f), {.name = name});
    const std::string got =
        testing::error_of<ValueError>([&] { save_weights(scratch.path("w"), {w}); });
    CHECK_THAT(got, Catch::Matchers::StartsWith("save_weights: name '"));
    CHECK_THAT(got, Catch::Matchers::ContainsSubstring("files_test.cpp:"));
  }
}

TEST_CASE("save: concurrent saves of one file all succeed", "[concurrency]") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        try {
          save(path, std::string(1000, 'x'));
        } catch (const Error&) {
          ++failed;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(contents_of(path) == std::string(1000, 'x'));
  CHECK(scratch.files() == 1);
}

TEST_CASE("load: an endless file is an IoError") {
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe"), plugin_pipe = scratch.path("libkiln_pipe.so");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE(::mkfifo(plugin_pipe.c_str(), 0600) == 0);
  const Variable w = variable(Array{1.f}, {.name = "w"});
  const std::vector<std::pair<const char*, std::function<void(const std::string&)>>> readers{
      {"load_weights", [&](const std::string& path) { load_weights(path, {w}); }},
      {"keras.json", [](const std::string& path) { read_keras_json(path).floatx.get(); }}};
  for (const auto& [reader, reads] : readers) {
    const std::function<void(const std::string&)>& read = reads;
    for (const std::string& path : {pipe, std::string("/dev/zero"), std::string("/dev/full")}) {
      INFO(reader << " of " << path);
      CHECK(error_text<Error>([&] { read(path); }).find(path + " is not a regular file") !=
            std::string::npos);
    }
    CHECK(error_text<Error>([&] { read(scratch.folder()); }).find(" is a directory") !=
          std::string::npos);
  }
  for (const std::string& path : {plugin_pipe, std::string("/dev/zero"), scratch.folder()}) {
    INFO(path);
    CHECK(error_text<BackendError>([&] { load_backend(path); }) ==
          "load_backend: backend plugin '" + path +
              (path == scratch.folder() ? "' is a directory" : "' is not a regular file"));
  }
}
