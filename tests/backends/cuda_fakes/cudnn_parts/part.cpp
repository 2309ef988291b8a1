// A part of cuDNN that reports the version of the main library.
#include <cstddef>

extern "C" __attribute__((visibility("default"))) std::size_t cudnnGetVersion() { return 91900; }
