// A matmul in parts, each prepared by the library, with its operands packed where that is asked.
#include "backends/codegen/host/bind/bind_step.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool same_rhs(const MatrixProduct& a, const MatrixProduct& b) {
  return a.depth == b.depth && a.columns == b.columns && a.rhs_depth == b.rhs_depth &&
         a.rhs_column == b.rhs_column && a.dtype == b.dtype;
}

/// Equal parts of the rows or of the columns of each matrix.
struct Division {
  bool by_rows = true;
  std::int64_t extent = 0, part = 0;
};

class MatmulBinder {
 public:
  MatmulBinder(const MatmulStep& step, const StepBinding& binding)
      : step_(step), binding_(binding), host_(binding.inputs.host), group_(binding.group()) {}

  BoundMatmul run() {
    whole_ = matrix();
    bound_.columns = whole_.columns;
    if (group_) whole_.rows = std::min(whole_.rows, group_->end - group_->begin);
    std::int64_t count = 1;
    for (const ProductAxis& axis : step_.form.batch) {
      count = checked_product(count, binding_.evaluate(axis.size), step_.node);
    }
    if (count == 0 || whole_.rows == 0 || whole_.columns == 0 || whole_.depth == 0) {
      return std::move(bound_);
    }
    const std::int64_t grains = grains_of(count);
    division_ = divided(count > 1 || group_ ? 1 : grains);
    source_ = count == 1 ? kept_source(step_.rhs, binding_) : -1;
    const bool divides = division_.by_rows && division_.part < division_.extent;
    const bool shared = source_ < 0 && count == 1 && divides;
    use_ = shared ? RhsUse::Shared : rhs_use(source_, binding_);
    for (std::int64_t i = 0; i < count; ++i) add_parts(start_of(i));
    if (shared) share_rhs();
    for (const ProductRun& run : bound_.runs) {
      const auto scratch = static_cast<std::int64_t>(run.product->scratch_bytes());
      bound_.scratch.bytes = std::max(bound_.scratch.bytes, aligned(scratch));
    }
    bound_.parallel = !group_ && bound_.runs.size() > 1 && grains >= 2;
    return std::move(bound_);
  }

 private:
  MatrixProduct matrix() const {
    const ProductForm& form = step_.form;
    MatrixProduct product;
    product.rows = binding_.evaluate(form.rows.size);
    product.columns = binding_.evaluate(form.columns.size);
    product.depth = binding_.evaluate(form.depth.size);
    product.lhs_row = binding_.evaluate(form.rows.lhs);
    product.lhs_depth = binding_.evaluate(form.depth.lhs);
    product.rhs_depth = binding_.evaluate(form.depth.rhs);
    product.rhs_column = binding_.evaluate(form.columns.rhs);
    product.result_row = binding_.evaluate(form.rows.result);
    product.bias = step_.bias >= 0;
    product.relu = step_.relu;
    product.dtype = step_.dtype;
    return product;
  }

  /// Work of so many matrices: multiply-adds, or where there are few for each element, bytes.
  std::int64_t grains_of(std::int64_t count) const {
    const auto element = static_cast<std::int64_t>(dtype_bytes(whole_.dtype));
    const std::int64_t rows = whole_.rows, columns = whole_.columns, depth = whole_.depth;
    const std::int64_t bytes = element * (rows * depth + depth * columns + rows * columns);
    return std::max(count * rows * columns * depth / host_.matmul_grain,
                    count * bytes / host_.matmul_byte_grain);
  }

  Division divided(std::int64_t wanted) const {
    Division division;
    division.by_rows = whole_.rows >= whole_.columns;
    division.extent = division.by_rows ? whole_.rows : whole_.columns;
    const std::int64_t parts = std::clamp(wanted, std::int64_t{1}, host_.max_matmul_parts());
    const std::int64_t unit = division.by_rows ? host_.matmul_part_rows : host_.matmul_part_columns;
    division.part = ceil_div(ceil_div(division.extent, parts), unit) * unit;
    return division;
  }

  /// The first elements of the matrices of batch element `i`.
  ProductRun start_of(std::int64_t i) const {
    const std::int64_t skipped = group_ ? group_->begin : 0;
    ProductRun start;
    start.lhs = binding_.evaluate(step_.form.lhs_offset) + skipped * whole_.lhs_row;
    start.rhs = binding_.evaluate(step_.form.rhs_offset);
    start.result = skipped * whole_.result_row;
    const std::vector<ProductAxis>& batch = step_.form.batch;
    for (auto axis = batch.rbegin(); axis != batch.rend(); ++axis) {
      const std::int64_t size = binding_.evaluate(axis->size), index = i % size;
      i /= size;
      start.lhs += index * binding_.evaluate(axis->lhs);
      start.rhs += index * binding_.evaluate(axis->rhs);
      start.result += index * binding_.evaluate(axis->result);
    }
    return start;
  }

  void add_parts(const ProductRun& start) {
    for (std::int64_t begin = 0; begin < division_.extent; begin += division_.part) {
      const std::int64_t size = std::min(division_.part, division_.extent - begin);
      bound_.runs.push_back(part_of(start, begin, size));
    }
  }

  ProductRun part_of(ProductRun run, std::int64_t begin, std::int64_t size) {
    MatrixProduct product = whole_;
    if (division_.by_rows) {
      product.rows = size;
      run.lhs += begin * product.lhs_row;
      run.result += begin * product.result_row;
    } else {
      product.columns = size;
      run.rhs += begin * product.rhs_column;
      run.bias += begin;
      run.result += begin;
    }
    run.product = binding_.inputs.library->prepare(product, use_);
    const bool packed = source_ >= 0 && run.product->packed_bytes() != 0;
    if (packed) run.packed_offset = packed_offset(product, run);
    return run;
  }

  /// All parts read the same rhs, from its first element on; some of them packed.
  void share_rhs() {
    for (ProductRun& run : bound_.runs) {
      const auto bytes = static_cast<std::int64_t>(run.product->packed_bytes());
      if (bytes == 0) continue;
      bound_.shared_rhs = {run.product, run.rhs, aligned(bytes)};
      run.shares_rhs = true;
    }
  }

  /// The offset of the packed operand; matmuls with the same one share it.
  std::int64_t packed_offset(const MatrixProduct& matrix, const ProductRun& run) const {
    BoundPlan& first = binding_.use.first ? *binding_.use.first : binding_.out;
    for (const Packing& known : first.packings) {
      if (known.source == source_ && known.rhs == run.rhs && same_rhs(known.matrix, matrix)) {
        return known.offset;
      }
    }
    first.packings.push_back({run.product, source_, run.rhs, matrix, first.packed_bytes});
    first.packed_bytes += aligned(static_cast<std::int64_t>(run.product->packed_bytes()));
    return first.packings.back().offset;
  }

  const MatmulStep& step_;
  const StepBinding& binding_;
  const HostDescription& host_;
  const RowGroup* group_;
  MatrixProduct whole_;  // of one batch element and the group
  Division division_;
  int source_ = -1;  // of the rhs, see kept_source
  RhsUse use_ = RhsUse::Once;
  BoundMatmul bound_;
};

}  // namespace

BoundMatmul bind_matmul(const MatmulStep& step, const StepBinding& binding) {
  return MatmulBinder(step, binding).run();
}

}  // namespace kiln::codegen
