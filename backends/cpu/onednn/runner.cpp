// Each thread begins its search for a free set at an index of its own: it usually finds the set
// that it used last, whose memory objects often point at the same buffers already.
#include "backends/cpu/onednn/runner.h"

#include "backends/cpu/onednn/openmp.h"

#include <new>
#include <thread>

namespace kiln::cpu {
namespace {

unsigned first_set_of_thread() noexcept {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned first = next.fetch_add(1, std::memory_order_relaxed);
  return first;
}

}  // namespace

Runner::Runner(const Handle<dnnl_primitive_desc_t>& desc, std::vector<RunnerArgument> arguments)
    : arguments_(std::move(arguments)),
      scratch_bytes_(bytes_of(layout_of(desc, dnnl_query_scratchpad_md))),
      primitive_(make_primitive(desc)) {
  if (scratch_bytes_ == 0) return;
  arguments_.push_back({DNNL_ARG_SCRATCHPAD, Layout::bytes(scratch_bytes_)});
}

Runner::ArgumentSet& Runner::acquire() const noexcept {
  const unsigned start = first_set_of_thread();
  for (unsigned i = 0;; ++i) {
    ArgumentSet& set = sets_[(start + i) % sets_.size()];
    if (!set.in_use.exchange(true, std::memory_order_acquire)) return set;
    if (i % sets_.size() == sets_.size() - 1) std::this_thread::yield();
  }
}

void Runner::fill(ArgumentSet& set) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    set.memories[i] = make_memory(arguments_[i].layout.view());
    set.arguments[i] = {arguments_[i].id, set.memories[i].get()};
    set.buffers[i] = nullptr;
  }
  set.stream = make_stream();
}

dnnl_status_t Runner::run_with(ArgumentSet& set, const Buffers& buffers) const {
  if (!set.stream) fill(set);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (buffers[i] == set.buffers[i]) continue;
    check(dnnl_memory_set_data_handle(set.memories[i].get(), buffers[i]), "memory_set_data_handle");
    set.buffers[i] = buffers[i];
  }
  return dnnl_primitive_execute(primitive_.get(), set.stream.get(),
                                static_cast<int>(arguments_.size()), set.arguments.data());
}

dnnl_status_t Runner::run(Buffers buffers, void* scratch) const noexcept {
  if (scratch_bytes_ != 0) buffers[arguments_.size() - 1] = scratch;
  const ScopedOneOpenmpThread one;
  ArgumentSet& set = acquire();
  dnnl_status_t status = dnnl_runtime_error;
  try {
    status = run_with(set, buffers);
  } catch (const LibraryFailure& failure) {
    status = failure.status;
  } catch (const std::bad_alloc&) {
    status = dnnl_out_of_memory;
  }
  set.in_use.store(false, std::memory_order_release);
  return status;
}

}  // namespace kiln::cpu
