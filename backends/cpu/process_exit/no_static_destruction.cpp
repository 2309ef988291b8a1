// Declines all static destructors of the plugin. While the process exits, detached threads may
// still compute or compile, and static objects of the host may still call. Static objects of the
// plugin, LLVM's included, register their destructors by __cxa_atexit; the linker resolves their
// calls to this hidden definition, which registers nothing.
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept;  // NOLINT

extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept { return 0; }  // NOLINT
