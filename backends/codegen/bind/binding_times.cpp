// Sizes as text: "32,784;32" for two inputs.
#include "backends/codegen/bind/binding_times.h"

#include "core/types/text.h"

namespace kiln::codegen {
namespace {

constexpr std::size_t kMaxBindings = 64;

}  // namespace

void BindingTimes::add(std::uint64_t number, double seconds, const InputSizes& sizes) {
  std::string all;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    all += (i == 0 ? "" : ";") + join_text(sizes[i], ",");
  const std::lock_guard lock(mutex_);
  if (bindings_.size() == kMaxBindings) bindings_.erase(bindings_.begin());
  bindings_.push_back({number, seconds, std::move(all)});
}

void BindingTimes::print(sdk::ProfileText& out) const {
  const std::lock_guard lock(mutex_);
  for (const Binding& one : bindings_) out.binding(one.number, one.seconds, one.sizes);
}

}  // namespace kiln::codegen
