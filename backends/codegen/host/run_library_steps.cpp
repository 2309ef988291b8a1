// The results of parts depend on sizes alone, so that threads do not change bits.
#include "backends/codegen/host/run_library_steps.h"

#include "core/types/at.h"

#include <algorithm>
#include <cstring>

namespace kiln::codegen {
namespace {

void clear(std::byte* memory, std::int64_t bytes) {
  if (bytes != 0) std::memset(memory, 0, at(bytes));
}

/// REQUIRES: dtype float32 or float64, the only ones with epilogues.
template <class T>
void fill_with_bias(const LibraryStep& step, std::int64_t bytes, std::int64_t n,
                    const ExecutionList& list) {
  const auto* bias = reinterpret_cast<const T*>(list.slot(step.bias));
  auto* result = reinterpret_cast<T*>(list.slot(step.result));
  for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(T)); ++i) {
    const T value = bias[i % n];
    // The minimum keeps NaN, its first argument.
    result[i] =
        !step.relu ? value : std::min(value <= 0 ? T(0) : value, static_cast<T>(step.relu_bound));
  }
}

/// The result of a matmul with K = 0: zeros, then the epilogue.
void fill_empty_sum(const LibraryStep& step, std::int64_t n, const ExecutionList& list) {
  const std::int64_t bytes = list.plan->sizes.bytes[step.result];
  if (!step.bias) return clear(list.slot(step.result), bytes);
  if (step.dtype == DType::Float64) return fill_with_bias<double>(step, bytes, n, list);
  fill_with_bias<float>(step, bytes, n, list);
}

/// Packs by several threads if `is_parallel`.
void pack_operand(const Packer& packer, const std::byte* rhs, std::byte* packed, bool is_parallel,
                  const RunContext& context) {
  const auto parts = static_cast<std::uint64_t>(packer.packing_parts());
  if (!is_parallel || parts < 2) return packer.pack(rhs, packed);
  context.host->parallel_for(parts, [&](std::uint64_t begin, std::uint64_t end) {
    const ScopedThreadMode mode(context.mode);
    for (; begin < end; ++begin) {
      packer.pack_part(static_cast<std::int64_t>(begin), rhs, packed);
    }
  });
}

}  // namespace

void pack(const BoundPlan& plan, const Packing& packing, const std::byte* operand,
          std::byte* packed, const RunContext& context) {
  constexpr std::int64_t kParallelBytes = std::int64_t{1} << 20;  // some 100 us of one core
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(packing.shape.rhs_dtype()));
  const std::byte* const matrix = operand + packing.rhs * bytes;
  for (const PackingPart& part : plan.parts_of(packing)) {
    pack_operand(*part.packer, matrix + part.begin * bytes, packed + part.offset,
                 packing.bytes >= kParallelBytes, context);
  }
}

void run_matmul(const MatmulStep& step, const BoundMatmul& bound, const ExecutionList& list,
                const RunContext& context) {
  const std::byte* lhs = list.slot(step.lhs);
  const std::byte* rhs = list.slot(step.rhs);
  const std::byte* bias = step.bias ? list.slot(step.bias) : nullptr;
  std::byte* result = list.slot(step.result);
  if (bound.calls.empty()) return fill_empty_sum(step, bound.n, list);
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(step.dtype));  // of an element
  const auto rhs_bytes = static_cast<std::int64_t>(dtype_bytes(step.rhs_dtype()));
  std::byte* const packed = list.arena + bound.scratch.offset;
  std::byte* const scratch = packed + bound.shared_rhs.bytes;
  const SharedRhs& shared_rhs = bound.shared_rhs;
  if (shared_rhs.packer) {
    pack_operand(*shared_rhs.packer, rhs + shared_rhs.begin * rhs_bytes, packed, bound.parallel,
                 context);
  }
  const auto rhs_of = [&](const MatmulCall& call) -> const void* {
    if (call.shares_rhs) return packed;
    if (call.packing < 0) return rhs + call.rhs * rhs_bytes;
    return list.packed[call.packing] + call.packed_offset;
  };
  const auto run_range = [&](std::uint64_t begin, std::uint64_t end, bool is_parallel) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const MatmulCall& call = bound.calls[i];
      const std::int64_t number = is_parallel ? static_cast<std::int64_t>(i) : 0;
      call.matmul->run(lhs + call.lhs * bytes, rhs_of(call),
                       bias ? bias + call.bias * bytes : nullptr, result + call.result * bytes,
                       scratch + number * bound.scratch.bytes);
    }
  };
  if (!bound.parallel) return run_range(0, bound.calls.size(), false);
  context.host->parallel_for(bound.calls.size(), [&](std::uint64_t begin, std::uint64_t end) {
    const ScopedThreadMode mode(context.mode);
    run_range(begin, end, true);
  });
}

void run_convolution(const ConvolutionStep& step, const BoundConvolution& bound,
                     const ExecutionList& list, const RunContext& context) {
  const auto* first = reinterpret_cast<const float*>(list.slot(step.lhs));
  const auto* second = reinterpret_cast<const float*>(list.slot(step.rhs));
  auto* result = reinterpret_cast<float*>(list.slot(step.result));
  const auto* bias = step.bias ? reinterpret_cast<const float*>(list.slot(step.bias)) : nullptr;
  if (!bound.convolution) return fill_empty_sum(step, bound.n, list);
  const PreparedConvolution& convolution = *bound.convolution;
  std::byte* scratch = list.arena + bound.scratch.offset;
  const void* packed = bound.packing < 0 ? nullptr : list.packed[bound.packing];
  const auto role = static_cast<ConvRole>(step.node->as<ir::ConvAttrs>().role);
  if (!packed) convolution.start(role == ConvRole::Output ? second : first, scratch);
  const auto run_range = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t part = begin; part < end; ++part) {
      convolution.run(part, first, second, packed, bias, result, scratch);
    }
  };
  if (bound.parallel) {
    context.host->parallel_for(convolution.parts(), [&](std::uint64_t begin, std::uint64_t end) {
      const ScopedThreadMode mode(context.mode);
      run_range(begin, end);
    });
  } else {
    run_range(0, convolution.parts());
  }
  convolution.finish(first, second, bias, result, scratch);
}

}  // namespace kiln::codegen
