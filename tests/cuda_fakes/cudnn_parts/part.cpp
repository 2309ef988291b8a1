// A part of cuDNN that tells the version of the whole.
#include <cstddef>

extern "C" __attribute__((visibility("default"))) std::size_t cudnnGetVersion() { return 90300; }
