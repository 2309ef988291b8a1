// Tensors have the axes batch, head, row and column; all matrices are in the batch.
#include "backends/cuda/libraries/attention_graph.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using A = api::CudnnAttribute;
using api::CudnnDataType;
using api::DescriptorType;
using api::PointwiseMode;

constexpr const char* kDescribe = "describe an attention";
constexpr std::int64_t kRowAxis = 2, kColumnAxis = 3;

/// A tensor descriptor with its shape.
struct Tensor {
  const BackendDescriptor* descriptor = nullptr;
  std::int64_t rows = 0, columns = 0;
};

/// Adds operations and their tensors to a graph.
class Builder {
 public:
  Builder(const api::Cudnn& library, const AttentionDescription& attention, std::int64_t alignment,
          const PlanDevice& device, std::deque<BackendDescriptor>& parts)
      : library_(library),
        attention_(attention),
        alignment_(alignment),
        device_(device),
        parts_(parts) {}

  void add_forward() {
    const auto& a = attention_;
    const Tensor q = memory(AttentionTensor::Q, a.t, a.d);
    const Tensor scores = score(q, memory(AttentionTensor::K, a.s, a.d, kTransposed));
    const Tensor maximum = reduction(api::Reduction::Maximum, scores);
    const Tensor e =
        pointwise(PointwiseMode::Exp, {pointwise(PointwiseMode::Subtract, {scores, maximum})});
    const Tensor sum = reduction(api::Reduction::Sum, e);
    const Tensor log_sum = pointwise(PointwiseMode::Log, {sum});
    pointwise(PointwiseMode::Add, {maximum, log_sum}, log_sums());
    const Tensor p = temporary(a.t, a.s, narrow());
    pointwise(PointwiseMode::Divide, {e, sum}, p);
    matmul(p, memory(AttentionTensor::V, a.s, a.e), memory(AttentionTensor::O, a.t, a.e));
  }

  void add_gradient() {
    const auto& a = attention_;
    const Tensor q = memory(AttentionTensor::Q, a.t, a.d);
    const Tensor k_transposed = memory(AttentionTensor::K, a.s, a.d, kTransposed);
    const Tensor v_transposed = memory(AttentionTensor::V, a.s, a.e, kTransposed);
    const Tensor d_result = memory(AttentionTensor::DResult, a.t, a.e);
    const Tensor o = memory(AttentionTensor::O, a.t, a.e);
    const Tensor sums =
        reduction(api::Reduction::Sum, pointwise(PointwiseMode::Multiply, {d_result, o}));
    const Tensor query_sums = tensor(AttentionTensor::QuerySums, a.t, 1, CudnnDataType::Float32);
    pointwise(PointwiseMode::Multiply, {sums, number(AttentionTensor::One)}, query_sums);
    const Tensor scores = score(q, k_transposed);
    const Tensor p =
        pointwise(PointwiseMode::Exp, {pointwise(PointwiseMode::Subtract, {scores, log_sums()})});
    matmul(transposed(p, narrow()), d_result, memory(AttentionTensor::Dv, a.s, a.e));
    const Tensor dp = temporary(a.t, a.s);
    matmul(d_result, v_transposed, dp);
    const Tensor dp_left = pointwise(PointwiseMode::Subtract, {dp, query_sums});
    const Tensor ds = pointwise(
        PointwiseMode::Multiply,
        {pointwise(PointwiseMode::Multiply, {dp_left, p}), number(AttentionTensor::Scale)});
    matmul(transposed(ds, narrow()), q, memory(AttentionTensor::Dk, a.s, a.d));
    const Tensor k = temporary(a.s, a.d, narrow());
    reshape(k_transposed, k);
    matmul(ds, k, memory(AttentionTensor::Dq, a.t, a.d));
  }

  void finish() {
    BackendDescriptor& graph = make(DescriptorType::Graph);
    if (device_.handle != nullptr) graph.set(A::GraphHandle, device_.handle);
    graph.set_list(A::GraphOperations, operations_);
    graph.finalize();
  }

 private:
  static constexpr bool kTransposed = true;

  CudnnDataType narrow() const { return data_type_of(attention_.dtype); }

