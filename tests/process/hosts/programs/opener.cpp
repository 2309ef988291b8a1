// A host that is not linked to Kiln: it opens a module that uses Kiln, closes it, opens it again,
// and exits with the module open. The argument is the module's path.
#include "tests/process/hosts/programs/program.h"

#include <dlfcn.h>

#include <initializer_list>
#include <thread>

namespace {

void* opened(const char* path, int flags) {
  void* module = ::dlopen(path, flags | RTLD_NOW);
  if (module == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
  expect(module != nullptr, "the module opens");
  return module;
}

bool works(void* module) {
  const auto use = reinterpret_cast<int (*)()>(::dlsym(module, "use_kiln"));
  return use != nullptr && use() == 0;
}

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 2, "the path of the module");
  for (const int flags : {RTLD_LOCAL, RTLD_LOCAL, RTLD_GLOBAL}) {
    void* module = opened(argv[1], flags);
    expect(works(module), "the module works");
    std::thread([&] { expect(works(module), "the module works on a thread that ends"); }).join();
    expect(::dlclose(module) == 0, "the module closes");
  }
  expect(works(opened(argv[1], RTLD_LOCAL)), "the module works at last");
  return finished();
}
