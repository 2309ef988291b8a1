// Gives every test program an environment of its own: before main, the program starts itself again
// with the variables listed here alone, in an empty home folder of the build. So neither the user's
// configuration (KERAS_HOME, KERAS_BACKEND, KILN_*, OMP_*, ONEDNN_*, LANG, LC_*, ...) nor the
// current directory changes a test, whether ctest starts the program or a person. Starting again
// also reaches libraries that read the environment when they are loaded, as OpenMP's does.
#include "tests/support/build_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <string_view>
#include <vector>

namespace kiln::testing {
namespace {

/// Set in the environment of a test program and of all programs that it starts, which keep the
/// variables that the test gave them.
constexpr const char* kMark = "KILN_TEST_ENVIRONMENT";

/// Names of variables that stay, or their beginnings before a '*': variables that tests document,
/// and variables that find and instrument programs. tools/digits fetches data through the proxies.
constexpr std::string_view kKept[] = {
    "KILN_TEST_*",  "KILN_RANDOM_PROGRAMS", "PATH",         "LD_*",          "TMPDIR",
    "ASAN_OPTIONS", "LSAN_OPTIONS",         "TSAN_OPTIONS", "UBSAN_OPTIONS", "CCACHE_*",
    "http_proxy",   "https_proxy",          "no_proxy",     "HTTP_PROXY",    "HTTPS_PROXY",
    "NO_PROXY",     "SSL_CERT_*",           "CUDA_*",       "NVIDIA_*"};

/// Variables of tests that set the library's own.
struct Translation {
  const char* from;
  const char* to;
};
constexpr Translation kTranslations[] = {{"KILN_TEST_BACKEND", "KERAS_BACKEND"},
                                         {"KILN_TEST_CPU_ISA", "KILN_CPU_ISA"},
                                         {"KILN_TEST_CUDA_DRIVER", "KILN_CUDA_DRIVER"},
                                         {"KILN_TEST_CUDA_LIBRARIES", "KILN_CUDA_LIBRARIES"},
                                         {"KILN_TEST_DISABLE", "KILN_DISABLE"},
                                         {"KILN_TEST_DUMP", "KILN_DUMP"},
                                         {"KILN_TEST_ONEDNN_ISA", "ONEDNN_MAX_CPU_ISA"}};

bool is_kept(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  for (const std::string_view kept : kKept) {
    const bool is_prefix = kept.ends_with('*');
    if (is_prefix ? name.starts_with(kept.substr(0, kept.size() - 1)) : name == kept) return true;
  }
  return false;
}

std::vector<std::string> own_environment(char** given, const std::string& home) {
  std::vector<std::string> own;
  for (; *given != nullptr; ++given) {
    if (is_kept(*given)) own.emplace_back(*given);
  }
  for (const Translation& one : kTranslations) {
    const char* value = std::getenv(one.from);
    if (value != nullptr) own.push_back(std::string(one.to) + "=" + value);
  }
  own.push_back("HOME=" + home);
  own.push_back(std::string(kMark) + "=1");
  return own;
}

[[noreturn]] void fail(const std::string& call) {
  std::fprintf(stderr, "the environment of tests: %s: %s\n", call.c_str(), std::strerror(errno));
  std::_Exit(1);
}

// The C library passes main's arguments to constructors.
[[gnu::constructor]] void enter(int, char** arguments, char** given) {
  if (std::getenv(kMark) != nullptr) return;
  const std::string home = build_folder() + "/tests/home";
  std::error_code error;
  std::filesystem::create_directories(home, error);  // chdir reports what is wrong with it
  if (::chdir(home.c_str()) != 0) fail("chdir " + home);
  const std::vector<std::string> own = own_environment(given, home);
  std::vector<char*> pointers;
  for (const std::string& variable : own) pointers.push_back(const_cast<char*>(variable.c_str()));
  pointers.push_back(nullptr);
  ::execve("/proc/self/exe", arguments, pointers.data());
  fail("execve");
}

}  // namespace
}  // namespace kiln::testing
