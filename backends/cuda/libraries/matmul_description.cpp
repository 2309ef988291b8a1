// Views repeat no element (batched_matmul), so if one axis of a matrix has stride 1, the stride of
// the other one is a valid leading dimension.
#include "backends/cuda/libraries/matmul_description.h"

#include "backends/codegen/inspect/source.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using namespace codegen;

/// Merges `inner` into `outer` if the pair is contiguous in all tensors.
bool merge(MatmulAxis& outer, const MatmulAxis& inner) {
  const bool is_contiguous_pair = outer.lhs == inner.lhs * inner.size &&
                                  outer.rhs == inner.rhs * inner.size &&
                                  outer.result == inner.result * inner.size;
  if (is_contiguous_pair) outer = {outer.size * inner.size, inner.lhs, inner.rhs, inner.result};
  return is_contiguous_pair;
}

/// Merges one pair of axes. False: no pair can be merged.
bool merge_pair(std::vector<MatmulAxis>& axes) {
  for (std::size_t outer = 0; outer < axes.size(); ++outer) {
    for (std::size_t inner = 0; inner < axes.size(); ++inner) {
      if (inner == outer || !merge(axes[outer], axes[inner])) continue;
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(inner));
      return true;
    }
  }
  return false;
}

/// An axis of a matrix with the sizes of a call.
struct MatrixAxis {
  std::int64_t size, stride;
};

bool is_contiguous(const MatrixAxis& axis) { return axis.size == 1 || axis.stride == 1; }

/// The column-major layout of the matrix (first, second), or of its transpose. REQUIRES: one axis
/// is contiguous.
MatrixLayout layout_of(const MatrixAxis& first, const MatrixAxis& second, bool& transposes) {
  transposes = !is_contiguous(first);
  const MatrixAxis& rows = transposes ? second : first;
  const MatrixAxis& columns = transposes ? first : second;
  // The stride of a single column is arbitrary.
  return {rows.size, columns.size, std::max({columns.stride, rows.size, std::int64_t{1}})};
}

/// Returns `size`. Throws SizeFailure if it exceeds the 31 bits of cuBLASLt's rows and columns.
std::int64_t checked_extent(std::int64_t size, const ir::Node& node) {
  if (size <= INT32_MAX) return size;
  throw SizeFailure(KILN_CODE_RESOURCE_EXHAUSTED, text("cuBLASLt cannot compute a matmul of ", size,
                                                       " rows or columns: ", source_of(node)));
}

class Describer {
 public:
  Describer(const MatmulStep& step, const EvaluateDim& evaluate)
      : step_(step), form_(step.form), evaluate_(evaluate) {}

  MatmulDescription run() const {
    const std::int64_t m = size(form_.m), n = size(form_.n), k = size(form_.k);
    MatmulDescription out;
    out.dtype = step_.dtype;
    out.bias = static_cast<bool>(step_.bias);
    out.k = k;
    out.a = layout_of({n, evaluate_(form_.n.rhs)}, {k, evaluate_(form_.k.rhs)}, out.transposes_a);
    out.b = layout_of({k, evaluate_(form_.k.lhs)}, {m, evaluate_(form_.m.lhs)}, out.transposes_b);
    bool transposes_d = false;  // never: batched_matmul gives columns without gaps
    out.d = layout_of({n, evaluate_(form_.n.result)}, {m, evaluate_(form_.m.result)}, transposes_d);
    add_batches(out);
    return out;
  }

 private:
  std::int64_t size(const MatmulAxis& axis) const {
    return checked_extent(evaluate_(axis.size), *step_.node);
  }

  void add_batches(MatmulDescription& out) const {
    for (const MatmulAxis& axis : merged_batches(form_)) {
      out.batches = evaluate_(axis.size);
      out.a.batch_stride = evaluate_(axis.rhs);
      out.b.batch_stride = evaluate_(axis.lhs);
      out.d.batch_stride = evaluate_(axis.result);
    }
  }

  const MatmulStep& step_;
  const BatchedMatmul& form_;
  const EvaluateDim& evaluate_;
};

}  // namespace

std::string text_of(const MatmulDescription& matmul) {
  std::string out =
      text(matmul.dtype, " M=", matmul.d.columns, " N=", matmul.d.rows, " K=", matmul.k);
  if (matmul.batches != 1) out += text(" for each of ", matmul.batches);
  return out;
}

std::vector<MatmulAxis> merged_batches(const BatchedMatmul& form) {
  std::vector<MatmulAxis> axes = form.batch;
  std::erase_if(axes, [](const MatmulAxis& axis) { return axis.size.is_one(); });
  while (merge_pair(axes)) {
  }
  return axes;
}

MatmulDescription describe(const MatmulStep& step, bool tf32, const EvaluateDim& evaluate) {
  MatmulDescription out = Describer(step, evaluate).run();
  out.tf32 = tf32 && out.dtype == DType::Float32;
  return out;
}

}  // namespace kiln::cuda
