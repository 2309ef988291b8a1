// The addresses of the slots of a body, which change from iteration to iteration of a loop.
#pragma once

#include "backends/cuda/execute/device_plan.h"

namespace kiln::cuda {

/// Sets the address of an argument of the body, unless nothing reads it.
void set_argument(const DevicePlan& body, std::size_t argument, api::DeviceAddress where,
                  SlotAddresses& slots);

/// Moves the addresses of a loop's body through its iterations.
class LoopAddresses {
 public:
  /// `outer`: of the plan that has the step; `arena`: of that plan. All arguments outlive the
  /// object.
  LoopAddresses(const codegen::LoopStep& step, const DeviceLoop& bound, const SlotAddresses& outer,
                api::DeviceAddress arena)
      : step_(step), bound_(bound), outer_(outer), arena_(arena) {}

  /// Sets the addresses of the body's arguments and results for the first iteration.
  void start(SlotAddresses& slots) const;
  /// Moves them to iteration `done`, from the one before.
  void advance(std::int64_t done, SlotAddresses& slots) const;

 private:
  void set_carry(const codegen::LoopCarry& carry, std::int64_t done, SlotAddresses& slots) const;

  const codegen::LoopStep& step_;
  const DeviceLoop& bound_;
  const SlotAddresses& outer_;
  api::DeviceAddress arena_;
};

}  // namespace kiln::cuda
