// Binds a matmul: divides it along M or N into parts, has the library
// prepare each, and plans packing of an rhs that several calls read.
// The division depends on sizes alone, so it fixes the bits.
#include "backends/codegen/host/bind/bind_step.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool same_rhs(const MatmulShape& a, const MatmulShape& b) {
  return a.k == b.k && a.n == b.n && a.rhs_k == b.rhs_k && a.rhs_n == b.rhs_n &&
         a.dtype == b.dtype;
}

/// Equal parts of each matmul along M or along N.
struct Division {
  bool along_m = true;
  std::int64_t extent = 0, part = 0;
};

class MatmulBinder {
 public:
  MatmulBinder(const MatmulStep& step, const StepBinding& binding)
      : step_(step), binding_(binding), host_(binding.inputs.host), group_(binding.group()) {}

  BoundMatmul run() {
    whole_ = shape();
    bound_.n = whole_.n;
    if (group_) whole_.m = std::min(whole_.m, group_->end - group_->begin);
    std::int64_t count = 1;
    for (const MatmulAxis& axis : step_.form.batch) {
      count = checked_product(count, binding_.evaluate(axis.size), step_.node);
    }
    if (count == 0 || whole_.m == 0 || whole_.n == 0 || whole_.k == 0) return std::move(bound_);
    const std::int64_t grains = grains_of(count);
    division_ = divided(count > 1 || group_ ? 1 : grains);
    source_ = count == 1 ? packing_source(step_.rhs, binding_) : -1;
    const bool divides = division_.along_m && division_.part < division_.extent;
    const bool shared = source_ < 0 && count == 1 && divides;
    use_ = shared ? RhsUse::Shared : rhs_use(source_, binding_);
    for (std::int64_t i = 0; i < count; ++i) add_parts(start_of(i));
    if (shared) share_rhs();
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
    shape.bias = step_.bias >= 0;
    shape.relu = step_.relu;
    shape.dtype = step_.dtype;
    return shape;
  }

  /// The work of `count` matmuls in grains: by multiply-adds, or by bytes where arithmetic
  /// intensity is low.
  std::int64_t grains_of(std::int64_t count) const {
    const auto element = static_cast<std::int64_t>(dtype_bytes(whole_.dtype));
    const std::int64_t m = whole_.m, n = whole_.n, k = whole_.k;
    const std::int64_t bytes = element * (m * k + k * n + m * n);
    return std::max(count * m * n * k / host_.matmul_grain,
                    count * bytes / host_.matmul_byte_grain);
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

  /// The offsets of the matrices of batch element `i`.
  MatmulCall start_of(std::int64_t i) const {
    const std::int64_t first_row = group_ ? group_->begin : 0;
    MatmulCall start;
    start.lhs = binding_.evaluate(step_.form.lhs_offset) + first_row * whole_.lhs_m;
    start.rhs = binding_.evaluate(step_.form.rhs_offset);
    start.result = first_row * whole_.result_m;
    const std::vector<MatmulAxis>& batch = step_.form.batch;
    for (auto axis = batch.rbegin(); axis != batch.rend(); ++axis) {
      const std::int64_t size = binding_.evaluate(axis->size), index = i % size;
      i /= size;
      start.lhs += index * binding_.evaluate(axis->lhs);
      start.rhs += index * binding_.evaluate(axis->rhs);
      start.result += index * binding_.evaluate(axis->result);
    }
    return start;
  }

  void add_parts(const MatmulCall& start) {
    for (std::int64_t begin = 0; begin < division_.extent; begin += division_.part) {
      const std::int64_t size = std::min(division_.part, division_.extent - begin);
      bound_.calls.push_back(part_of(start, begin, size));
    }
  }

  MatmulCall part_of(MatmulCall call, std::int64_t begin, std::int64_t size) {
    MatmulShape part = whole_;
    if (division_.along_m) {
      part.m = size;
      call.lhs += begin * part.lhs_m;
      call.result += begin * part.result_m;
    } else {
      part.n = size;
      call.rhs += begin * part.rhs_n;
      call.bias += begin;
      call.result += begin;
    }
    call.matmul = binding_.inputs.library->prepare(part, use_);
    const bool packed = source_ >= 0 && call.matmul->packed_bytes() != 0;
    if (packed) call.packed_offset = packed_offset(part, call);
    return call;
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

  /// The offset of the packed rhs; matmuls with the same rhs share it.
  std::int64_t packed_offset(const MatmulShape& shape, const MatmulCall& call) const {
    BoundPlan& first = binding_.use.first ? *binding_.use.first : binding_.out;
    for (const Packing& known : first.packings) {
      if (known.source == source_ && known.rhs == call.rhs && same_rhs(known.shape, shape)) {
        return known.offset;
      }
    }
    first.packings.push_back({.packer = call.matmul,
                              .source = source_,
                              .rhs = call.rhs,
                              .shape = shape,
                              .offset = first.packed_bytes});
    first.packed_bytes += aligned(static_cast<std::int64_t>(call.matmul->packed_bytes()));
    return first.packings.back().offset;
  }

  const MatmulStep& step_;
  const StepBinding& binding_;
  const HostDescription& host_;
  const RowGroup* group_;
  MatmulShape whole_;  // of one batch element and the group
  Division division_;
  int source_ = -1;  // of the rhs, see packing_source()
  RhsUse use_ = RhsUse::Once;
  BoundMatmul bound_;
};

}  // namespace

BoundMatmul bind_matmul(const MatmulStep& step, const StepBinding& binding) {
  return MatmulBinder(step, binding).run();
}

}  // namespace kiln::codegen
