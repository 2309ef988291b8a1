// The main function of every test program.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

#ifdef __SANITIZE_THREAD__
/// The C library frees a finished thread's storage when it takes its stack for another one, under
/// locks of its own that ThreadSanitizer does not see.
extern "C" const char* __tsan_default_suppressions() { return "race:_dl_deallocate_tls\n"; }
#endif
