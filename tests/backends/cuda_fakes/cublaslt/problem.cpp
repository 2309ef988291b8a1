// An algorithm holds a fingerprint of the problem that it was chosen for.
#include "tests/backends/cuda_fakes/cublaslt/problem.h"

#include <algorithm>
#include <initializer_list>

namespace kiln::fake_cublaslt {
namespace {

std::string reason_of_types(const Problem& problem) {
  const CublasDataType type = problem.d.type;
  for (const Layout* one : {&problem.a, &problem.b, &problem.c}) {
    if (one->type != type) return "matrices of different types";
  }
  const bool is_wide = type == CublasDataType::Float64;
  if (problem.matmul.scale_type != (is_wide ? type : CublasDataType::Float32)) {
    return "another scale type";
  }
  const CublasComputeType compute = problem.matmul.compute_type;
  if (is_wide != (compute == CublasComputeType::Float64)) return "another compute type";
  if (compute == CublasComputeType::Float32Tf32 && type != CublasDataType::Float32) {
    return "TF32 of other elements than float32";
  }
  return "";
}

std::string reason_of_layout(const Layout& layout, const Layout& d) {
  constexpr std::uint64_t kMax = INT32_MAX;
  if (layout.rows == 0 || layout.columns == 0) return "an empty matrix";
  if (layout.rows > kMax || layout.columns > kMax) return "a matrix that is too large";
  if (layout.leading_dim < static_cast<std::int64_t>(layout.rows)) return "a leading dim < rows";
  if (layout.batch_count < 1 || layout.batch_count != d.batch_count) return "batch counts differ";
  if (layout.batch_count > 65535) return "more batches than a grid has blocks";
  if (layout.batch_stride < 0) return "a negative batch stride";
  return "";
}

std::string reason_of_sizes(const Problem& problem) {
  const bool a = problem.matmul.transpose_a != 0, b = problem.matmul.transpose_b != 0;
  const std::uint64_t rows = a ? problem.a.columns : problem.a.rows;
  const std::uint64_t columns = b ? problem.b.rows : problem.b.columns;
  const std::uint64_t k = b ? problem.b.columns : problem.b.rows;
  if (rows != problem.d.rows || columns != problem.d.columns) return "another size of the result";
  if (k != problem.k()) return "two sizes of K";
  if (!(problem.c == problem.d)) return "another layout of C than of D";
  if (problem.d.batch_count > 1 && problem.d.batch_stride == 0) return "one result for all batches";
  return "";
}

std::uint64_t fingerprint(const Problem& problem) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  const Matmul& matmul = problem.matmul;
  add(static_cast<std::uint64_t>(matmul.compute_type));
  add(static_cast<std::uint64_t>(matmul.transpose_a));
  add(static_cast<std::uint64_t>(matmul.transpose_b));
  add(matmul.epilogue);
  for (const Layout* one : {&problem.a, &problem.b, &problem.d}) {
    add(static_cast<std::uint64_t>(one->type));
    add(one->rows);
    add(one->columns);
    add(static_cast<std::uint64_t>(one->leading_dim));
    add(static_cast<std::uint64_t>(one->batch_count));
    add(static_cast<std::uint64_t>(one->batch_stride));
  }
  return hash;
}

/// Bytes of the workspace: 0 for some K; never a multiple of the alignment of workspaces.
std::uint64_t workspace_bytes(const Problem& problem, std::uint32_t alignment) {
  if (problem.k() % 3 == 0) return 0;
  return problem.k() * (alignment >= 16 ? 100 : 60);
}

}  // namespace

std::string reason_to_reject(const Problem& problem) {
  std::string reason = reason_of_types(problem);
  for (const Layout* one : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    if (reason.empty()) reason = reason_of_layout(*one, problem.d);
  }
  return reason.empty() ? reason_of_sizes(problem) : reason;
}

MatmulHeuristic choose(const Problem& problem, const Preference& preference) {
  const std::uint32_t alignment = preference.alignment_a;
  MatmulHeuristic chosen{};
  const bool is_even = preference.alignment_b == alignment && preference.alignment_c == alignment &&
                       preference.alignment_d == alignment;
  const bool bias_fits =
      !problem.has_bias() || (problem.matmul.bias != 0 && problem.matmul.bias % 16 == 0);
  const bool in_order =
      preference.reduction_schemes == static_cast<std::uint32_t>(ReductionScheme::ComputeType);
  chosen.status =
      is_even && bias_fits && in_order ? CublasStatus::Success : CublasStatus::NotSupported;
  const std::uint64_t workspace = workspace_bytes(problem, alignment);
  chosen.workspace_bytes = workspace <= preference.max_workspace_bytes ? workspace : 0;
  chosen.algorithm.data[0] = fingerprint(problem);
  chosen.algorithm.data[1] = alignment;
  chosen.algorithm.data[2] = chosen.workspace_bytes;
  chosen.waves = 1;
  return chosen;
}

std::uint64_t alignment_of(const MatmulAlgorithm& algorithm, const Problem& problem) {
  return algorithm.data[0] == fingerprint(problem) ? algorithm.data[1] : 0;
}

std::uint64_t workspace_of(const MatmulAlgorithm& algorithm) { return algorithm.data[2]; }

}  // namespace kiln::fake_cublaslt