  BackendDescriptor& make(DescriptorType type) {
    return parts_.emplace_back(library_, device_.device, type, kDescribe);
  }

  void finish_operation(const BackendDescriptor& operation) {
    operation.finalize();
    operations_.push_back(operation.handle());
  }

  /// A descriptor of a (matrices, 1, rows, columns) tensor that is not finalized.
  BackendDescriptor& new_tensor(std::int64_t id, std::int64_t matrices, std::int64_t rows,
                                std::int64_t columns, CudnnDataType type,
                                bool is_transposed = false) {
    const std::int64_t row = is_transposed ? 1 : columns, column = is_transposed ? rows : 1;
    const std::int64_t matrix = rows * columns;
    BackendDescriptor& descriptor = make(DescriptorType::Tensor);
    descriptor.set(A::TensorType, type);
    descriptor.set_list(A::TensorDims, std::vector<std::int64_t>{matrices, 1, rows, columns});
    descriptor.set_list(A::TensorStrides, std::vector<std::int64_t>{matrix, matrix, row, column});
    descriptor.set(A::TensorId, id);
    const std::int64_t width = type == CudnnDataType::Boolean ? 1 : type == narrow() ? 2 : 4;
    descriptor.set(A::TensorAlignment, std::max(alignment_, width));
    return descriptor;
  }

  Tensor tensor(AttentionTensor id, std::int64_t rows, std::int64_t columns, CudnnDataType type) {
    BackendDescriptor& descriptor =
        new_tensor(static_cast<std::int64_t>(id), attention_.matrices, rows, columns, type);
    descriptor.finalize();
    return {&descriptor, rows, columns};
  }

  /// A tensor of (rows, columns) in memory, which operations may see as its transposition.
  Tensor memory(AttentionTensor id, std::int64_t rows, std::int64_t columns,
                bool is_transposed = false) {
    if (is_transposed) std::swap(rows, columns);
    BackendDescriptor& descriptor = new_tensor(static_cast<std::int64_t>(id), attention_.matrices,
                                               rows, columns, narrow(), is_transposed);
    descriptor.finalize();
    return {&descriptor, rows, columns};
  }

  Tensor log_sums() {
    return tensor(AttentionTensor::LogSum, attention_.t, 1, CudnnDataType::Float32);
  }

  /// A float32 of the host.
  Tensor number(AttentionTensor id) {
    BackendDescriptor& descriptor =
        new_tensor(static_cast<std::int64_t>(id), 1, 1, 1, CudnnDataType::Float32);
    descriptor.set(A::TensorIsByValue, true);
    descriptor.finalize();
    return {&descriptor, 1, 1};
  }

  Tensor temporary(std::int64_t rows, std::int64_t columns,
                   CudnnDataType type = CudnnDataType::Float32, bool is_transposed = false) {
    BackendDescriptor& descriptor =
        new_tensor(next_id_++, attention_.matrices, rows, columns, type, is_transposed);
    descriptor.set(A::TensorIsVirtual, true);
    descriptor.finalize();
    return {&descriptor, rows, columns};
  }

  void matmul(const Tensor& lhs, const Tensor& rhs, const Tensor& result) {
    BackendDescriptor& work = make(DescriptorType::MatmulWork);
    work.set(A::MatmulComputeType, CudnnDataType::Float32);
    work.finalize();
    BackendDescriptor& operation = make(DescriptorType::Matmul);
    operation.set(A::MatmulLhs, *lhs.descriptor);
    operation.set(A::MatmulRhs, *rhs.descriptor);
    operation.set(A::MatmulOutput, *result.descriptor);
    operation.set(A::MatmulWorkOf, work);
    finish_operation(operation);
  }

  /// q k^T, scaled, with -inf where a causal query does not see the key.
  Tensor score(const Tensor& q, const Tensor& k_transposed) {
    const Tensor products = temporary(attention_.t, attention_.s);
    matmul(q, k_transposed, products);
    const Tensor scores =
        pointwise(PointwiseMode::Multiply, {products, number(AttentionTensor::Scale)});
    if (!attention_.causal) return scores;
    const Tensor query = index(scores, kRowAxis), key = index(scores, kColumnAxis);
    const Tensor seen = temporary(attention_.t, attention_.s, CudnnDataType::Boolean);
    pointwise(PointwiseMode::GreaterEqual, {query, key}, seen);
    const Tensor result = temporary(attention_.t, attention_.s);
    pointwise(PointwiseMode::Select, {scores, number(AttentionTensor::Unseen)}, result, &seen);
    return result;
  }

