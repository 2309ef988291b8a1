// One target for each thread, so that several threads can dump concurrently.
#include "runtime/dump/dump_target.h"

#include <mutex>
#include <utility>

namespace kiln::runtime {
namespace {

thread_local DumpTarget* t_target = nullptr;

bool is_wanted(std::string_view stage) {
  return t_target != nullptr && t_target->wants_stage(stage);
}
void receive_dump(const BackendDump& dump) {
  if (is_wanted(dump.stage)) t_target->receive(dump);
}

}  // namespace

void ScopedDumpTarget::start(DumpTarget* target) {
  static std::once_flag once;
  std::call_once(once, [] { set_dump_receiver({.wanted = is_wanted, .take = receive_dump}); });
  outer_ = std::exchange(t_target, target);
  started_ = true;
}

void ScopedDumpTarget::stop() noexcept { t_target = outer_; }

}  // namespace kiln::runtime
