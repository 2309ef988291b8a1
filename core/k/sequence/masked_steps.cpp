// Selects rows by index. A select whose other branch has its gradient stopped passes values on as
// they are and drops cotangents, NaN included, where its condition is false.
#include "core/k/sequence/masked_steps.h"

#include "core/ops/build.h"
#include "core/ops/op.h"

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Value;

/// A bool vector along axis 0 of x, broadcast to the dims of x.
Value spread(const Value& condition, const Value& x) {
  return ir::broadcast(ir::with_dims(condition, {x.dims()[0]}), x.dims(), {0});
}

/// Whether all rows of x are equal: a number broadcast.
bool is_uniform(const Value& x) {
  return x.node->op == ir::Op::Broadcast && x.node->operands[0].rank() == 0;
}

/// A scalar broadcast to `dims`.
Value filled(const Value& scalar, const Dims& dims) { return ir::broadcast_to(scalar, dims); }

/// x if it is floating-point, else 0.
Value float_or_zero(const Value& x) { return is_float(x.dtype()) ? x : ir::zeros_like(x); }

}  // namespace

MaskedSteps::MaskedSteps(const Value& mask, bool go_backwards) : mask_(mask) {
  const Dim time = mask.dims()[0], samples = mask.dims()[1], count = time * samples;
  const Value end = ir::dim_size(count), zero = ir::scalar_constant_int(DType::Int64, 0);
  const Value ends = filled(end, {samples}), width = filled(ir::dim_size(samples), {samples});
  // The number of a step is position * samples + sample; positions count in iteration order.
  const ir::Type type{DType::Int64, mask.dims()};
  const Value time_of_step = ir::iota(type, 0);
  const Value position =
      go_backwards ? filled(ir::dim_size(time - 1), mask.dims()) - time_of_step : time_of_step;
  const Value numbers = position * filled(ir::dim_size(samples), mask.dims()) + ir::iota(type, 1);
  const Value unmasked = ir::select(mask, numbers, filled(end, mask.dims()));
  const Value own = ir::reduce(ir::Op::Min, unmasked, {0});
  const Value first = ir::reduce(ir::Op::Min, own, {0});
  has_own_ = ir::less(own, ends);
  exists_ = ir::less(first, end);
  // Indices are in range even if all steps are masked.
  const Value chosen = ir::select(has_own_, own, filled(first, {samples}));
  const Value last = ends - filled(ir::scalar_constant_int(DType::Int64, 1), {samples});
  const Value step = ir::binary(ir::Op::Maximum, ir::binary(ir::Op::Minimum, chosen, last),
                                filled(zero, {samples}));
  const Value sample = ir::binary(ir::Op::Mod, step, width);
  row_ = go_backwards ? ends - width - step + sample + sample : step;
  sample_ = ir::select(filled(exists_, {samples}), sample, ir::iota({DType::Int64, {samples}}, 0));
}

Value MaskedSteps::inputs(const Value& x) const {
  const Dim time = x.dims()[0], samples = x.dims()[1];
  const Dim one = min(1, time);  // no row is read if there are no steps
  Dims flat(x.dims().begin() + 1, x.dims().end()), picked = x.dims();
  flat[0] = time * samples;
  picked[0] = one;
  const Value rows = ir::gather(ir::reshape(x, flat), ir::slice_axis(row_, 0, 0, one * samples));
  const Value row = ir::reduce_max(ir::reshape(rows, picked), {0});
  const Value stand_in =
      ir::select(filled(exists_, x.dims()), ir::broadcast_to(row, x.dims()), float_or_zero(x));
  return ir::select(ir::broadcast(mask_, x.dims(), {0, 1}), x, ir::stop_gradient(stand_in));
}

Value MaskedSteps::state(const Value& initial) const {
  if (!is_float(initial.dtype())) {
    return ir::select(filled(exists_, initial.dims()), chosen_rows(initial),
                      ir::zeros_like(initial));
  }
  return is_uniform(initial) ? initial : ir::stop_gradient(chosen_rows(initial));
}

ir::Replacements MaskedSteps::outside(const StepOperands& operands,
                                      std::span<const Value> arguments) const {
  ir::Replacements map;
  for (const Value& argument : arguments) map.emplace(argument, argument);
  for (const Value& rows : operands.rows) {
    const Value stand_in = ir::stop_gradient(chosen_rows(rows));
    map.emplace(rows, ir::select(spread(has_own_, rows), rows, stand_in));
  }
  for (const Value& shared : operands.shared) {
    const bool is_gated = is_float(shared.dtype()) && shared.node->op != ir::Op::Constant;
    map.emplace(shared, is_gated ? ir::select(filled(exists_, shared.dims()), shared,
                                              ir::stop_gradient(shared))
                                 : shared);
  }
  return map;
}

Value MaskedSteps::chosen_rows(const Value& x) const {
  const Value rows = ir::with_dims(x, [&] {
    Dims dims = x.dims();
    dims[0] = sample_.dims()[0];
    return dims;
  }());
  return ir::with_dims(ir::gather(rows, sample_), x.dims());
}

}  // namespace kiln
