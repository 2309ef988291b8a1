// Events become text when many were recorded or a call ends, not while steps run.
#include "backends/codegen/step_trace.h"

#include "backends/abi/kiln_backend_trace.h"
#include "backends/codegen/plan/step_title.h"

#include <new>

namespace kiln::codegen {
namespace {

/// Bounds the memory of a call with loops of many iterations.
constexpr std::size_t kMaxEvents = 4096;

}  // namespace

void StepTrace::add(const StepEvent& event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    events_.push_back(event);
    if (events_.size() >= kMaxEvents) hand_over_locked(events_, "");
  } catch (const std::bad_alloc&) {
    events_.clear();
  }
}

void StepTrace::hand_over() noexcept {
  const std::lock_guard lock(mutex_);
  hand_over_locked(events_, "");
}

void StepTrace::hand_over(std::vector<StepEvent>& events, std::string_view track) noexcept {
  const std::lock_guard lock(mutex_);
  hand_over_locked(events, track);
}

void StepTrace::hand_over_locked(std::vector<StepEvent>& events, std::string_view track) noexcept {
  try {
    if (events.empty()) return;
    dumps_.hand_over("trace", track, [&] {
      std::string rows;
      for (const StepEvent& event : events) {
        const Label& label = label_of(event);
        sdk::append_trace_row(rows,
                              {label.category, label.name, event.thread, event.begin, event.end},
                              label.arguments);
      }
      return rows;
    });
  } catch (const std::bad_alloc&) {  // the events are lost
  }
  events.clear();
}

const StepTrace::Label& StepTrace::label_of(const StepEvent& event) {
  std::vector<Label>& labels = labels_[event.plan];
  if (event.plan == nullptr) {
    if (labels.empty()) {
      labels = {{"copy", "copy inputs to the device", ""},
                {"copy", "copy outputs from the device", ""}};
    }
    return labels[event.row];
  }
  const std::vector<Step>& steps = event.plan->steps;
  labels.resize(steps.size() + 1);
  Label& label = labels[event.row];
  if (!label.name.empty()) return label;
  if (event.row == steps.size()) return label = {"step", print_region(*event.plan), ""};
  const Step& step = steps[event.row];
  const StepTitle title = title_of(program_, step);
  const std::string arguments =
      sdk::trace_arguments({{"source", title.source}, {"step", print(program_, step)}});
  return label = {"step", title.name, arguments};
}

}  // namespace kiln::codegen
