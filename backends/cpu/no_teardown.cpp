// Nothing of this plugin is torn down when the process ends: threads may still compute or compile
// then, and static objects of the host may still call. Everything static in the plugin, LLVM's
// included, asks this function to be destroyed, which is hidden in the plugin and declines.
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept;  // NOLINT

extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept { return 0; }  // NOLINT
