// Views repeat no element (product_form), so if one axis of a matrix has stride 1, the stride of
// the other is a valid leading dimension.
#include "backends/cuda/libraries/matmul_description.h"

#include "backends/codegen/inspect/source.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using namespace codegen;

/// Merges `inner` into `outer` if the pair is contiguous in all tensors.
bool join(ProductAxis& outer, const ProductAxis& inner) {
  const bool joins = outer.lhs == inner.lhs * inner.size && outer.rhs == inner.rhs * inner.size &&
                     outer.result == inner.result * inner.size;
  if (joins) outer = {outer.size * inner.size, inner.lhs, inner.rhs, inner.result};
  return joins;
}

/// Merges one pair of axes. False: no pair can be merged.
bool join_two(std::vector<ProductAxis>& axes) {
  for (std::size_t outer = 0; outer < axes.size(); ++outer) {
    for (std::size_t inner = 0; inner < axes.size(); ++inner) {
      if (inner == outer || !join(axes[outer], axes[inner])) continue;
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

/// `size`. Throws SizeFailure where it exceeds the 31 bits that cuBLASLt has for rows and columns.
std::int64_t counted(std::int64_t size, const ir::Node& node) {
  if (size <= INT32_MAX) return size;
  throw SizeFailure(KILN_CODE_RESOURCE_EXHAUSTED, text("cuBLASLt takes no matmul with ", size,
                                                       " rows or columns: ", source_of(node)));
}

class Describer {
 public:
  Describer(const MatmulStep& step, const EvaluateDim& evaluate)
      : step_(step), form_(step.form), evaluate_(evaluate) {}

  MatmulDescription run() const {
    const std::int64_t m = size(form_.rows), n = size(form_.columns), k = size(form_.depth);
    MatmulDescription out;
    out.dtype = step_.dtype;
    out.bias = step_.bias >= 0;
    out.depth = k;
    out.a = layout_of({n, evaluate_(form_.columns.rhs)}, {k, evaluate_(form_.depth.rhs)},
                      out.transposes_a);
    out.b = layout_of({k, evaluate_(form_.depth.lhs)}, {m, evaluate_(form_.rows.lhs)},
                      out.transposes_b);
    bool transposes_d = false;  // never: product_form gives columns without gaps
    out.d = layout_of({n, evaluate_(form_.columns.result)}, {m, evaluate_(form_.rows.result)},
                      transposes_d);
    add_batches(out);
    return out;
  }

 private:
  std::int64_t size(const ProductAxis& axis) const {
    return counted(evaluate_(axis.size), *step_.node);
  }

  void add_batches(MatmulDescription& out) const {
    for (const ProductAxis& axis : merged_batches(form_)) {
      out.batches = evaluate_(axis.size);
      out.a.batch_stride = evaluate_(axis.rhs);
      out.b.batch_stride = evaluate_(axis.lhs);
      out.d.batch_stride = evaluate_(axis.result);
    }
  }

  const MatmulStep& step_;
  const ProductForm& form_;
  const EvaluateDim& evaluate_;
};

}  // namespace

std::string text_of(const MatmulDescription& matmul) {
  std::string out =
      text(matmul.dtype, " ", matmul.d.columns, " x ", matmul.d.rows, " x ", matmul.depth);
  if (matmul.batches != 1) out += text(" for each of ", matmul.batches);
  return out;
}

std::vector<ProductAxis> merged_batches(const ProductForm& form) {
  std::vector<ProductAxis> axes = form.batch;
  std::erase_if(axes, [](const ProductAxis& axis) { return axis.size.is_one(); });
  while (join_two(axes)) {
  }
  return axes;
}

MatmulDescription describe(const MatmulStep& step, bool tf32, const EvaluateDim& evaluate) {
  MatmulDescription out = Describer(step, evaluate).run();
  out.tf32 = tf32 && out.dtype == DType::Float32;
  return out;
}

}  // namespace kiln::cuda
