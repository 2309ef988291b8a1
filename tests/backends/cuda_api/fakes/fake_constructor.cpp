// A library whose constructor does not return.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

__attribute__((constructor)) void construct() {
  std::fprintf(stderr, "the constructor runs\n");
#if defined(FAKE_CRASHES)
  std::signal(SIGSEGV, SIG_DFL);  // sanitizers have handlers
  std::raise(SIGSEGV);
#elif defined(FAKE_EXITS)
  ::_exit(3);
#elif defined(FAKE_HANGS)
  for (;;) ::pause();
#endif
}

}  // namespace
