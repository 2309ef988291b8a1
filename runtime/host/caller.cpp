// A per-thread stack of running calls.
#include "runtime/host/caller.h"

namespace kiln::runtime {
namespace {

thread_local RunningCall* t_innermost = nullptr;

}  // namespace

RunningCall::RunningCall(std::string_view name)
    : name_(name), origin_(ir::current_origin()), outer_(t_innermost) {
  t_innermost = this;
}

RunningCall::~RunningCall() { t_innermost = outer_; }

std::string_view RunningCall::innermost_name() {
  return t_innermost == nullptr ? std::string_view() : t_innermost->name_;
}

Caller Caller::of(std::string_view function) {
  const ir::Origin origin = ir::current_origin();
  if (!function.empty()) return {std::string(function), origin.where};
  const bool is_inside = t_innermost != nullptr && ir::same_origin(t_innermost->origin_, origin);
  return {is_inside ? std::string(t_innermost->name_) : origin.function, origin.where};
}

}  // namespace kiln::runtime
