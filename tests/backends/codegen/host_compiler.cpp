// A scratch folder holds the text and the shared object until the object is loaded.
#include "tests/backends/codegen/host_compiler.h"

#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

#include <kiln/error.h>

#include <dlfcn.h>

#include <mutex>
#include <unordered_map>

namespace kiln::test {
namespace {

[[noreturn]] void fail(const std::string& what) { throw InternalError("compile_text", "", what); }

/// Runs a command. Throws its output as the error when it fails.
void run(const std::string& command) {
  const testing::Outcome outcome = testing::run_shell(command);
  if (outcome.status != 0) fail(text(command, " failed: ", outcome.text));
}

/// Without -mfma, fma is a slow library function with the same results.
const char* fma_option() { return __builtin_cpu_supports("fma") ? " -mfma" : ""; }

std::shared_ptr<void> build(const std::string& source) {
  const testing::Scratch scratch;
  const std::string to = scratch.path("kernels.so");
  compile_to_file(source, to);
  void* library = ::dlopen(to.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(::dlerror());
  return {library, [](void* handle) { ::dlclose(handle); }};
}

}  // namespace

void compile_to_file(const std::string& source, const std::string& library) {
  const testing::Scratch scratch;
  if (scratch.folder().empty()) fail("no scratch folder");
  const std::string from = scratch.write("kernels.cpp", source);
  run(text("'" KILN_HOST_COMPILER "' -std=c++20 -O1 -w -shared -fPIC -ffp-contract=off "
           "-fno-exceptions -fno-rtti",
           fma_option(), " -o '", library, "' '", from, "' -lm"));
}

// Libraries stay loaded: the rows of a test compile the same texts again and again.
std::shared_ptr<void> compile_library(const std::string& source) {
  static std::mutex mutex;
  static NoDestructor<std::unordered_map<std::string, std::shared_ptr<void>>> known;
  {
    const std::lock_guard lock(mutex);
    const auto found = known->find(source);
    if (found != known->end()) return found->second;
  }
  std::shared_ptr<void> library = build(source);
  const std::lock_guard lock(mutex);
  return known->try_emplace(source, std::move(library)).first->second;
}

codegen::KernelFunctions compile_text(std::span<const codegen::Kernel> kernels,
                                      std::shared_ptr<const void>& holder) {
  const std::shared_ptr<void> library = compile_library(codegen::loop_text(kernels));
  codegen::KernelFunctions functions;
  for (const codegen::Kernel& kernel : kernels) {
    void* found = ::dlsym(library.get(), kernel.name.c_str());
    if (found == nullptr) fail(text("no function ", kernel.name));
    codegen::KernelFunction function;
    function.run = reinterpret_cast<decltype(function.run)>(found);
    functions.push_back(function);
  }
  holder = library;
  return functions;
}

}  // namespace kiln::test
