// Counts forks.
#include "core/types/fork.h"

namespace kiln {

constinit std::atomic<std::uint32_t> detail::forks{0};

namespace {

/// Registered when the library is loaded: if a function-local static registered the handler, a
/// child forked while another thread initialises that static would deadlock.
[[maybe_unused]] const bool counts_forks = ::pthread_atfork(nullptr, nullptr, [] {
                                             detail::forks.fetch_add(1, std::memory_order_relaxed);
                                           }) == 0;

}  // namespace
}  // namespace kiln