  Tensor index(const Tensor& of, std::int64_t axis) {
    const Tensor result = temporary(of.rows, of.columns, CudnnDataType::Int32);
    pointwise(PointwiseMode::GenerateIndex, {of}, result, nullptr, axis);
    return result;
  }

  /// The result has the shape of the first operand.
  Tensor pointwise(PointwiseMode mode, const std::vector<Tensor>& operands) {
    const Tensor result = temporary(operands[0].rows, operands[0].columns);
    pointwise(mode, operands, result);
    return result;
  }

  void pointwise(PointwiseMode mode, const std::vector<Tensor>& operands, const Tensor& result,
                 const Tensor* condition = nullptr, std::int64_t axis = -1) {
    BackendDescriptor& work = make(DescriptorType::PointwiseWork);
    work.set(A::PointwiseModeOf, mode);
    work.set(A::PointwiseComputeType, CudnnDataType::Float32);
    if (axis >= 0) work.set(A::PointwiseAxis, axis);
    work.finalize();
    BackendDescriptor& operation = make(DescriptorType::Pointwise);
    operation.set(A::PointwiseWorkOf, work);
    operation.set(A::PointwiseInput, *operands[0].descriptor);
    if (operands.size() > 1) operation.set(A::PointwiseSecond, *operands[1].descriptor);
    if (condition != nullptr) operation.set(A::PointwiseCondition, *condition->descriptor);
    operation.set(A::PointwiseOutput, *result.descriptor);
    finish_operation(operation);
  }

  /// Of each row.
  Tensor reduction(api::Reduction mode, const Tensor& of) {
    BackendDescriptor& work = make(DescriptorType::ReductionWork);
    work.set(A::ReductionOf, mode);
    work.set(A::ReductionComputeType, CudnnDataType::Float32);
    work.finalize();
    const Tensor result = temporary(of.rows, 1);
    BackendDescriptor& operation = make(DescriptorType::Reduction);
    operation.set(A::ReductionInput, *of.descriptor);
    operation.set(A::ReductionOutput, *result.descriptor);
    operation.set(A::ReductionWorkOf, work);
    finish_operation(operation);
    return result;
  }

  void reshape(const Tensor& from, const Tensor& to) {
    BackendDescriptor& operation = make(DescriptorType::Reshape);
    operation.set(A::ReshapeInput, *from.descriptor);
    operation.set(A::ReshapeOutput, *to.descriptor);
    finish_operation(operation);
  }

  Tensor transposed(const Tensor& of, CudnnDataType type) {
    const Tensor result = temporary(of.columns, of.rows, type, kTransposed);
    reshape(of, result);
    return result;
  }

  const api::Cudnn& library_;
  const AttentionDescription& attention_;
  std::int64_t alignment_;
  const PlanDevice& device_;
  std::deque<BackendDescriptor>& parts_;
  std::vector<api::DescriptorHandle> operations_;
  std::int64_t next_id_ = 100;  // of temporaries
};

}  // namespace

AttentionGraph::AttentionGraph(const api::Cudnn& library, const AttentionDescription& attention,
                               std::int64_t alignment, const PlanDevice& device) {
  Builder builder(library, attention, alignment, device, parts_);
  if (attention.is_gradient) {
    builder.add_gradient();
  } else {
    builder.add_forward();
  }
  builder.finish();
}

AttentionPlan::AttentionPlan(const api::Cudnn& library, const AttentionDescription& attention,
                             std::int64_t alignment, const PlanDevice& device)
    : graph_(library, attention, alignment, device),
      engine_(library, device,
              {.graph = graph_.graph(),
               .action = "choose an engine for an attention",
               .operation = "attention " + text_of(attention)}) {}

}  // namespace kiln::cuda
