// What ThreadSanitizer shall not report in any test program.
#ifdef __SANITIZE_THREAD__
/// The C library frees a finished thread's storage when it takes its stack for another one, under
/// locks of its own that ThreadSanitizer does not see.
extern "C" const char* __tsan_default_suppressions() { return "race:_dl_deallocate_tls\n"; }
#endif
