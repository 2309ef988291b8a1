// Steps of a block run one after the other; so do the threads of a step.
#include "tests/backends/codegen/row_loop_run.h"

#include "core/types/at.h"

#include <algorithm>
#include <cstring>

namespace kiln::test {

using namespace codegen;

RowLoopRun::RowLoopRun(RowLoop loop) : loop_(std::move(loop)) {
  for (const RowLoopTensor& one : loop_.tensors) {
    const bool is_given = one.kind == RowLoopTensor::Kind::Given;
    given_.push_back(is_given ? pointers_++ : -1);
    moves_.push_back(is_given ? numbers_++ : -1);
  }
  for (const RowLoopCarry& one : loop_.carries) {
    carry_pointers_.push_back(pointers_);
    carry_moves_.push_back(one.is_stacked ? numbers_++ : -1);
    pointers_ += one.is_stacked ? 3 : 2;
  }
  for (const RowLoopStep& step : loop_.steps) {
    first_sizes_.push_back(numbers_);
    kernels_.push_back(nullptr);
    const auto* own = std::get_if<RowLoopKernel>(&step.work);
    if (own == nullptr) continue;
    numbers_ += static_cast<std::int64_t>(own->kernel.sizes.size());
    kernels_.back() = std::make_unique<GridKernel>(own->kernel, own->schedule);
  }
}

std::optional<LoopAddress> RowLoopRun::next_carry(std::size_t carry, std::int64_t t,
                                                  const RowLoopCall& call) const {
  const LoopAddress* own = call.pointers + carry_pointers_[carry];
  if (t == call.length - 1) return own[1];
  if (!loop_.carries[carry].is_stacked) return std::nullopt;
  return own[2] + static_cast<LoopAddress>(t * call.numbers[carry_moves_[carry]]);
}

std::optional<LoopAddress> RowLoopRun::global_address(int tensor, std::int64_t t,
                                                      const RowLoopCall& call) const {
  const RowLoopTensor& one = loop_.tensors[at(tensor)];
  switch (one.kind) {
    case RowLoopTensor::Kind::Given: {
      const std::int64_t moved = t * call.numbers[moves_[at(tensor)]];
      return call.pointers[given_[at(tensor)]] + static_cast<LoopAddress>(moved);
    }
    case RowLoopTensor::Kind::Carry:
      if (t == 0) return call.pointers[carry_pointers_[at(one.carry)]];
      return next_carry(at(one.carry), t - 1, call);
    case RowLoopTensor::Kind::NextCarry: return next_carry(at(one.carry), t, call);
    case RowLoopTensor::Kind::Temporary: break;
  }
  return std::nullopt;
}

std::byte* RowLoopRun::address(int tensor, std::int64_t t, std::int64_t first, std::byte* shared,
                               const RowLoopCall& call) const {
  if (const auto global = global_address(tensor, t, call)) {
    return *global == 0 ? nullptr : call.to_host(*global);
  }
  const RowLoopTensor& one = loop_.tensors[at(tensor)];
  if (one.kind == RowLoopTensor::Kind::Temporary) {
    return shared + one.offset - (one.has_rows ? first * one.bytes : 0);
  }
  const RowLoopCarry& carry = loop_.carries[at(one.carry)];
  const std::int64_t written = one.kind == RowLoopTensor::Kind::Carry ? t - 1 : t;
  const std::int64_t other = row_loop_buffer(carry.bytes, loop_.rows);
  return shared + carry.offset + written % 2 * other - first * carry.bytes;
}

void RowLoopRun::run_block(std::int64_t first, const RowLoopCall& call) const {
  std::vector<std::byte> shared(at(loop_.bytes), std::byte{0xff});
  const std::int64_t last = std::min(first + loop_.rows, call.rows);
  for (std::int64_t t = 0; t < call.length; ++t) {
    std::int64_t launch = call.step + t * launches_per_iteration(loop_);
    for (std::size_t s = 0; s < loop_.steps.size(); ++s) {
      const RowLoopStep& step = loop_.steps[s];
      const std::int64_t begin = step.is_whole ? 0 : first * step.points;
      const std::int64_t end = step.is_whole ? step.points : last * step.points;
      std::vector<std::byte*> operands;
      for (const int tensor : step.tensors) {
        operands.push_back(address(tensor, t, first, shared.data(), call));
      }
      if (kernels_[s] == nullptr) {
        const std::int64_t width = std::get<RowLoopCopy>(step.work).width;
        std::memcpy(operands[0] + begin * width, operands[1] + begin * width,
                    at((end - begin) * width));
        continue;
      }
      kernels_[s]->run({.buffers = operands.data(),
                        .sizes = sizes(s, call),
                        .points = end,
                        .blocks = 1,
                        .begin = begin,
                        .step = static_cast<std::int32_t>(launch++),
                        .call = call.call,
                        .order = call.order});
    }
  }
}

void RowLoopRun::run(const RowLoopCall& call) const {
  if (call.call->step < call.step) return;
  for (std::int64_t i = 0; i < call.blocks; ++i) {
    const std::int64_t block = thread_at(call.order, i, call.blocks);
    const std::int64_t stride = call.blocks * loop_.rows;
    for (std::int64_t first = block * loop_.rows; first < call.rows; first += stride) {
      run_block(first, call);
    }
  }
}

}  // namespace kiln::test
