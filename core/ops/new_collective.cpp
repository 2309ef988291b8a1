// Ids come from one counter of the process.
#include "core/ops/new_collective.h"

#include "core/ops/make.h"

#include <atomic>
#include <cstdint>

namespace kiln::ir {

Value new_collective(CollectiveAttrs attrs, const Value& x) {
  static std::atomic<std::int64_t> next{1};
  attrs.id = is_of_one_process(attrs) ? 0 : next.fetch_add(1, std::memory_order_relaxed);
  return make(Op::Collective, attrs, {x});
}

}  // namespace kiln::ir
