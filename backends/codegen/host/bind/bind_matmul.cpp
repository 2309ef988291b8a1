// Binds a matmul: divides it along M or N into parts, has the library
// prepare each, and plans packing of an rhs that several calls read.
// The division depends on sizes alone, so it fixes the bits.
#include "backends/codegen/bind/step_cost.h"
#include "backends/codegen/host/bind/bind_step.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool same_rhs(const MatmulShape& a, const MatmulShape& b) {
  return a.k == b.k && a.n == b.n && a.rhs_k == b.rhs_k && a.rhs_n == b.rhs_n &&
         a.dtype == b.dtype && a.narrow_rhs == b.narrow_rhs;
}

/// Equal parts of each matmul along M or along N.
struct Division {
  bool along_m = true;
  std::int64_t extent = 0, part = 0;
};

/// Offsets of the operands and the result of one matrix of the batch, in elements.
struct MatrixOffsets {
  std::int64_t lhs = 0, rhs = 0, result = 0;
};

struct BatchAxis {
  std::int64_t size = 0, lhs = 0, rhs = 0, result = 0;
};

class MatmulBinder {
 public:
  MatmulBinder(const MatmulStep& step, const StepBinding& binding)
      : step_(step),
        binding_(binding),
        host_(binding.inputs.host),
        group_(binding.group()),
        batch_(binding.inputs.memory.scratch),
        bound_{.calls = List<MatmulCall>(binding.memory()), .shared_rhs = {}, .scratch = {}} {}

  BoundMatmul run() {
    // Strides of empty operands may not fit in 64 bits.
    if (binding_.out.sizes.bytes[step_.result] == 0) return std::move(bound_);
    whole_ = shape();
    bound_.n = whole_.n;
    if (group_) whole_.m = std::min(whole_.m, group_->end - group_->begin);
    std::int64_t count = 1;
    for (const BatchAxis& axis : evaluated_batch()) {
      count = checked_product(count, axis.size, step_.node);
    }
    if (count == 0 || whole_.m == 0 || whole_.n == 0 || whole_.k == 0) return std::move(bound_);
    bound_.cost = matmul_cost(static_cast<double>(count), step_, static_cast<double>(whole_.m),
                              static_cast<double>(whole_.n), static_cast<double>(whole_.k));
    const std::int64_t grains = grains_of(count);
    division_ = divided(count > 1 || group_ ? 1 : grains);
    if (count == 1) source_ = packing_source(step_.rhs, binding_);
    const bool divides = division_.along_m && division_.part < division_.extent;
    const bool shared = !source_ && count == 1 && divides;
    use_ = shared ? RhsUse::Shared : rhs_use(source_, binding_);
    bound_.calls.reserve(
        static_cast<std::size_t>(count * ceil_div(division_.extent, division_.part)));
    const MatrixOffsets first = start_of_batch();
    for (std::int64_t i = 0; i < count; ++i) add_parts(start_of(first, i));
    if (shared) share_rhs();
    const bool is_only = binding_.out.facts->rhs_uses[step_.rhs] == 1;
    if (is_only && !binding_.use.first) first_packing_ = binding_.out.packings.size();
    if (source_) pack_kept();
    for (const MatmulCall& call : bound_.calls) {
      const auto scratch = static_cast<std::int64_t>(call.matmul->scratch_bytes());
      bound_.scratch.bytes = std::max(bound_.scratch.bytes, aligned(scratch));
    }
    bound_.parallel = !group_ && bound_.calls.size() > 1 && grains >= 2;
    return std::move(bound_);
  }

 private:
  MatmulShape shape() const {
    const BatchedMatmul& form = step_.form;
    MatmulShape shape;
    shape.m = binding_.evaluate(form.m.size);
    shape.n = binding_.evaluate(form.n.size);
    shape.k = binding_.evaluate(form.k.size);
    shape.lhs_m = binding_.evaluate(form.m.lhs);
    shape.lhs_k = binding_.evaluate(form.k.lhs);
    shape.rhs_k = binding_.evaluate(form.k.rhs);
    shape.rhs_n = binding_.evaluate(form.n.rhs);
    shape.result_m = binding_.evaluate(form.m.result);
    shape.bias = static_cast<bool>(step_.bias);
    shape.relu = step_.relu;
    shape.dtype = step_.dtype;
    shape.narrow_rhs = step_.narrow_rhs;
    return shape;
  }

