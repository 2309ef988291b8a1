// Suppressions of ThreadSanitizer in every test program.
#ifdef __SANITIZE_THREAD__
/// The C library frees a finished thread's storage when it reuses the thread's stack, under locks
/// of its own that ThreadSanitizer does not see.
extern "C" const char* __tsan_default_suppressions() { return "race:_dl_deallocate_tls\n"; }
#endif
