// Dot: packs the operands to [batch, M, K] and [batch, K, N] in the widest type, multiplies them
// with wide accumulators in the order of K, and permutes the axes to those of the result.
#include "backends/reference/wide.h"
#include "core/ops/scalar_meaning.h"

#include <algorithm>

namespace kiln::reference {
namespace {

bool contains(const ir::Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// Labels by role: in both operands and the result (batch), in both operands (k), in one (m, n).
struct Roles {
  ir::Ints batch, m, n, k;
};

Roles roles_of(const ir::DotAttrs& a) {
  Roles roles;
  for (std::int64_t label : a.lhs) {
    const bool right = contains(a.rhs, label), result = contains(a.result, label);
    (right ? (result ? roles.batch : roles.k) : roles.m).push_back(label);
  }
  for (std::int64_t label : a.rhs) {
    if (!contains(a.lhs, label)) roles.n.push_back(label);
  }
  return roles;
}

/// The widened elements with axes permuted to the order of `groups` of labels.
template <class Wide>
std::vector<Wide> packed(const Tensor& x, const ir::Ints& labels,
                         std::initializer_list<const ir::Ints*> groups) {
  const Sizes strides = strides_of(x.dims);
  Sizes dims, moved;
  for (const ir::Ints* group : groups) {
    for (std::int64_t label : *group) {
      const auto axis =
          static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
      dims.push_back(x.dims[axis]);
      moved.push_back(strides[axis]);
    }
  }
  Tensor dense = Tensor::allocate(x.dtype, dims);
  copy_from_strided(dense.data.get(), x.data.get(), dims, moved, x.element_bytes());
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
void multiply(const Wide* a, const Wide* b, Wide* y, std::int64_t m, std::int64_t n,
              std::int64_t k) {
  const ir::meaning::Add add;
  const ir::meaning::Mul mul;
  for (std::int64_t i = 0; i < m; ++i) {
    Wide* row = y + i * n;
    for (std::int64_t l = 0; l < k; ++l) {
      const Wide factor = a[i * k + l];
      const Wide* other = b + l * n;
      for (std::int64_t j = 0; j < n; ++j) row[j] = add(row[j], mul(factor, other[j]));
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
  const std::int64_t m = extent(lhs, attrs.lhs, roles.m);
  const std::int64_t k = extent(lhs, attrs.lhs, roles.k);
  const std::int64_t n = extent(rhs, attrs.rhs, roles.n);

  // The matmul computes [batch, M, N]; the result may have these axes in another order.
  const Sizes result_strides = strides_of(y.dims);
  Sizes dims, strides;
  for (const ir::Ints* group : {&roles.batch, &roles.m, &roles.n}) {
    for (std::int64_t label : *group) {
      const auto axis = static_cast<std::size_t>(
          std::find(attrs.result.begin(), attrs.result.end(), label) - attrs.result.begin());
      dims.push_back(y.dims[axis]);
      strides.push_back(result_strides[axis]);
    }
  }
  with_wide(y.dtype, [&](auto wide) {
    using Wide = decltype(wide);
    const auto a = packed<Wide>(lhs, attrs.lhs, {&roles.batch, &roles.m, &roles.k});
    const auto b = packed<Wide>(rhs, attrs.rhs, {&roles.batch, &roles.k, &roles.n});
    std::vector<Wide> sums(static_cast<std::size_t>(batch * m * n), Wide{0});
    for (std::int64_t i = 0; i < batch; ++i) {
      multiply(a.data() + i * m * k, b.data() + i * k * n, sums.data() + i * m * n, m, n, k);
    }
    Tensor dense = Tensor::allocate(y.dtype, dims);
    store(sums, dense);
    copy_to_strided(y.data.get(), dense.data.get(), dims, strides, y.element_bytes());
  });
  return {y};
}

}  // namespace kiln::reference