  /// The work of `count` matmuls in grains: by multiply-adds, or by bytes where arithmetic
  /// intensity is low.
  std::int64_t grains_of(std::int64_t count) const {
    // double: operands of stride 0 may have any number of elements.
    const auto m = static_cast<double>(whole_.m), n = static_cast<double>(whole_.n),
               k = static_cast<double>(whole_.k), matmuls = static_cast<double>(count);
    const double bytes = static_cast<double>(dtype_bytes(whole_.dtype)) * (m * k + m * n) +
                         static_cast<double>(dtype_bytes(whole_.rhs_dtype())) * k * n;
    const double grains = std::max(matmuls * m * n * k / static_cast<double>(host_.matmul_grain),
                                   matmuls * bytes / static_cast<double>(host_.matmul_byte_grain));
    return static_cast<std::int64_t>(std::min(grains, 0x1p62));
  }

  Division divided(std::int64_t wanted) const {
    Division division;
    division.along_m = whole_.m >= whole_.n;
    division.extent = division.along_m ? whole_.m : whole_.n;
    const std::int64_t parts = std::clamp(wanted, std::int64_t{1}, host_.max_matmul_parts());
    const std::int64_t tile = division.along_m ? host_.matmul_part_rows : host_.matmul_part_columns;
    division.part = ceil_div(ceil_div(division.extent, parts), tile) * tile;
    return division;
  }

  const List<BatchAxis>& evaluated_batch() {
    batch_.reserve(step_.form.batch.size());
    for (const MatmulAxis& axis : step_.form.batch) {
      batch_.push_back({binding_.evaluate(axis.size), binding_.evaluate(axis.lhs),
                        binding_.evaluate(axis.rhs), binding_.evaluate(axis.result)});
    }
    return batch_;
  }

  MatrixOffsets start_of_batch() const {
    const std::int64_t first_row = group_ ? group_->begin : 0;
    return {.lhs = binding_.evaluate(step_.form.lhs_offset) + first_row * whole_.lhs_m,
            .rhs = binding_.evaluate(step_.form.rhs_offset),
            .result = first_row * whole_.result_m};
  }

  /// The offsets of batch element `i`.
  MatrixOffsets start_of(MatrixOffsets start, std::int64_t i) const {
    for (auto axis = batch_.rbegin(); axis != batch_.rend(); ++axis) {
      const std::int64_t index = i % axis->size;
      i /= axis->size;
      start.lhs += index * axis->lhs;
      start.rhs += index * axis->rhs;
      start.result += index * axis->result;
    }
    return start;
  }

  void add_parts(const MatrixOffsets& start) {
    MatmulShape part = whole_;
    std::int64_t& size = division_.along_m ? part.m : part.n;
    for (std::int64_t begin = 0; begin < division_.extent; begin += division_.part) {
      size = std::min(division_.part, division_.extent - begin);
      MatmulCall& call = bound_.calls.emplace_back();
      call.matmul = prepared(part);
      call.lhs = start.lhs + (division_.along_m ? begin * part.lhs_m : 0);
      call.rhs = start.rhs + (division_.along_m ? 0 : begin * part.rhs_n);
      call.result = start.result + begin * (division_.along_m ? part.result_m : 1);
      call.bias = division_.along_m ? 0 : begin;
    }
  }

  const std::shared_ptr<const PreparedMatmul>& prepared(const MatmulShape& part) const {
    LastMatmul& last = binding_.last_matmul;
    if (last.matmul && last.use == use_ && last.shape == part) return last.matmul;
    last = {part, use_, binding_.inputs.library->prepare(part, use_)};
    binding_.out.retained_bytes += static_cast<std::int64_t>(last.matmul->retained_bytes());
    return last.matmul;
  }

  /// Packs the rhs once for all parts along M. Parts that do not pack read it in place.
  void share_rhs() {
    for (MatmulCall& call : bound_.calls) {
      const auto bytes = static_cast<std::int64_t>(call.matmul->packed_bytes());
      if (bytes == 0) continue;
      bound_.shared_rhs = {call.matmul, call.rhs, aligned(bytes)};
      call.shares_rhs = true;
    }
  }

