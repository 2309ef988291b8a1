// Dot: operands are packed as batch x rows x depth and batch x depth x columns in the widest type,
// multiplied with wide accumulators in order of depth, and placed into the result's axes.
#include "backends/reference/wide.h"
#include "core/ops/scalar_meaning.h"

#include <algorithm>

namespace kiln::reference {
namespace {

bool contains(const ir::Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// Labels by the role they play.
struct Roles {
  ir::Ints batch, rows, columns, depth;
};

Roles roles_of(const ir::DotAttrs& a) {
  Roles roles;
  for (std::int64_t label : a.lhs) {
    const bool right = contains(a.rhs, label), result = contains(a.result, label);
    (right ? (result ? roles.batch : roles.depth) : roles.rows).push_back(label);
  }
  for (std::int64_t label : a.rhs) {
    if (!contains(a.lhs, label)) roles.columns.push_back(label);
  }
  return roles;
}

/// The tensor with its axes in the order of `groups` of labels, widened.
template <class Wide>
std::vector<Wide> packed(const Tensor& x, const ir::Ints& labels,
                         std::initializer_list<const ir::Ints*> groups) {
  const Sizes strides = strides_of(x.dims);
  Sizes dims, moved;
  for (const ir::Ints* group : groups) {
    for (std::int64_t label : *group) {
      const auto axis = static_cast<std::size_t>(
          std::find(labels.begin(), labels.end(), label) - labels.begin());
      dims.push_back(x.dims[axis]);
      moved.push_back(strides[axis]);
    }
  }
  Tensor dense = Tensor::make(x.dtype, dims);
  copy_strided(dense.data.get(), x.data.get(), dims, moved, x.element_bytes());
  return load<Wide>(dense);
}

std::int64_t extent(const Tensor& x, const ir::Ints& labels, const ir::Ints& group) {
  Sizes dims;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (contains(group, labels[i])) dims.push_back(x.dims[i]);
  }
  return count_of(dims);
}

template <class Wide>
void multiply(const Wide* a, const Wide* b, Wide* y, std::int64_t rows, std::int64_t depth,
              std::int64_t columns) {
  const ir::meaning::Add add;
  const ir::meaning::Mul mul;
  for (std::int64_t i = 0; i < rows; ++i) {
    Wide* row = y + i * columns;
    for (std::int64_t k = 0; k < depth; ++k) {
      const Wide factor = a[i * depth + k];
      const Wide* other = b + k * columns;
      for (std::int64_t j = 0; j < columns; ++j) row[j] = add(row[j], mul(factor, other[j]));
    }
  }
}

}  // namespace

Results run_dot(const Context& c) {
  const auto& attrs = c.as<ir::DotAttrs>();
  const Roles roles = roles_of(attrs);
  Tensor y = c.result();
  const Tensor &lhs = c.x[0], &rhs = c.x[1];
  const std::int64_t batch = extent(lhs, attrs.lhs, roles.batch);
  const std::int64_t rows = extent(lhs, attrs.lhs, roles.rows);
  const std::int64_t depth = extent(lhs, attrs.lhs, roles.depth);
  const std::int64_t columns = extent(rhs, attrs.rhs, roles.columns);

  // The product's axes are batch, rows, columns; the result wants them in its own order.
  const Sizes result_strides = strides_of(y.dims);
  Sizes dims, strides;
  for (const ir::Ints* group : {&roles.batch, &roles.rows, &roles.columns}) {
    for (std::int64_t label : *group) {
      const auto axis = static_cast<std::size_t>(
          std::find(attrs.result.begin(), attrs.result.end(), label) - attrs.result.begin());
      dims.push_back(y.dims[axis]);
      strides.push_back(result_strides[axis]);
    }
  }
  with_wide(y.dtype, [&](auto wide) {
    using Wide = decltype(wide);
    const auto a = packed<Wide>(lhs, attrs.lhs, {&roles.batch, &roles.rows, &roles.depth});
    const auto b = packed<Wide>(rhs, attrs.rhs, {&roles.batch, &roles.depth, &roles.columns});
    std::vector<Wide> product(static_cast<std::size_t>(batch * rows * columns), Wide{0});
    for (std::int64_t n = 0; n < batch; ++n) {
      multiply(a.data() + n * rows * depth, b.data() + n * depth * columns,
               product.data() + n * rows * columns, rows, depth, columns);
    }
    Tensor dense = Tensor::make(y.dtype, dims);
    store(product, dense);
    place_strided(y.data.get(), dense.data.get(), dims, strides, y.element_bytes());
  });
  return {y};
}

}  // namespace kiln::reference
