// Public functions of the pool of block_pool.h.
#include <kiln/memory.h>

#include "core/k/base/tensor_impl.h"
#include "core/types/text.h"
#include "runtime/array/block_pool.h"
#include "runtime/array/small_blocks.h"

#include <kiln/error.h>

#include <malloc.h>

namespace kiln {

std::int64_t release_idle_memory() noexcept {
  const std::size_t bytes = runtime::block_pool().release_idle();
  runtime::SmallBlocks::release_all();
  ::malloc_trim(0);  // malloc keeps the pages of freed blocks, which are below 4 MiB, for itself
  return static_cast<std::int64_t>(bytes);
}

void set_idle_memory_limit(WholeNumber bytes, Where where) {
  api_call("set_idle_memory_limit", where, [&] {
    if (bytes < 0) Call::value_error("bytes", text("bytes ", bytes, " is negative"));
    runtime::block_pool().set_limit(static_cast<std::size_t>(std::int64_t{bytes}));
    runtime::SmallBlocks::set_caching(bytes != 0);
    runtime::SmallBlocks::release_all();
  });
}

}  // namespace kiln