  /// Plans the packing of an rhs that keeps its value. Parts along N read one packed rhs if they
  /// can, so that the packing does not depend on the division.
  void pack_kept() {
    if (division_.along_m) {
      for (MatmulCall& call : bound_.calls) pack_alone(call, whole_);
      return;
    }
    const auto& calls = bound_.calls;
    bool together = true;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const PreparedMatmul& matmul = *calls[i].matmul;
      together = together && matmul.packed_bytes() != 0 && matmul.packed_offset(column_of(i)) >= 0;
    }
    if (together) return pack_together();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      MatmulShape part = whole_;
      part.n = std::min(division_.part, whole_.n - column_of(i));
      pack_alone(bound_.calls[i], part);
    }
  }

  /// The first column of part `i` of a division along N.
  std::int64_t column_of(std::size_t i) const {
    return static_cast<std::int64_t>(i) * division_.part;
  }

  void pack_alone(MatmulCall& call, const MatmulShape& shape) const {
    const auto bytes = aligned(static_cast<std::int64_t>(call.matmul->packed_bytes()));
    if (bytes == 0) return;
    const auto [number, is_new] = packing_of(call.rhs, shape, bytes);
    call.packing = number;
    if (is_new) add_packing_part({.packer = call.matmul});
  }

  void pack_together() {
    const PreparedMatmul& last = *bound_.calls.back().matmul;
    const std::int64_t first = bound_.calls.front().rhs;
    const auto bytes = aligned(last.packed_offset(column_of(bound_.calls.size() - 1)) +
                               static_cast<std::int64_t>(last.packed_bytes()));
    const auto [number, is_new] = packing_of(first, whole_, bytes);
    for (std::size_t i = 0; i < bound_.calls.size(); ++i) {
      MatmulCall& call = bound_.calls[i];
      call.packing = number;
      call.packed_offset = call.matmul->packed_offset(column_of(i));
      if (!is_new) continue;
      add_packing_part(
          {.packer = call.matmul, .begin = call.rhs - first, .offset = call.packed_offset});
    }
  }

  /// The plan that has the packings of this one.
  BoundPlan& packing_plan() const {
    return binding_.use.first ? *binding_.use.first : binding_.out;
  }

  /// Adds a part to the newest packing.
  void add_packing_part(PackingPart part) const {
    packing_plan().packing_parts.push_back(std::move(part));
    ++packing_plan().packings.back().last_part;
  }

  /// The number of the packing of the rhs, and whether it is new and has no parts yet; matmuls with
  /// the same rhs share it.
  std::pair<int, bool> packing_of(std::int64_t rhs, const MatmulShape& shape,
                                  std::int64_t bytes) const {
    List<Packing>& all = packing_plan().packings;
    for (std::size_t i = first_packing_; i < all.size(); ++i) {
      const Packing& known = all[i];
      if (known.source == source_ && known.rhs == rhs && known.bytes == bytes &&
          same_rhs(known.shape, shape)) {
        return {static_cast<int>(i), false};
      }
    }
    const std::size_t part = packing_plan().packing_parts.size();
    all.push_back({.first_part = part,
                   .last_part = part,
                   .source = source_,
                   .rhs = rhs,
                   .shape = shape,
                   .bytes = bytes});
    return {static_cast<int>(all.size()) - 1, true};
  }

  const MatmulStep& step_;
  const StepBinding& binding_;
  const HostDescription& host_;
  const RowGroup* group_;
  MatmulShape whole_;  // of one batch element and the group
  Division division_;
  SlotId source_;  // of the rhs, see packing_source()
  RhsUse use_ = RhsUse::Once;
  std::size_t first_packing_ = 0;  // no packing before it has this rhs
  List<BatchAxis> batch_;
  BoundMatmul bound_;
};

}  // namespace

BoundMatmul bind_matmul(const MatmulStep& step, const StepBinding& binding) {
  return MatmulBinder(step, binding).run();
}

}  // namespace kiln::codegen
